import { createHmac } from 'node:crypto';
import type { TokenDefect } from '../../application/verify-token.ts';
import { encode, type Sealing, type TokenForge } from './token-forge.ts';

/**
 * A token that somebody else made, or that the service's own key signed although the service does not make such tokens.
 */
export interface Forgery {
  readonly name: string;
  readonly forge: (make: TokenForge) => string;
  readonly reason: TokenDefect;
}

const FORM = 'token_malformed';
const ALGORITHM = 'token_algorithm_refused';
const SIGNATURE = 'token_signature_wrong';
const UNKNOWN_KEY = 'token_key_unknown';
const CLAIMS = 'token_claims_malformed';

const token = (name: string, forge: Forgery['forge'], reason: TokenDefect): Forgery => ({ name, forge, reason });
const header = (name: string, more: object, reason: TokenDefect) =>
  token(name, (make) => make.token(make.header(more)), reason);
const claims = (name: string, more: object, reason: TokenDefect = CLAIMS) =>
  token(name, (make) => make.token(undefined, make.claims(more)), reason);
/** The claims as a text in which something was replaced. */
const text = (name: string, edit: (json: string) => string | Uint8Array, reason: TokenDefect = CLAIMS) =>
  token(name, (make) => make.token(undefined, edit(JSON.stringify(make.claims()))), reason);
/** A text in place of the header. */
const head = (name: string, written: string | Uint8Array | ((kid: string) => string | Uint8Array)) =>
  token(name, (make) => make.token(typeof written === 'function' ? written(make.kid) : written), FORM);
/** Another signature, in place of that of the right key. */
const signed = (name: string, sealing: (make: TokenForge) => Sealing, reason: TokenDefect = SIGNATURE) =>
  token(name, (make) => make.token(undefined, undefined, sealing(make)), reason);
/** The three parts of a valid token, put together otherwise. */
const parts = (name: string, join: (parts: readonly string[]) => string, reason: TokenDefect = FORM) =>
  token(name, (make) => join(make.token().split('.')), reason);
const ofAttacker = (name: string, more: object, reason: TokenDefect) =>
  token(name, (make) => make.token(make.header(more), undefined, make.byAttacker), reason);

const bytes = (length: number, value = 0) => Buffer.alloc(length, value);
const modulusOf = ({ publicKey }: TokenForge) => String(publicKey.export({ format: 'jwk' }).n);
const spki = ({ publicKey }: TokenForge) => publicKey.export({ type: 'spki', format: 'pem' }).toString();

const ALGORITHMS: readonly Forgery[] = [
  ...['none', 'None', 'NONE', 'nOnE', '', 'rs256', 'RS256 ', ' RS256', 'RS256\0', 'HS256', 'ES256', 'EdDSA'],
  ...[null, 256, true, [], ['RS256'], { alg: 'RS256' }],
].flatMap((alg) => [
  header(`alg ${JSON.stringify(alg)} in a token that the right key signed`, { alg }, ALGORITHM),
  token(
    `alg ${JSON.stringify(alg)} without a signature`,
    (make) => make.token(make.header({ alg }), undefined, () => bytes(0)),
    FORM,
  ),
]);

/** What a verifier that takes the algorithm from the token could use as the secret of an HMAC. */
const PUBLIC_SECRETS: Readonly<Record<string, (make: TokenForge) => string | Buffer>> = {
  'as SPKI in PEM': spki,
  'as SPKI in PEM without its last line break': (make) => spki(make).trim(),
  'as PKCS #1 in PEM': ({ publicKey }) => publicKey.export({ type: 'pkcs1', format: 'pem' }),
  'as SPKI in DER': ({ publicKey }) => publicKey.export({ type: 'spki', format: 'der' }),
  'as JWK': ({ publicKey }) => JSON.stringify(publicKey.export({ format: 'jwk' })),
  'as published JWK': ({ publicKey, kid }) =>
    JSON.stringify({ kty: 'RSA', use: 'sig', alg: 'RS256', kid, ...publicKey.export({ format: 'jwk' }) }),
  'by its modulus as bytes': (make) => Buffer.from(modulusOf(make), 'base64url'),
  'by its modulus as text': modulusOf,
  'by its id': ({ kid }) => kid,
  'replaced by an empty key': () => '',
};
const HMACS = Object.entries(PUBLIC_SECRETS).flatMap(([what, secret]) => {
  const hmac =
    (make: TokenForge): Sealing =>
    (input) =>
      createHmac('sha256', secret(make)).update(input).digest();
  return [
    token(
      `HS256 with the public key ${what}`,
      (make) => make.token(make.header({ alg: 'HS256' }), undefined, hmac(make)),
      ALGORITHM,
    ),
    signed(`an HMAC with the public key ${what}, in a header with RS256`, hmac),
  ];
});

