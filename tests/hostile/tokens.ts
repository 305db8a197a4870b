import { createHmac } from 'node:crypto';
import {
  closing,
  type ExpectedAnswer,
  get,
  type HostileRequest,
  LOCATION,
  RESOURCE,
  UNAUTHORIZED,
} from './hostile-request.ts';
import type { TokenForge } from './token-forge.ts';

const invalid = (reason: string): ExpectedAnswer => ({
  status: 401,
  error: 'invalid_token',
  reason,
  headers: { 'www-authenticate': 'Bearer error="invalid_token"' },
});
const FORM = invalid('token_malformed');
const ALGORITHM = invalid('token_algorithm_refused');
const SIGNATURE = invalid('token_signature_wrong');
const UNKNOWN_KEY = invalid('token_key_unknown');
const CLAIMS = invalid('token_claims_malformed');

const token = (name: string, forge: (make: TokenForge) => string, answer: ExpectedAnswer) =>
  closing(name, (make) => get(LOCATION, [`Authorization: Bearer ${forge(make)}`]), answer);
const header = (name: string, more: object, answer: ExpectedAnswer) =>
  token(name, (make) => make.token(make.header(more)), answer);
const claims = (name: string, more: object, answer = CLAIMS) =>
  token(name, (make) => make.token(undefined, make.claims(more)), answer);
/** The claims as a text in which something was replaced. */
const text = (name: string, edit: (json: string) => string | Uint8Array, answer = CLAIMS) =>
  token(name, (make) => make.token(undefined, edit(JSON.stringify(make.claims()))), answer);
const empty = () => Buffer.alloc(0);
const now = () => Math.floor(Date.now() / 1000);

