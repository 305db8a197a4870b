import { createHmac, createPublicKey } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { InMemoryUsedAssertions } from '../../../adapters/memory/private-key-jwt/in-memory-used-assertions.ts';
import type { USED_ASSERTIONS_LIMITS } from '../../../application/ports/used-assertions.ts';
import { PARTS } from '../../../config/parts.ts';
import { compactJws, generateSigningKey, type Seal, sealedWith } from '../../support/assertions.ts';
import { requestToken } from '../../support/http.ts';
import { expectRefusedAssertion } from '../../support/openly-refused.ts';
import { ISSUER, startServiceUnderTest } from '../../support/running-service.ts';
import { logLineOf, serviceForSuite } from './service-for-suite.ts';

type Part = string | object;
type Forgery = readonly [reason: string, what: string, forge: () => string | Readonly<Record<string, string>>];

const TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

const EC = generateSigningKey('ES256');
const EC384 = generateSigningKey('ES384');
const RSA = generateSigningKey('RS256');
const PSS = generateSigningKey('PS256');
const ED = generateSigningKey('EdDSA');
const OTHER = generateSigningKey('ES256');
const ATTACKER = generateSigningKey('ES256');
const ATTACKER_RSA = generateSigningKey('RS256');

const clientWith = (client_id: string, keys: readonly object[]) => ({
  client_id,
  client_name: 'A client of the suite',
  scope: 'read',
  jwks: { keys },
});

const now = () => Math.floor(Date.now() / 1000);
let lastId = 0;

function claims(more: object = {}): object {
  lastId += 1;
  return { iss: 'ec', sub: 'ec', aud: ISSUER, exp: now() + 60, iat: now(), jti: `forged-${lastId}`, ...more };
}

/** The assertion of the client `ec`, but for these. */
function forged(more: object = {}, header: Part = {}, seal: Seal = EC.seal): string {
  return compactJws(typeof header === 'string' ? header : { alg: 'ES256', kid: 'e', ...header }, claims(more), seal);
}

const by = (client: string) => ({ iss: client, sub: client });
const raw = (json: string, seal: Seal = EC.seal) => compactJws({ alg: 'ES256', kid: 'e' }, json, seal);

/** The claims as JSON text, with further members written behind them. */
const claimsBut = (more: string) => `${JSON.stringify(claims()).slice(0, -1)},${more}}`;

const hmac =
  (secret: string | Buffer): Seal =>
  (input) =>
    createHmac('sha256', secret).update(input).digest();
const pem = (type: 'spki' | 'pkcs1') => createPublicKey(RSA.privateKey).export({ type, format: 'pem' });
const NO_SIGNATURE: Seal = () => Buffer.alloc(0);