const OTHER_SIGNATURES: Readonly<Record<string, (make: TokenForge) => Sealing>> = {
  RS1: (make) => (input) => make.byService(input, 'sha1'),
  RS384: (make) => (input) => make.byService(input, 'sha384'),
  RS512: (make) => (input) => make.byService(input, 'sha512'),
  PS256: (make) => make.byServiceWithPss,
  PS384: (make) => (input) => make.byServiceWithPss(input, 'sha384'),
  PS512: (make) => (input) => make.byServiceWithPss(input, 'sha512'),
};
const OTHERWISE_SIGNED = Object.entries(OTHER_SIGNATURES).flatMap(([alg, sealing]) => [
  token(
    `${alg} by the key of the service`,
    (make) => make.token(make.header({ alg }), undefined, sealing(make)),
    ALGORITHM,
  ),
  signed(`${alg} by the key of the service, in a header with RS256`, sealing),
]);

const KEY_IDS: readonly Forgery[] = [
  ...['', '../../../../dev/null', '/proc/self/environ', 'file:///dev/null', 'https://attacker.test/key', '%00', '*'],
  ...["x' UNION SELECT 'AA' -- ", '| whoami', '$(id)', '.*', '__proto__', 'constructor', 'hasOwnProperty', 'k\0'],
].map((kid) => header(`the kid ${JSON.stringify(kid)}`, { kid }, UNKNOWN_KEY));

/** Our kid with something around it. */
const LIKE_OURS = [
  (kid: string) => ` ${kid}`,
  (kid: string) => `${kid} `,
  (kid: string) => `${kid}\n`,
  (kid: string) => `{${kid}}`,
  (kid: string) => `urn:uuid:${kid}`,
  (kid: string) => `${kid}' OR '1'='1`,
  (kid: string) => `${kid}; DROP TABLE clients`,
].map((around) =>
  token(`our kid as ${around('k')}`, (make) => make.token(make.header({ kid: around(make.kid) })), UNKNOWN_KEY),
);

const ODD_KEY_IDS = [undefined, null, 0, true, ['x'], {}, { kid: 'x' }].map((kid) =>
  header(`a kid that is ${JSON.stringify(kid) ?? 'absent'}`, { kid }, FORM),
);

/** Fields of a header that contain or link a key of the attacker. */
const BROUGHT_KEYS: Readonly<Record<string, (make: TokenForge) => object>> = {
  jwk: (make) => ({ jwk: { ...make.attackerJwk, use: 'sig', alg: 'RS256', kid: 'attacker' } }),
  'jwk of an octet key': () => ({ jwk: { kty: 'oct', k: 'AA', alg: 'RS256' } }),
  jku: () => ({ jku: 'https://attacker.test/jwks' }),
  'jku of a data URL': (make) => ({ jku: `data:application/json,${JSON.stringify({ keys: [make.attackerJwk] })}` }),
  x5u: () => ({ x5u: 'http://127.0.0.1:1/certificate' }),
  x5c: (make) => ({ x5c: [make.attackerDer.toString('base64')] }),
  'x5t and x5t#S256': () => ({ x5t: 'AAAA', 'x5t#S256': 'AAAA' }),
};
const BROUGHT = Object.entries(BROUGHT_KEYS).flatMap(([name, brought]) => {
  const by = (more: (make: TokenForge) => object) => (make: TokenForge) =>
    make.token({ alg: 'RS256', ...brought(make), ...more(make) }, undefined, make.byAttacker);
  return [
    token(
      `${name} of another key with our kid`,
      by(({ kid }) => ({ kid })),
      SIGNATURE,
    ),
    token(
      `${name} of another key with its own kid`,
      by(() => ({ kid: 'attacker' })),
      UNKNOWN_KEY,
    ),
    token(
      `${name} of another key without a kid`,
      by(() => ({})),
      FORM,
    ),
  ];
});

