import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { decodeJwt } from 'jose';
import { PARTS } from '../../../config/container.ts';
import { GRANT_NAMES } from '../../../domain/grant-type.ts';
import { ASSERTION_MISTAKES, assertionForm, KEY, PLATFORM, PLATFORM_KEY } from '../../support/assertion-mistakes.ts';
import { compactJws, generateSigningKey, type Seal } from '../../support/assertions.ts';
import { JWT_BEARER } from '../../support/forged-assertion.ts';
import { type FormFields, requestToken, send } from '../../support/http.ts';
import {
  GOOD_CLIENT,
  GOOD_SECRET,
  ISSUER,
  type ServiceUnderTest,
  startServiceUnderTest,
} from '../../support/running-service.ts';

const GRANT = GRANT_NAMES['jwt-bearer'];
const STRANGER = generateSigningKey('ES256');
const now = () => Math.floor(Date.now() / 1_000);

const JWKS = { keys: [{ ...KEY.jwk, kid: 'the-key' }] };
const signing = (client_id: string, more: object = {}) => {
  return { client_id, client_name: 'A client', scope: 'read write', jwks: JWKS, ...more };
};
const CLIENTS = [
  GOOD_CLIENT,
  signing('signing', { resources: ['urn:api'] }),
  signing('another'),
  { ...GOOD_CLIENT, ...signing('with-both') },
  signing('disabled', { client_secret: '!*' }),
  signing('only-secrets', { grant_types: ['client_credentials'] }),
  { ...GOOD_CLIENT, client_id: 'only-grant', grant_types: ['jwt-bearer'] },
  {
    client_id: 'workload',
    client_name: 'A pod',
    scope: 'read',
    federated_subjects: [{ issuer: PLATFORM, subject: 'a-pod', claims: {} }],
  },
];

let service: ServiceUnderTest;
beforeAll(async () => {
  service = await startServiceUnderTest({
    environment: {
      GRANT_TYPES: 'client_credentials,jwt-bearer',
      CLIENT_ASSERTION_ISSUERS_FILE: 'issuers.json',
      PUBLIC_METADATA: 'true',
    },
    files: {
      'issuers.json': JSON.stringify([{ issuer: PLATFORM, jwks: { keys: [PLATFORM_KEY.jwk()] }, preset: 'none' }]),
    },
    clients: CLIENTS,
  });
}, 60_000);
afterAll(() => service.stop());

/** An assertion of a client; a claim that is undefined is left out. */
function assertionOf(sub: string, claims: object = {}, header: object = {}, seal: Seal = KEY.seal): string {
  const common = { iss: sub, sub, aud: ISSUER, iat: now(), exp: now() + 60, jti: crypto.randomUUID() };
  return compactJws({ alg: 'ES256', typ: 'JWT', ...header }, { ...common, ...claims }, seal);
}

const ask = (assertion: string | undefined, form: FormFields = {}) =>
  requestToken(service.url, { grant_type: GRANT, ...(assertion !== undefined && { assertion }), ...form });