const ALGORITHMS: readonly Forgery[] = [
  ...['none', 'None', 'NONE', 'HS256', 'HS512', 'RS384', 'ES512', 'ES256K', 'es256', 'ES256 ', 'PS512', 'dir'].map(
    (alg): Forgery => ['assertion_algorithm_refused', `alg ${alg}, signed by the right key`, () => forged({}, { alg })],
  ),
  ['assertion_malformed', 'alg none without a signature', () => forged({}, { alg: 'none' }, NO_SIGNATURE)],
  ['assertion_malformed', 'alg ES256 without a signature', () => forged({}, {}, NO_SIGNATURE)],
  ['assertion_malformed', 'no alg', () => forged({}, { alg: undefined })],
  ['assertion_malformed', 'alg as an array', () => forged({}, { alg: ['ES256'] })],
  ...(['spki', 'pkcs1'] as const).flatMap((type): readonly Forgery[] => [
    [
      'assertion_algorithm_refused',
      `HS256 with the public key as ${type} PEM for the secret`,
      () => forged(by('rsa'), { alg: 'HS256', kid: 'r' }, hmac(String(pem(type)))),
    ],
    [
      'assertion_signature_wrong',
      `an HMAC with the public key as ${type} PEM, in a header with RS256`,
      () => forged(by('rsa'), { alg: 'RS256', kid: 'r' }, hmac(String(pem(type)))),
    ],
  ]),
  [
    'assertion_algorithm_refused',
    'HS256 with the published JWK for the secret',
    () => forged({}, { alg: 'HS256' }, hmac(JSON.stringify(EC.jwk))),
  ],
  [
    'assertion_signature_wrong',
    'a signature of PS256 in a header with RS256',
    () => forged(by('rsa'), { alg: 'RS256', kid: 'r' }, sealedWith('PS256', RSA.privateKey)),
  ],
  [
    'assertion_signature_wrong',
    'a signature of RS256 in a header with PS256',
    () => forged(by('rsa'), { alg: 'PS256', kid: 'r' }, RSA.seal),
  ],
  [
    'assertion_key_unknown',
    'RS256 by a key that is registered for PS256',
    () => forged(by('pss'), { alg: 'RS256', kid: 'p' }, sealedWith('RS256', PSS.privateKey)),
  ],
  ['assertion_key_unknown', 'ES384 in the header over an ES256 key', () => forged({}, { alg: 'ES384' })],
  [
    'assertion_signature_wrong',
    'a signature of ES384 in a header with ES256',
    () => forged({}, {}, sealedWith('ES384', EC384.privateKey)),
  ],
  [
    'assertion_signature_wrong',
    'an ES256 signature in DER, as X.509 has it',
    () => forged({}, {}, (input) => derOf(EC.seal(input))),
  ],
  ['assertion_signature_wrong', 'an ES256 signature of zeros', () => forged({}, {}, () => Buffer.alloc(64))],
  [
    'assertion_signature_wrong',
    'an EdDSA signature of zeros',
    () => forged(by('ed'), { alg: 'EdDSA' }, () => Buffer.alloc(64)),
  ],
  [
    'assertion_key_unknown',
    'EdDSA in the header for a client with an EC key',
    () => forged({}, { alg: 'EdDSA' }, ED.seal),
  ],
];

const KEYS: readonly Forgery[] = [
  ['assertion_signature_wrong', 'the key of an attacker under the right key id', () => forged({}, {}, ATTACKER.seal)],
  [
    'assertion_signature_wrong',
    'the key of an attacker without a key id',
    () => forged({}, { kid: undefined }, ATTACKER.seal),
  ],
  ['assertion_key_unknown', 'an unknown key id over the right key', () => forged({}, { kid: 'unknown' })],
  ['assertion_key_unknown', 'the key id in other case', () => forged({}, { kid: 'E' })],
  ['assertion_malformed', 'an empty key id', () => forged({}, { kid: '' })],
  ['assertion_malformed', 'a key id that is an object', () => forged({}, { kid: { kid: 'e' } })],
  ['assertion_signature_wrong', 'the key of another client that has the same key id', () => forged({}, {}, OTHER.seal)],
  ['assertion_key_unknown', 'the key and the key id of another client', () => forged({}, { kid: 'o' }, OTHER.seal)],
  ['assertion_key_unknown', 'an expired key of the client', () => forged(by('expired'), { kid: 'x' })],
  ['assertion_signature_wrong', 'a jwk in the header', () => forged({}, { jwk: ATTACKER.jwk }, ATTACKER.seal)],
  [
    'assertion_key_unknown',
    'a jwk in the header with its own key id',
    () => forged({}, { jwk: { ...ATTACKER.jwk, kid: 'a' }, kid: 'a' }, ATTACKER.seal),
  ],
  [
    'assertion_signature_wrong',
    'a jku in the header',
    () => forged({}, { jku: 'https://attacker.test/' }, ATTACKER.seal),
  ],
  [
    'assertion_signature_wrong',
    'an x5u in the header',
    () => forged({}, { x5u: 'https://attacker.test/' }, ATTACKER.seal),
  ],
  ['assertion_signature_wrong', 'an x5c in the header', () => forged({}, { x5c: ['AAAA'] }, ATTACKER.seal)],
  [
    'assertion_signature_wrong',
    'an RSA key of an attacker',
    () => forged(by('rsa'), { alg: 'RS256', kid: 'r', jwk: ATTACKER_RSA.jwk }, ATTACKER_RSA.seal),
  ],
  ['client_unknown', 'a client that does not exist', () => forged(by('nobody'), {}, ATTACKER.seal)],
  [
    'assertion_key_unknown',
    'a client that authenticates with a secret',
    () => forged(by('other-method'), {}, ATTACKER.seal),
  ],
];