const EXTENSIONS: readonly Forgery[] = [
  ...[{ crit: ['exp'], exp: 1 }, { crit: ['exp'] }, { crit: ['urn:example:unknown'], 'urn:example:unknown': true }],
  ...[{ crit: ['alg'] }, { crit: ['kid'] }, { crit: ['b64'], b64: 'false' }, { crit: ['b64'] }, { crit: [] }],
  ...[{ crit: [''] }, { crit: [1] }, { crit: 'b64', b64: false }, { crit: {} }, { crit: null }],
  ...[{ crit: ['b64'], b64: false }, { b64: false }],
].map((more) => header(`a header with ${JSON.stringify(more)}`, more, FORM));

const HEADERS: readonly Forgery[] = [
  ...['null', '1', '"RS256"', '[]', 'true', '{', '{}}', '{"alg"}', '\ufeff{}', "{'alg':'RS256'}", '\xff'].map((odd) =>
    head(`a header that is ${JSON.stringify(odd)}`, odd),
  ),
  head('invalid UTF-8 in the header', (kid) => Buffer.from(`{"kid":"${kid}","alg":"RS256","typ":"\xff"}`, 'latin1')),
  head('alg repeated', (kid) => `{"kid":"${kid}","alg":"none","alg":"RS256"}`),
  head('kid repeated', (kid) => `{"kid":"other","kid":"${kid}","alg":"RS256"}`),
  head('alg with an escape', (kid) => `{"kid":"${kid}","alg":"\\u0052S256"}`),
  head('a field name with an escape', (kid) => `{"kid":"${kid}","\\u0061lg":"RS256"}`),
  head('white space in the header', (kid) => `{"kid": "${kid}", "alg": "RS256"}`),
  head('a line break behind the header', (kid) => `{"kid":"${kid}","alg":"RS256"}\n`),
  header('a token of another type', { typ: 'dpop+jwt' }, FORM),
  ofAttacker('our kid over another key', {}, SIGNATURE),
  ofAttacker('an unknown kid over another key', { kid: 'x'.repeat(2_000) }, UNKNOWN_KEY),
  token('a header without alg', (make) => make.token({ kid: make.kid }), ALGORITHM),
];

const JWE_HEADER = encode({ alg: 'RSA-OAEP-256', enc: 'A256GCM', kid: 'k' });

const SERIALIZATIONS: readonly Forgery[] = [
  parts('a detached payload', (all) => all.with(1, '').join('.')),
  parts('a missing header', (all) => all.with(0, '').join('.')),
  parts('a missing signature', (all) => all.with(2, '').join('.')),
  parts('two parts', (all) => all.slice(0, 2).join('.')),
  parts('one part', ([first = '']) => first),
  parts('four parts', (all) => [...all, 'AA'].join('.')),
  parts('five parts, as a JWE has', (all) => [...all, 'AA', 'AA'].join('.')),
  parts('a JWE', () => [JWE_HEADER, 'AA', 'AAAAAAAAAAAAAAAA', 'AA', 'AA'].join('.')),
  parts('a dot before it', (all) => `.${all.join('.')}`),
  parts('a dot behind it', (all) => `${all.join('.')}.`),
  parts('two dots between', (all) => all.join('..')),
  parts('dots alone', () => '..'),
  parts('one character', () => 'x'),
  parts('a text of 7 KiB', () => 'x'.repeat(7_168)),
  parts('two tokens in a row', (all) => [...all, ...all].join('.')),
  parts('padding behind it', (all) => `${all.join('.')}==`),
  parts('the other alphabet of base64', (all) => `${all.join('.')}+/`),
  parts('a JSON serialization in base64url', ([, payload]) => encode({ payload, signatures: [] })),
  parts('a signature cut within a byte', (all) => all.with(2, String(all[2]).slice(0, 337)).join('.')),
  parts('spare bits in the signature', (all) =>
    all.join('.').replace(/.$/, (last) => String.fromCharCode(last.charCodeAt(0) + 1)),
  ),
  token('a token within a token', (make) => make.token(make.header({ cty: 'JWT' }), make.token()), CLAIMS),
  token('a token as a JSON string within it', (make) => make.token(undefined, JSON.stringify(make.token())), CLAIMS),
  text('a token of 7 KiB and more', (json) => json.replace('forged', 'x'.repeat(5_000)), FORM),
];