describe('the grant jwt-bearer, with GRANT_TYPES alone', () => {
  it.each<[string, object, object]>([
    [
      'golang.org/x/oauth2/jwt',
      { jti: undefined, exp: now() + 3_600, prn: 'signing', scope: 'read' },
      { kid: 'the-key' },
    ],
    ['Prometheus', { exp: now() + 600 }, { kid: 'the-key' }],
    ['librdkafka', { jti: undefined, exp: now() + 300 }, {}],
    ['zitadel/oidc', { aud: [ISSUER], exp: now() + 3_600 }, { typ: undefined, kid: 'the-key' }],
  ])('gives a client a token for what %s sends', async (_tool, claims, header) => {
    const response = await ask(assertionOf('signing', claims, header));
    expect(response.json()).toMatchObject({ token_type: 'Bearer', expires_in: 300 });
    expect(decodeJwt(String(response.json()['access_token']))).toMatchObject({ sub: 'signing', aud: 'signing' });
    expect(service.logLines().findLast(({ event }) => event === 'token_issued')).toMatchObject({
      client_id: 'signing',
      grant: 'jwt-bearer',
    });
  });

  it('takes the scope of the parameter, otherwise that of the claim, and refuses one beyond the registration', async () => {
    const scopeOf = async (claim: unknown, form: FormFields = {}) => {
      const response = await ask(assertionOf('signing', { scope: claim }), form);
      return response.json()['scope'] ?? response.json()['error'];
    };
    expect(await scopeOf('read', { scope: 'write' })).toBe('write');
    expect(await scopeOf('read admin', { scope: 'write' })).toBe('write');
    const claimed = await ask(assertionOf('signing', { scope: 'read' }));
    expect(service.logLines().findLast(({ event }) => event === 'token_issued')).toMatchObject({ scope: 'read' });
    // The client has asked for it, so that the response has it (RFC 6749 section 5.1).
    expect([claimed.status, claimed.json()['scope']]).toEqual([200, 'read']);
    expect((await ask(assertionOf('signing'))).json()).not.toHaveProperty('scope');
    expect(await scopeOf('admin')).toBe('invalid_scope');
    // Only a text asks for anything.
    expect((await ask(assertionOf('signing', { scope: ['admin'] }))).status).toBe(200);
  });

  it('issues a token for a resource that the client has', async () => {
    const response = await ask(assertionOf('signing'), { resource: 'urn:api' });
    expect(decodeJwt(String(response.json()['access_token']))).toMatchObject({ aud: 'urn:api' });
  });

  it('gives the workload of a platform a token without a client_id, again and again, whatever scope it claims', async () => {
    const claims = {
      iss: PLATFORM,
      sub: 'a-pod',
      aud: ISSUER,
      iat: now(),
      exp: now() + 600,
      jti: 'once',
      scope: 'admin',
    };
    const assertion = PLATFORM_KEY.mint({ header: {}, claims });
    for (let time = 0; time < 2; time += 1) expect((await ask(assertion)).status).toBe(200);
    expect((await ask(assertion, { client_id: 'workload' })).status).toBe(200);
    expect((await ask(assertion, { client_id: 'signing' })).json()).toEqual({ error: 'invalid_grant' });
  });

  it('accepts an assertion with a jti once, also between the two doors, and one without until it ends', async () => {
    const assertion = assertionOf('signing');
    expect((await ask(assertion)).status).toBe(200);
    expect((await ask(assertion)).json()).toEqual({ error: 'invalid_grant' });
    const uses = service.container.resolve(PARTS.usedAssertions);
    const claims = decodeJwt(assertion);
    expect(await uses.use([{ clientId: 'signing', assertionId: String(claims.jti), keptSeconds: 1 }])).toEqual([
      'replayed',
    ]);
    const without = assertionOf('signing', { jti: undefined });
    for (let time = 0; time < 3; time += 1) expect((await ask(without)).status).toBe(200);
  });

  describe('refuses with the same bytes what depends on a registration', () => {
    const platform = (claims: object) =>
      PLATFORM_KEY.mint({ header: {}, claims: { iss: PLATFORM, aud: ISSUER, iat: now(), exp: now() + 60, ...claims } });
    it.each<[string, string, () => string]>([
      ['client_unknown', 'an unknown client', () => assertionOf('nobody')],
      [
        'client_unknown',
        'an unknown client whose key is that of another one',
        () => assertionOf('nobody', {}, { kid: 'the-key' }),
      ],
      ['assertion_signature_wrong', 'another key', () => assertionOf('signing', {}, {}, STRANGER.seal)],
      [
        'assertion_key_unknown',
        'a kid that the client does not have',
        () => assertionOf('signing', {}, { kid: 'other' }),
      ],
      ['client_disabled', 'a disabled client', () => assertionOf('disabled')],
      ['assertion_key_unknown', 'a client without keys', () => assertionOf(GOOD_CLIENT.client_id)],
      ['grant_refused', 'a client of another grant', () => assertionOf('only-secrets')],
      ['assertion_subject_unknown', 'an unknown workload', () => platform({ sub: 'another-pod' })],
    ])('%s: %s', async (reason, _what, make) => {
      const response = await ask(make());
      expect([response.status, response.text]).toEqual([400, '{"error":"invalid_grant"}']);
      expect(service.logLines().findLast(({ event }) => event === 'token_refused')).toMatchObject({ reason });
    });
  });

  describe('refuses with a text what the assertion itself shows', () => {
    /** What is no mistake here, since `jti` is optional and an hour is allowed. */
    const NO_MISTAKES = ['no jti', 'an hour, as of Authlib'];
    const MISTAKES = ASSERTION_MISTAKES.filter(([, , what]) => !NO_MISTAKES.includes(what));

    it.each(MISTAKES)('%s of a %s: %s', async (reason, signer, _what, changes) => {
      const { client_assertion, client_assertion_type: _type, ...form } = assertionForm(signer, 'signing', changes);
      const response = await ask(String(client_assertion), { ...form, grant_type: GRANT });
      expect(response.status).toBe(400);
      expect(response.json()).toEqual({ error: 'invalid_grant', error_description: expect.any(String) });
      expect(service.logLines().findLast(({ event }) => event === 'token_refused')).toMatchObject({ reason });
    });

    it.each<[string, RegExp, () => string]>([
      [
        'an assertion for client authentication',
        /^typ in the header/,
        () => assertionOf('signing', {}, { typ: 'client-authentication+jwt' }),
      ],
      ['no subject', /sub is missing/, () => assertionOf('signing', { sub: undefined })],
      ['another subject than issuer', /^iss of the assertion/, () => assertionOf('signing', { sub: 'another' })],
      ['an issuer alone', /sub is missing/, () => assertionOf('signing', { sub: undefined, prn: 'signing' })],
      [
        'an end in more than an hour',
        /no more than 3600 seconds ahead/,
        () => assertionOf('signing', { exp: now() + 3_700 }),
      ],
      ['an empty jti', /jti is no text/, () => assertionOf('signing', { jti: '' })],
      ['a jti of 256 characters', /jti is longer than 255/, () => assertionOf('signing', { jti: 'j'.repeat(256) })],
      ['a jti that is a number', /jti is no text/, () => assertionOf('signing', { jti: 7 })],
      ['no audience', /aud is missing/, () => assertionOf('signing', { aud: undefined })],
      ['no audience in the array', /aud is no text/, () => assertionOf('signing', { aud: [] })],
      [
        'the issuer of another server',
        /^aud of the assertion/,
        () => assertionOf('signing', { aud: `${ISSUER}.evil.test` }),
      ],
      ['no end', /exp is missing/, () => assertionOf('signing', { exp: undefined })],
      ['an end in text', /exp is no number/, () => assertionOf('signing', { exp: `${now() + 60}` })],
      ['none as its algorithm', /^alg in the header/, () => assertionOf('signing', {}, { alg: 'none' })],
      ['HMAC', /^alg in the header/, () => assertionOf('signing', {}, { alg: 'HS256' })],
      ['an encrypted JWT', /no signed JWT/, () => 'a.b.c.d.e'],
      ['no signature', /no signed JWT/, () => assertionOf('signing').replace(/[^.]*$/, '')],
      [
        'claims that repeat a name',
        /each field once/,
        () => compactJws({ alg: 'ES256' }, '{"sub":"a","sub":"b"}', KEY.seal),
      ],
      [
        'a key in its header',
        /^iss of the assertion/,
        () => assertionOf('nobody', { iss: 'https://attacker.test' }, { jwk: STRANGER.jwk }, STRANGER.seal),
      ],
      ['12 KiB', /longer than 12 KiB/, () => assertionOf('signing', { more: 'x'.repeat(9_500) })],
    ])('%s', async (_what, description, make) => {
      const response = await ask(make());
      expect(response.status).toBe(400);
      expect(response.json()).toEqual({
        error: 'invalid_grant',
        error_description: expect.stringMatching(description),
      });
    });
  });

  it.each<[string, FormFields, number, object]>([
    ['no assertion', {}, 400, { error: 'invalid_request', error_description: 'assertion is missing' }],
    ['a client_id that is none', { assertion: 'x', client_id: 'a\nb' }, 400, { error: 'invalid_request' }],
  ])('refuses a request with %s', async (_what, form, status, body) => {
    const response = await ask(undefined, form);
    expect([response.status, response.json()]).toEqual([status, expect.objectContaining(body)]);
  });

  it('is refused in the query string', async () => {
    const response = await send(service.url, '/oauth2/token?assertion=x', { method: 'POST' });
    expect(response.status).toBe(400);
  });

  it('accepts client authentication beside it, of the same client alone, which is refused as always', async () => {
    const secret = { client_id: GOOD_CLIENT.client_id, client_secret: GOOD_SECRET };
    const both = { client_id: 'signing', client_secret: 'x' };
    expect((await ask(assertionOf('signing'), both)).json()).toEqual({ error: 'invalid_client' });
    const other = await ask(assertionOf('signing', { sub: 'signing' }), { ...secret });
    expect(other.status).toBe(400);
    expect(other.json()['error']).toBe('invalid_grant');
    const twice = { client_assertion_type: JWT_BEARER, client_assertion: 'x' };
    expect((await ask(assertionOf('signing'), twice)).status).toBe(401);
  });

  it('never shows the secret of a client that authenticates beside it, wherever that was sent', async () => {
    const beside = { client_id: GOOD_CLIENT.client_id, client_secret: GOOD_SECRET };
    const assertions = [assertionOf('signing'), assertionOf('signing', { scope: GOOD_SECRET })];
    for (const [index, form] of [{ ...beside, scope: `read ${GOOD_SECRET}"` }, beside].entries()) {
      const { text } = await ask(assertions[index], form);
      expect(text).not.toContain(GOOD_SECRET);
    }
    const own = { client_id: 'with-both', client_secret: GOOD_SECRET };
    for (const more of [{ scope: GOOD_SECRET }, { resource: `urn:${GOOD_SECRET}` }]) {
      const response = await ask(assertionOf('with-both'), { ...own, ...more });
      expect([response.status, response.text]).toEqual([400, expect.not.stringContaining(GOOD_SECRET)]);
    }
    const claimed = await ask(assertionOf('with-both', { scope: GOOD_SECRET }), own);
    expect([claimed.json()['error'], claimed.text]).toEqual([
      'invalid_scope',
      expect.not.stringContaining(GOOD_SECRET),
    ]);
  });

  it('leaves client_credentials as it is, and tells a client that it may use the grant alone', async () => {
    const form = { grant_type: 'client_credentials', client_secret: GOOD_SECRET };
    expect((await requestToken(service.url, { ...form, client_id: GOOD_CLIENT.client_id })).status).toBe(200);
    expect((await requestToken(service.url, { ...form, client_id: 'only-secrets', client_secret: 'x' })).status).toBe(
      401,
    );
    const refused = await requestToken(service.url, { ...form, client_id: 'only-grant' });
    expect([refused.status, refused.json()['error']]).toEqual([400, 'unauthorized_client']);
  });

  it('is in the metadata, and is named where another grant is tried', async () => {
    const metadata = (await send(service.url, '/.well-known/oauth-authorization-server')).json();
    expect(metadata['grant_types_supported']).toEqual(['client_credentials', GRANT]);
    expect(metadata['token_endpoint_auth_methods_supported']).toEqual(['client_secret_post']);
    const response = await requestToken(service.url, { grant_type: 'password' });
    expect(response.json()).toEqual({
      error: 'unsupported_grant_type',
      error_description: `grant_type must be client_credentials or ${GRANT}`,
    });
  });
});

describe('without GRANT_TYPES', () => {
  it('the grant is unsupported', async () => {
    await using plain = await startServiceUnderTest({ clients: CLIENTS });
    const response = await requestToken(plain.url, { grant_type: GRANT, assertion: assertionOf('signing') });
    expect(response.json()).toEqual({
      error: 'unsupported_grant_type',
      error_description: 'grant_type must be client_credentials',
    });
  });
});