const AUDIENCES: readonly Forgery[] = [
  ...(
    [
      ['another server', 'https://other.test'],
      ['the token endpoint (CVE-2025-27370)', `${ISSUER}/oauth2/token`],
      ['the issuer among others', [ISSUER, 'https://other.test']],
      ['another one before the issuer', ['https://other.test', ISSUER]],
      ['the issuer twice', [ISSUER, ISSUER]],
      ['the issuer with two slashes', `${ISSUER}//`],
      ['the issuer in other case', ISSUER.toUpperCase()],
      ['the issuer with a query', `${ISSUER}?`],
      ['the issuer with another port', `${ISSUER}:81`],
      ['the issuer as a prefix', `${ISSUER}.attacker.test`],
      ['the client itself', 'ec'],
    ] as const
  ).map(([what, aud]): Forgery => ['assertion_audience_wrong', what, () => forged({ aud })]),
  ['assertion_malformed', 'no audience', () => forged({ aud: undefined })],
  ['assertion_malformed', 'an empty list of audiences', () => forged({ aud: [] })],
  ['assertion_malformed', 'an empty audience', () => forged({ aud: '' })],
  ['assertion_malformed', 'an audience that is an object', () => forged({ aud: { 0: ISSUER } })],
  ['assertion_malformed', 'an audience in an inner list', () => forged({ aud: [[ISSUER]] })],
];

const TIMES: readonly Forgery[] = [
  ['assertion_expired', 'an end 31 s ago', () => forged({ exp: now() - 31 })],
  ['assertion_expired', 'an end in 1970', () => forged({ exp: 1 })],
  ['assertion_lifetime_too_long', 'an end in 400 s', () => forged({ exp: now() + 400 })],
  ['assertion_lifetime_too_long', 'an end in the year 5138', () => forged({ exp: 1e11 })],
  ['assertion_lifetime_too_long', 'an end in milliseconds', () => forged({ exp: Date.now() + 60_000 })],
  ['assertion_not_yet_valid', 'a beginning in 60 s', () => forged({ nbf: now() + 60 })],
  ['assertion_not_yet_valid', 'issued in 60 s', () => forged({ iat: now() + 60 })],
  ['assertion_malformed', 'no end', () => forged({ exp: undefined })],
  ['assertion_malformed', 'an end as a text', () => forged({ exp: String(now() + 60) })],
  ['assertion_malformed', 'an end before 1970', () => forged({ exp: -1 })],
  ['assertion_malformed', 'an end at infinity', () => raw('{"iss":"ec","sub":"ec","aud":"x","jti":"x","exp":1e999}')],
  ['assertion_malformed', 'a beginning that is null', () => forged({ nbf: null })],
];

