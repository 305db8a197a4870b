import { beforeAll, describe, expect, it } from '@jest/globals';
import { bcryptEncoder } from '../../../adapters/secrets/bcrypt-secret-verifier.ts';
import { atOnce } from '../../support/at-once.ts';
import { type FormFields, type HttpAnswer, requestToken, send } from '../../support/http.ts';
import { GOOD_CLIENT, GOOD_SECRET } from '../../support/running-service.ts';
import { logLineOf, serviceForSuite } from './service-for-suite.ts';

const GRANT = { grant_type: 'client_credentials' };

/** Ids and secrets whose characters have a meaning in base64, in forms or in `id:secret`. */
const ODD = [
  ['a colon in both', 'cli:ent', 'odd-secret:with:colons'],
  ['percent signs', '100%', 'odd-secret-%41%zz'],
  ['plus signs and spaces', 'a+b c', ' odd-secret + '],
  ['characters beyond ASCII', 'clïent-日本', 'odd-secret-ñ-€-🔑'],
  ['an ampersand and an equals sign', 'a&b=c', 'odd-secret&client_id=x'],
] as const;

const formEncoded = (text: string) => new URLSearchParams([['', text]]).toString().slice(1);
const basic = (text: string | Buffer) => `Basic ${Buffer.from(text).toString('base64')}`;
const credentials = (id: string, secret: string) => basic(`${formEncoded(id)}:${formEncoded(secret)}`);

function post(url: string, authorization: string, form: FormFields = GRANT): Promise<HttpAnswer> {
  return requestToken(url, form, { authorization });
}