const SIGNATURES: readonly Forgery[] = [
  signed('a signature of zeros', () => () => bytes(256)),
  signed('a signature of ones', () => () => bytes(256, 0xff)),
  signed('a signature of one zero', () => () => bytes(1)),
  signed('a signature with a zero behind it', (make) => (input) => Buffer.concat([make.byService(input), bytes(1)])),
  signed('a signature with a zero before it', (make) => (input) => Buffer.concat([bytes(1), make.byService(input)])),
  signed('a signature without its last byte', (make) => (input) => make.byService(input).subarray(0, 255)),
  signed('a signature without its first byte', (make) => (input) => make.byService(input).subarray(1)),
  signed('a signature from behind', (make) => (input) => make.byService(input).reverse()),
  signed('the modulus as a signature', (make) => () => Buffer.from(modulusOf(make), 'base64url')),
  signed('a signature plus the modulus', (make) => (input) => {
    const numbers = [make.byService(input), Buffer.from(modulusOf(make), 'base64url')];
    const total = numbers.reduce((sum, number) => sum + BigInt(`0x${number.toString('hex')}`), 0n);
    return Buffer.from(total.toString(16).padStart(514, '0'), 'hex');
  }),
  signed('a signature over a dot more', (make) => (input) => make.byService(`${input}.`)),
  signed('a signature over the payload alone', (make) => (input) => make.byService(input.replace(/.*\./, ''))),
  token(
    'the signature of another token',
    (make) => make.token().replace(/[^.]*$/, String(make.token(undefined, make.claims({ jti: 'x' })).split('.')[2])),
    SIGNATURE,
  ),
  token(
    'the payload of another token',
    (make) => make.token().replace(/\..*\./, `.${encode(make.claims({ sub: 'another-client' }))}.`),
    SIGNATURE,
  ),
];

const exp = (json: string) => text(`exp as ${json}`, (written) => written.replace(/"exp":\d+/, `"exp":${json}`));
const more = (name: string, fields: string) => text(name, (json) => `${json.slice(0, -1)},${fields}}`);

const AMBIGUOUS_CLAIMS: readonly Forgery[] = [
  more('sub repeated', '"sub":"another-client"'),
  more('sub repeated with the same value', '"sub":"good-client"'),
  more('exp repeated', '"exp":9007199254740991'),
  more('exp repeated with an escape', '"\\u0065xp":9007199254740991'),
  more('an unknown claim repeated', '"x":1,"x":2'),
  more('a field of a claim repeated', '"x":{"y":1,"y":2}'),
  more('an integer name out of order', '"1":1'),
  text('a name with an escape', (json) => json.replace('"sub"', '"\\u0073ub"')),
  text('a value with an escape', (json) => json.replace('good-client', '\\u0067ood-client')),
  text('a value with an escaped slash', (json) => json.replaceAll('/', '\\/')),
  text('half of a pair of surrogates', (json) => json.replace('forged', '\\ud800')),
  ...['1e400', '-1e400', '1.8e9', '1800000300.0', '-0', '9007199254740993'].map(exp),
  text('exp of a thousand digits', (json) => json.replace(/"exp":\d+/, `"exp":${'9'.repeat(1_000)}`)),
  text('white space before the claims', (json) => ` ${json}`),
  text('a line break behind the claims', (json) => `${json}\n`),
  text('white space within the claims', (json) => json.replace(':', ': ')),
  text('bytes that are no UTF-8', (json) => Buffer.from(json.replace('forged', '\xff'), 'latin1')),
  text('a byte order mark', (json) => `\ufeff${json}`),
  text('a NUL behind the claims', (json) => `${json}\0`),
  text('a trailing comma', (json) => json.replace(/}$/, ',}')),
  text('a comment', (json) => `${json}//`),
  text('a second object after the claims', (json) => json + json),
  text('an array of the claims', (json) => `[${json}]`),
  text('2,000 arrays in each other', () => `${'['.repeat(2_000)}${']'.repeat(2_000)}`),
  ...['null', 'true', '1', '"text"', '[]', '{}', 'no JSON', '{"__proto__":{"iss":"x"}}'].map((json) =>
    text(`claims that are ${json}`, () => json),
  ),
];