const CLAIMS: readonly Forgery[] = [
  ['assertion_issuer_untrusted', 'no issuer', () => forged({ iss: undefined })],
  ['assertion_issuer_untrusted', 'another client as the issuer', () => forged({ iss: 'rsa' })],
  ['assertion_issuer_untrusted', 'this server as the issuer', () => forged({ iss: ISSUER })],
  ['assertion_issuer_untrusted', 'another client as the subject', () => forged({ sub: 'rsa' })],
  ['assertion_malformed', 'no subject', () => forged({ sub: undefined })],
  ['assertion_malformed', 'a subject in an array', () => forged({ sub: ['ec'], iss: ['ec'] })],
  ['assertion_malformed', 'no jti', () => forged({ jti: undefined })],
  ['assertion_malformed', 'an empty jti', () => forged({ jti: '' })],
  ['assertion_malformed', 'a jti that is a number', () => forged({ jti: 1 })],
  ['assertion_malformed', 'a jti of 256 characters', () => forged({ jti: 'j'.repeat(256) })],
  [
    'assertion_client_contradictory',
    'another client_id in the body',
    () => ({ client_assertion: forged(), client_id: 'rsa' }),
  ],
  ['assertion_type_refused', 'the type of an access token', () => forged({}, { typ: 'at+jwt' })],
  ['assertion_type_refused', 'the type of a DPoP proof', () => forged({}, { typ: 'dpop+jwt' })],
  ['assertion_type_refused', 'another media type', () => forged({}, { typ: 'text/jwt' })],
  ['assertion_malformed', 'a type that is no text', () => forged({}, { typ: 1 })],
  ['assertion_malformed', 'critical extensions', () => forged({}, { crit: ['exp'], exp: 1 })],
  ['assertion_malformed', 'an empty list of critical extensions', () => forged({}, { crit: [] })],
  ['assertion_malformed', 'an unencoded payload (RFC 7797)', () => forged({}, { b64: false, crit: ['b64'] })],
  ['assertion_malformed', 'the audience twice', () => raw(claimsBut(`"aud":"https://other.test"`))],
  ['assertion_malformed', 'the subject twice', () => raw(claimsBut(`"sub":"ec"`))],
  ['assertion_malformed', 'the end twice, once in escapes', () => raw(claimsBut(String.raw`"\u0065xp":1`))],
  ['assertion_malformed', 'a member twice in an inner object', () => raw(claimsBut(`"cnf":{"a":1,"a":2}`))],
  [
    'assertion_malformed',
    'the algorithm twice in the header',
    () => compactJws('{"alg":"none","alg":"ES256"}', claims(), EC.seal),
  ],
  ['assertion_malformed', 'claims that are no JSON', () => raw('{')],
  ['assertion_malformed', 'claims that are an array', () => raw('[]')],
  ['assertion_malformed', 'claims that are deeply nested', () => raw(`${'['.repeat(4_000)}${']'.repeat(4_000)}`)],
  ['assertion_malformed', 'a JWE', () => `${forged()}.AA.AA`],
  ['assertion_malformed', 'two parts', () => forged().split('.').slice(0, 2).join('.')],
  ['assertion_malformed', 'white space behind it', () => `${forged()} `],
  ['assertion_malformed', 'the flattened JSON serialization', () => JSON.stringify({ payload: '', signature: '' })],
  ['assertion_malformed', 'more than 12 KiB', () => forged({ x: 'x'.repeat(9_400) })],
  ['assertion_malformed', 'no JWT at all', () => 'assertion'],
];