describe('client_secret_basic', () => {
  const clients: Record<string, unknown>[] = [GOOD_CLIENT];
  beforeAll(async () => {
    for (const [, client_id, secret] of ODD) {
      clients.push({ ...GOOD_CLIENT, client_id, client_secret: await bcryptEncoder(atOnce)(secret, 4) });
    }
  });
  const service = serviceForSuite({
    clients,
    environment: { CLIENT_AUTHENTICATION_METHODS: 'client_secret_post,client_secret_basic', PUBLIC_METADATA: 'true' },
  });

  it('authenticates a client by its id and secret in the header', async () => {
    const answer = await post(service().url, credentials('good-client', GOOD_SECRET));
    expect(answer.status).toBe(200);
    expect(answer.json()).toMatchObject({ token_type: 'Bearer' });
  });

  it('leaves client_secret_post as it is', async () => {
    const form = { ...GRANT, client_id: 'good-client', client_secret: GOOD_SECRET };
    expect((await requestToken(service().url, form)).status).toBe(200);
  });

  it('is in the metadata', async () => {
    const metadata = (await send(service().url, '/.well-known/oauth-authorization-server')).json();
    expect(metadata['token_endpoint_auth_methods_supported']).toEqual(['client_secret_post', 'client_secret_basic']);
    expect(metadata).not.toHaveProperty('token_endpoint_auth_signing_alg_values_supported');
  });

  it.each(ODD)('decodes %s, after splitting at the first colon', async (_case, id, secret) => {
    expect((await post(service().url, credentials(id, secret))).status).toBe(200);
    expect((await post(service().url, credentials(id, `${secret}x`))).status).toBe(401);
  });

  it.each(['basic', 'BASIC', 'bAsIc'])('accepts the scheme as %s', async (scheme) => {
    const header = credentials('good-client', GOOD_SECRET).replace('Basic', scheme);
    expect((await post(service().url, header)).status).toBe(200);
  });

  it('accepts the same client_id in the body, and base64 without padding', async () => {
    const header = credentials('good-client', GOOD_SECRET);
    expect((await post(service().url, header, { ...GRANT, client_id: 'good-client' })).status).toBe(200);
    expect((await post(service().url, header.replace(/=+$/, ''))).status).toBe(200);
  });

  it.each([
    ['a wrong secret', credentials('good-client', 'bad-secret'), 'secret_wrong'],
    ['an unknown client', credentials('nobody', 'bad-secret'), 'client_unknown'],
    ['no secret', basic('good-client:'), 'credentials_missing'],
    ['no id', basic(':bad-secret'), 'credentials_missing'],
  ])('refuses %s as invalid_client, with a challenge and without a description', async (_case, header, reason) => {
    const answer = await post(service().url, header);
    expect(answer.status).toBe(401);
    expect(answer.json()).toEqual({ error: 'invalid_client' });
    expect(answer.headers['www-authenticate']).toBe('Basic realm="token endpoint"');
    expect(logLineOf(service(), answer)).toMatchObject({ reason });
  });

  it('refuses a wrong secret in the body without a challenge, as ever', async () => {
    const answer = await requestToken(service().url, {
      ...GRANT,
      client_id: 'good-client',
      client_secret: 'bad-secret',
    });
    expect(answer.status).toBe(401);
    expect(answer.headers).not.toHaveProperty('www-authenticate');
  });

  const header = credentials('good-client', GOOD_SECRET);
  it.each([
    ['base64url', 'Basic Z29vZC1jbGllbnQ6X18-Pz8_', GRANT, 'basic_credentials_malformed'],
    ['no base64', 'Basic good-client:bad-secret', GRANT, 'basic_credentials_malformed'],
    ['base64 with something behind it', `${header} x`, GRANT, 'basic_credentials_malformed'],
    ['base64 that is cut', 'Basic Z29vZ', GRANT, 'basic_credentials_malformed'],
    ['base64 with a character too many', `${basic('good-client:bad-secret-x')}A`, GRANT, 'basic_credentials_malformed'],
    ['no credentials', 'Basic', GRANT, 'basic_credentials_malformed'],
    ['no colon', basic('good-client'), GRANT, 'basic_credentials_malformed'],
    ['bytes that are not UTF-8', basic(Buffer.from([0x61, 0x3a, 0xff])), GRANT, 'basic_credentials_malformed'],
    ['broken percent-encoding', basic('good-client:bad-secret-%zz'), GRANT, 'basic_credentials_malformed'],
    ['a control character in the id', credentials('a\u0007b', 'bad-secret'), GRANT, 'client_id_malformed'],
    ['another client_id in the body', header, { ...GRANT, client_id: 'other' }, 'client_id_contradictory'],
    ['a secret in the body too', header, { ...GRANT, client_secret: GOOD_SECRET }, 'credentials_repeated'],
    ['an assertion too', header, { ...GRANT, client_assertion: 'x' }, 'credentials_repeated'],
    ['no grant_type', header, {}, 'grant_type_missing'],
  ])('refuses %s as invalid_request', async (_case, authorization, form, reason) => {
    const answer = await post(service().url, authorization, form);
    expect(answer.status).toBe(400);
    expect(answer.json()).toEqual({ error: 'invalid_request', error_description: expect.any(String) });
    expect(logLineOf(service(), answer)).toMatchObject({ reason });
  });

  it('refuses other schemes as before', async () => {
    const answer = await post(service().url, 'Bearer Zm9vOmJhcg==');
    expect(answer.status).toBe(401);
    expect(answer.headers['www-authenticate']).toBe('Bearer realm="token endpoint"');
  });
});

describe('client_secret_basic as the only method', () => {
  const service = serviceForSuite({ environment: { CLIENT_AUTHENTICATION_METHODS: 'client_secret_basic' } });

  it('authenticates in the header, and refuses a secret in the body with a hint, whatever the secret is', async () => {
    expect((await post(service().url, credentials('good-client', GOOD_SECRET))).status).toBe(200);
    for (const client_secret of [GOOD_SECRET, 'bad-secret']) {
      const answer = await requestToken(service().url, { ...GRANT, client_id: 'good-client', client_secret });
      expect(answer.status).toBe(401);
      expect(answer.json()).toEqual({
        error: 'invalid_client',
        error_description: expect.stringContaining('than client_secret_basic, unless'),
      });
    }
  });
});