/** tests/contracts/token-verifier.ts has all that a claim cannot be; here it comes from outside. */
const CLAIMS_OF_OTHERS: readonly Forgery[] = [
  ...['iss', 'sub', 'aud', 'iat', 'nbf', 'exp', 'jti'].map((name) => claims(`no ${name}`, { [name]: undefined })),
  claims('exp as a fraction', { exp: 1_800_000_300.5 }),
  claims('exp as a text', { exp: '9999999999' }),
  claims('exp beyond 2^53', { exp: 2 ** 60 }),
  claims('exp in an array', { exp: [9_999_999_999] }),
  claims('exp as null', { exp: null }),
  claims('exp at nbf', { nbf: 2, exp: 2 }),
  claims('exp before nbf', { nbf: 2, exp: 1 }),
  claims('iat below zero', { iat: -1 }),
  claims('the issuer in an array', { iss: ['http://issuer.test'] }),
  claims('an array of one audience', { aud: ['good-client'] }),
  claims('the audience twice in an array', { aud: ['good-client', 'good-client'] }),
  claims('an audience that is no text in an array', { aud: ['good-client', {}] }),
  claims('audiences in an object', { aud: { 0: 'good-client', 1: 'b' } }),
  claims('an empty subject', { sub: '' }),
  claims('a subject that is an object', { sub: { toString: 'x' } }),
  claims('an empty scope', { scope: '' }),
  claims('a scope that is a number', { scope: 1 }),
  claims('a scope that is an object', { scope: {} }),
  claims('a number in a scope', { scope: ['read', 1] }),
];

/** All that can be sent as a bearer token (RFC 6750 section 2.1), by why it is refused. Each has its own name. */
export const FORGED_TOKENS: readonly Forgery[] = [
  ...ALGORITHMS,
  ...HMACS,
  ...OTHERWISE_SIGNED,
  ...KEY_IDS,
  ...LIKE_OURS,
  ...ODD_KEY_IDS,
  ...BROUGHT,
  ...EXTENSIONS,
  ...HEADERS,
  ...SERIALIZATIONS,
  ...SIGNATURES,
  ...AMBIGUOUS_CLAIMS,
  ...CLAIMS_OF_OTHERS,
];

const general = (all: readonly string[]) => ({
  payload: all[1],
  signatures: [{ protected: all[0], signature: all[2] }],
});

/** What is no bearer token by its characters, although a valid token is in it. */
export const NO_BEARER_TOKENS: readonly Forgery[] = [
  parts('the flattened JSON serialization', ([first, payload, signature]) =>
    JSON.stringify({ protected: first, payload, signature }),
  ),
  parts('the general JSON serialization', (all) => JSON.stringify(general(all))),
  parts('white space within', (all) => all.join(' .')),
  parts('a tab within', (all) => all.join('.\t')),
  parts('padding within', (all) => all.join('=.')),
  parts('two tokens', (all) => `${all.join('.')} ${all.join('.')}`),
  parts('two tokens with a comma between', (all) => `${all.join('.')}, ${all.join('.')}`),
  parts('quotation marks around it', (all) => `"${all.join('.')}"`),
  parts('the scheme twice', (all) => `Bearer ${all.join('.')}`),
  parts('percent-encoding', (all) => all.join('%2E')),
  parts('nothing', () => ''),
  token(
    'an unencoded payload (RFC 7797), signed by the right key',
    (make) => make.sealed(`${encode(make.header({ b64: false, crit: ['b64'] }))}.${JSON.stringify(make.claims())}`),
    FORM,
  ),
];