/** Tokens that somebody else made, and tokens of the service's own key that the service does not make. */
export const TOKENS: readonly HostileRequest[] = [
  token('a token that this test made with the key of the service', (make) => make.token(), RESOURCE),
  token('alg none without a signature', (make) => make.token(make.header({ alg: 'none' }), undefined, empty), FORM),
  token('alg none with a signature', (make) => make.token(make.header({ alg: 'none' })), ALGORITHM),
  header('alg in other case', { alg: 'rs256' }, ALGORITHM),
  header('alg as an array', { alg: ['RS256'] }, ALGORITHM),
  token(
    'HS256 with the public key as its secret',
    (make) =>
      make.token(make.header({ alg: 'HS256' }), undefined, (input) =>
        createHmac('sha256', make.publicPem).update(input).digest(),
      ),
    ALGORITHM,
  ),
  token(
    'an HMAC with the public key in a header with RS256',
    (make) => make.token(undefined, undefined, (input) => createHmac('sha256', make.publicPem).update(input).digest()),
    SIGNATURE,
  ),
  token(
    'RS512 by the key of the service',
    (make) => make.token(make.header({ alg: 'RS512' }), undefined, (input) => make.byService(input, 'sha512')),
    ALGORITHM,
  ),
  token(
    'RS512 in a header with RS256',
    (make) => make.token(undefined, undefined, (input) => make.byService(input, 'sha512')),
    SIGNATURE,
  ),
  token('our kid over another key', (make) => make.token(undefined, undefined, make.byAttacker), SIGNATURE),
  token(
    'a key in the header',
    (make) => make.token(make.header({ jwk: make.attackerJwk }), undefined, make.byAttacker),
    SIGNATURE,
  ),
  token(
    'a key in the header with its own kid',
    (make) => make.token(make.header({ kid: 'mine', jwk: make.attackerJwk }), undefined, make.byAttacker),
    UNKNOWN_KEY,
  ),
  token(
    'the URL of a key set',
    (make) => make.token(make.header({ kid: 'mine', jku: 'http://127.0.0.1:1/jwks' }), undefined, make.byAttacker),
    UNKNOWN_KEY,
  ),
  token(
    'the URL of a certificate',
    (make) => make.token(make.header({ kid: 'mine', x5u: 'http://127.0.0.1:1/x' }), undefined, make.byAttacker),
    UNKNOWN_KEY,
  ),
  token('no kid', (make) => make.token({ alg: 'RS256' }), FORM),
  header('a kid that is a number', { kid: 1 }, FORM),
  header('an empty kid', { kid: '' }, UNKNOWN_KEY),
  header('a kid that is a path', { kid: '../../../dev/null' }, UNKNOWN_KEY),
  header('a kid that is SQL', { kid: "x' union select 'k' --" }, UNKNOWN_KEY),
  header('a kid that every object has', { kid: '__proto__' }, UNKNOWN_KEY),
  header('a kid with a NUL', { kid: 'k\0' }, UNKNOWN_KEY),
  header('a kid of 8 KiB', { kid: 'k'.repeat(8_000) }, UNKNOWN_KEY),
  header('a critical extension', { crit: ['exp'], exp: 1 }, FORM),
  header('an empty list of critical extensions', { crit: [] }, FORM),
  header('a payload that is not encoded', { b64: false, crit: ['b64'] }, FORM),
  header('a token of another type', { typ: 'dpop+jwt' }, FORM),
  token('a member of the header twice', (make) => make.token(`{"alg":"none","kid":"${make.kid}","alg":"RS256"}`), FORM),
  token('white space in the header', (make) => make.token(JSON.stringify(make.header(), undefined, 1)), FORM),
  token('a header that is an array', (make) => make.token('[]'), FORM),
  token('an encrypted token', (make) => `${make.token(make.header({ alg: 'RSA-OAEP', enc: 'A256GCM' }))}.AA.AA`, FORM),
  token('a token in a token', (make) => make.token(make.header({ cty: 'JWT' }), make.token()), CLAIMS),
  token('two parts', (make) => make.token().split('.').slice(0, 2).join('.'), FORM),
  token('four parts', (make) => `${make.token()}.AA`, FORM),
  token('a part that is empty', (make) => make.token().replace(/\..*\./, '..'), FORM),
  token('padding behind it', (make) => `${make.token()}==`, FORM),
  token('the other alphabet of base64', (make) => `${make.token()}+/`, FORM),
  token(
    'spare bits in the signature',
    (make) => make.token().replace(/.$/, (last) => String.fromCharCode(last.charCodeAt(0) + 1)),
    FORM,
  ),
  token(
    'a signature that is one byte short',
    (make) => make.token(undefined, undefined, (input) => make.byService(input).subarray(1)),
    SIGNATURE,
  ),
  token(
    'a signature with a zero before it',
    (make) => make.token(undefined, undefined, (input) => Buffer.concat([Buffer.alloc(1), make.byService(input)])),
    SIGNATURE,
  ),
  token(
    'the signature of another token',
    (make) => make.token().replace(/[^.]*$/, make.token(undefined, make.claims({ jti: 'x' })).split('.')[2] ?? ''),
    SIGNATURE,
  ),
  claims('exp as a fraction', { exp: now() + 300.5 }),
  claims('exp as a text', { exp: '9999999999' }),
  claims('exp beyond 2^53', { exp: 2 ** 60 }),
  claims('exp as null', { exp: null }),
  claims('no nbf', { nbf: undefined }),
  claims('iat below zero', { iat: -1 }),
  claims('an exp that is over', { nbf: 1, exp: 2 }, invalid('token_expired')),
  claims('an nbf in an hour', { nbf: now() + 3_600, exp: now() + 7_200 }, invalid('token_not_yet_valid')),
  claims('another issuer', { iss: 'http://issuer.test/' }, invalid('token_issuer_foreign')),
  claims('the issuer in an array', { iss: ['http://issuer.test'] }),
  claims('an array of one audience', { aud: ['good-client'] }),
  claims('the audience twice in an array', { aud: ['good-client', 'good-client'] }),
  claims('an audience that is no text in an array', { aud: ['good-client', {}] }),
  claims('the audience of another resource', { aud: 'https://api.test' }, invalid('token_audience_foreign')),
  claims('another client as the audience', { aud: 'wronged-client' }, invalid('token_audience_foreign')),
  claims('an empty subject', { sub: '' }),
  claims('a subject that is an object', { sub: { toString: 'x' } }),
  claims('a scope that is a number', { scope: 1 }),
  text('a claim twice', (json) => json.replace('{', '{"sub":"admin",')),
  text('a claim twice, once with an escape', (json) => json.replace('{', '{"\\u0073ub":"admin",')),
  text('exp as 1e400', (json) => json.replace(/"exp":\d+/, '"exp":1e400')),
  text('a number of 1,000 digits', (json) => json.replace(/"exp":\d+/, `"exp":${'9'.repeat(1_000)}`)),
  text('a byte order mark', (json) => `\ufeff${json}`),
  text('a byte that is not UTF-8', (json) => Buffer.from(json.replace('forged', '\xff'), 'latin1')),
  text('half of a pair of surrogates', (json) => json.replace('forged', '\\ud800')),
  text('2,000 arrays in each other', () => `${'['.repeat(2_000)}${']'.repeat(2_000)}`),
  text('null', () => 'null'),
  text('no JSON', () => 'good-secret'),
  text('a token of 12 KiB and more', (json) => json.replace('forged', 'x'.repeat(9_500)), FORM),
  closing('a token in the query', (make) => get(`${LOCATION}?access_token=${make.token()}`), UNAUTHORIZED),
  closing('a token in a cookie', (make) => get(LOCATION, [`Cookie: access_token=${make.token()}`]), UNAUTHORIZED),
  closing('a token as the path', (make) => get(`/${make.token()}`), UNAUTHORIZED),
];