describe('assertions', () => {
  const TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

  describe('by default', () => {
    const service = serviceForSuite();

    it('are unknown parameters, which are ignored', async () => {
      const assertion = { client_assertion: 'x', client_assertion_type: TYPE };
      const form = { ...GRANT, client_id: 'good-client', client_secret: GOOD_SECRET, ...assertion };
      expect((await requestToken(service().url, form)).status).toBe(200);
      const alone = await requestToken(service().url, { ...GRANT, ...assertion });
      const error_description =
        'this server accepts no other client authentication than client_secret_post, unless its operator adds it to CLIENT_AUTHENTICATION_METHODS';
      expect([alone.status, alone.json()]).toEqual([401, { error: 'invalid_client', error_description }]);
      expect(logLineOf(service(), alone)).toMatchObject({ reason: 'method_unsupported' });
    });
  });

  describe('with a method for assertions', () => {
    const service = serviceForSuite({
      environment: { CLIENT_AUTHENTICATION_METHODS: 'client_secret_post,private_key_jwt' },
    });
    const malformed = { client_assertion: 'x', client_assertion_type: TYPE };

    it.each([
      ['a malformed one', malformed, 401, 'assertion_malformed'],
      [
        'one of an unknown type',
        { ...malformed, client_assertion_type: `${TYPE}2` },
        401,
        'assertion_type_unsupported',
      ],
      ['one without its type', { client_assertion: 'x' }, 400, 'assertion_incomplete'],
      ['a type without an assertion', { client_assertion_type: TYPE }, 400, 'assertion_incomplete'],
      ['one beside a secret', { ...malformed, client_secret: 'bad-secret' }, 400, 'credentials_repeated'],
    ])('are refused: %s', async (_case, form, status, reason) => {
      const answer = await requestToken(service().url, { ...GRANT, ...form } as FormFields);
      expect(answer.status).toBe(status);
      expect(logLineOf(service(), answer)).toMatchObject({ reason });
      const error_description = expect.stringMatching(/^client_assertion(_type must be| has to be) /);
      if (status === 401) expect(answer.json()).toEqual({ error: 'invalid_client', error_description });
    });

    it.each([
      ['an assertion', malformed, 'credentials_repeated'],
      ['a part of one', { client_assertion: 'x' }, 'credentials_repeated'],
      ['a secret', { client_id: 'good-client', client_secret: GOOD_SECRET }, 'authorization_beside_body'],
    ])('a header of a scheme that is off is refused beside %s in the body', async (_case, form, reason) => {
      for (const authorization of [credentials('good-client', GOOD_SECRET), 'Bearer x']) {
        const answer = await post(service().url, authorization, { ...GRANT, ...form } as FormFields);
        expect([answer.status, answer.json()['error']]).toEqual([400, 'invalid_request']);
        expect(logLineOf(service(), answer)).toMatchObject({ reason });
      }
    });

    it('are refused in the query string', async () => {
      const answer = await send(service().url, '/oauth2/token?client_assertion=x', { method: 'POST' });
      expect([answer.status, answer.json()['error']]).toEqual([400, 'invalid_request']);
    });
  });

  describe('as the only method', () => {
    const service = serviceForSuite({ environment: { CLIENT_AUTHENTICATION_METHODS: 'private_key_jwt' } });

    it('a header beside a secret in the body is refused, without the advice to use the body', async () => {
      const form = { ...GRANT, client_id: 'good-client', client_secret: GOOD_SECRET };
      const answer = await post(service().url, 'Bearer x', form);
      expect(answer.status).toBe(400);
      expect(answer.json()).toEqual({ error: 'invalid_request', error_description: 'authenticate in one way only' });
    });
  });
});