describe('private_key_jwt', () => {
  const service = serviceForSuite({
    environment: { CLIENT_AUTHENTICATION_METHODS: 'client_secret_post,private_key_jwt' },
    clients: [
      clientWith('ec', [{ ...EC.jwk, kid: 'e' }]),
      clientWith('other', [
        { ...OTHER.jwk, kid: 'e' },
        { ...generateSigningKey('ES256').jwk, kid: 'o' },
      ]),
      clientWith('rsa', [{ ...RSA.jwk, kid: 'r' }]),
      clientWith('pss', [{ ...PSS.jwk, kid: 'p', alg: 'PS256' }]),
      clientWith('ed', [{ ...ED.jwk, kid: 'e' }]),
      clientWith('expired', [{ ...EC.jwk, kid: 'x', expires_at: 1 }]),
      { client_id: 'other-method', client_secret: '{noop}its-secret', client_name: 'A client', scope: 'read' },
    ],
  });

  const ask = (client_assertion: string, more: Readonly<Record<string, string>> = {}) =>
    requestToken(service().url, {
      grant_type: 'client_credentials',
      client_assertion_type: TYPE,
      client_assertion,
      ...more,
    });

  it('issues a token for the assertion that every forgery starts from, once', async () => {
    const assertion = forged();
    const answer = await ask(assertion);
    expect(answer.status).toBe(200);
    expect(logLineOf(service(), answer)).toMatchObject({ status: 200, client_id: 'ec' });
    const replay = await ask(assertion);
    expect([replay.status, replay.text]).toEqual([401, '{"error":"invalid_client"}']);
    expect(logLineOf(service(), replay)).toMatchObject({ reason: 'assertion_replayed', client_id: 'ec' });
  });

  const FORGERIES = { ALGORITHMS, KEYS, AUDIENCES, TIMES, CLAIMS };
  describe.each(Object.entries(FORGERIES))('refuses a forged assertion: %s', (_kind, forgeries) => {
    it.each(forgeries)('%s: %s', async (reason, _what, forge) => {
      const forgery = forge();
      const { client_assertion = '', ...more } = typeof forgery === 'string' ? { client_assertion: forgery } : forgery;
      const answer = await ask(client_assertion, more);
      expectRefusedAssertion(answer, reason);
      expect(logLineOf(service(), answer)).toMatchObject({ reason });
    });
  });

  it('refuses at least 60 forged assertions', () => {
    expect(Object.values(FORGERIES).flat().length).toBeGreaterThanOrEqual(60);
  });

  it.each<[string, typeof USED_ASSERTIONS_LIMITS]>([
    ['of all clients', { perClient: 10, total: 1 }],
    ['of this client', { perClient: 1, total: 10 }],
  ])('answers 503 if no more used assertions %s can be kept, and forgets none', async (_what, limits) => {
    await using small = await startServiceUnderTest({
      environment: { CLIENT_AUTHENTICATION_METHODS: 'private_key_jwt' },
      clients: [clientWith('ec', [EC.jwk])],
      override: (container) => {
        const store = new InMemoryUsedAssertions(container.resolve(PARTS.monotonicClock), limits);
        container.registerInstance(PARTS.usedAssertions, store);
      },
    });
    const present = (client_assertion: string) =>
      requestToken(small.url, {
        grant_type: 'client_credentials',
        client_assertion_type: TYPE,
        client_assertion,
      });
    const first = forged({}, { kid: undefined });
    expect((await present(first)).status).toBe(200);
    const second = await present(forged({}, { kid: undefined }));
    expect([second.status, second.headers['retry-after']]).toEqual([503, '1']);
    expect(second.json()).toEqual({ error: 'temporarily_unavailable' });
    expect(logLineOf(small, second)).toMatchObject({ reason: 'dependency_unavailable' });
    expect((await present(first)).status).not.toBe(200);
  });

  it('accepts assertions of an hour, as Authlib makes them, if the setting says so', async () => {
    await using lenient = await startServiceUnderTest({
      environment: { CLIENT_AUTHENTICATION_METHODS: 'private_key_jwt', CLIENT_ASSERTION_MAX_LIFETIME_SECONDS: '3600' },
      clients: [clientWith('ec', [EC.jwk])],
    });
    for (const [seconds, status] of [
      [3_600, 200],
      [3_640, 401],
    ] as const) {
      const answer = await requestToken(lenient.url, {
        grant_type: 'client_credentials',
        client_assertion_type: TYPE,
        client_assertion: forged({ exp: now() + seconds }, { kid: undefined }),
      });
      expect(answer.status).toBe(status);
      if (status === 401) expectRefusedAssertion(answer, 'assertion_lifetime_too_long');
    }
  });

  it('accepts the token endpoint as the audience, if the setting says so, and the issuer too', async () => {
    await using lenient = await startServiceUnderTest({
      environment: {
        CLIENT_AUTHENTICATION_METHODS: 'private_key_jwt',
        CLIENT_ASSERTION_AUDIENCE: 'issuer_or_token_endpoint',
      },
      clients: [clientWith('ec', [EC.jwk])],
    });
    for (const aud of [ISSUER, `${ISSUER}/oauth2/token`, [`${ISSUER}/oauth2/token`], 'https://other.test']) {
      const answer = await requestToken(lenient.url, {
        grant_type: 'client_credentials',
        client_assertion_type: TYPE,
        client_assertion: forged({ aud }, { kid: undefined }),
      });
      expect(answer.status).toBe(aud === 'https://other.test' ? 401 : 200);
    }
  });
});

/** The signature `r || s` as an ASN.1 sequence. */
function derOf(signature: Uint8Array): Buffer {
  const integer = (bytes: Uint8Array) => Buffer.from([2, bytes.length + 1, 0, ...bytes]);
  const body = Buffer.concat([integer(signature.slice(0, 32)), integer(signature.slice(32))]);
  return Buffer.concat([Buffer.from([0x30, body.length]), body]);
}
