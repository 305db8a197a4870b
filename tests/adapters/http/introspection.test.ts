import { describe, expect, it } from '@jest/globals';
import { decodeJwt } from 'jose';
import { CALLERS_MAX, TokenBucketBudget } from '../../../adapters/http/admission/token-bucket-budget.ts';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';
import { PARTS } from '../../../config/container.ts';
import { manageClients } from '../../../config/programs/clients-program.ts';
import { readSettings } from '../../../config/settings/settings.ts';
import { auditLinesIn } from '../../support/audit-lines.ts';
import { FixedClock } from '../../support/fixed-clock.ts';
import { type FormFields, getAccessToken, requestToken, send } from '../../support/http.ts';
import { problemsIn } from '../../support/problems.ts';
import { runInProcess } from '../../support/run-in-process.ts';
import { GOOD_CLIENT, GOOD_SECRET, ISSUER, startServiceUnderTest } from '../../support/running-service.ts';
import { SEALED_KEYS } from '../../support/sealed-keys.ts';
import { createSqliteFile } from '../../support/sqlite-file.ts';
import { logLineOf, serviceForSuite } from './service-for-suite.ts';

const API = 'https://api.example.com';
const client = (client_id: string, more: object = {}) => ({ ...GOOD_CLIENT, client_id, ...more });
const CLIENTS = [
  client('caller', { scope: 'read write', resources: ['urn:files'], claims: { tenant: 'acme' } }),
  client('api', { audiences: ['urn:other', API] }),
  client('files', { audiences: ['urn:files'] }),
  client('stranger'),
  client('auditor', { scope: 'read introspect' }),
];
const ON = {
  TOKEN_REVOCATION: 'true',
  TOKEN_AUDIENCE: API,
  TOKEN_PROFILE: 'common',
  PUBLIC_METADATA: 'true',
  CLIENT_AUTHENTICATION_METHODS: 'client_secret_post,client_secret_basic',
};
const NOTHING = { active: false };

const credentialsOf = (client_id: string) => ({ client_id, client_secret: GOOD_SECRET });

function introspect(
  url: string,
  form: FormFields,
  headers: Readonly<Record<string, string>> = {},
  target = '/oauth2/introspect',
) {
  const type = { 'content-type': 'application/x-www-form-urlencoded' };
  return send(url, target, {
    method: 'POST',
    headers: { ...type, ...headers },
    body: String(new URLSearchParams(form)),
  });
}

describe('the introspection endpoint', () => {
  const service = serviceForSuite({ environment: ON, clients: CLIENTS });
  const tokenOf = (id: string, form: FormFields = {}) => getAccessToken(service().url, id, GOOD_SECRET, form);
  const ask = (token: string, form: FormFields, headers: Readonly<Record<string, string>> = {}) =>
    introspect(service().url, { token, ...form }, headers);

  it('tells a resource server the claims of a token, with its scope as a text', async () => {
    const token = await tokenOf('caller');
    const response = await ask(token, credentialsOf('api'));
    expect(response.status).toBe(200);
    const claims = decodeJwt(token);
    expect(response.json()).toEqual({ active: true, ...claims, client_id: 'caller', token_type: 'Bearer' });
    expect(response.json()).toMatchObject({ iss: ISSUER, aud: API, scope: 'read write', tenant: 'acme' });
    expect(response.headers['cache-control']).toBe('no-store');
    const line = logLineOf(service(), response);
    expect(line).toMatchObject({ route: '/oauth2/introspect', client_id: 'api', status: 200 });
    expect(line).not.toHaveProperty('token_id');
  });

  it.each([
    ['its own client', 'caller', true],
    ['a resource server of its audience', 'api', true],
    ['a resource server of another audience', 'files', false],
    ['a client without audiences', 'stranger', false],
    ['a client with the scope for all', 'auditor', true],
  ])('answers %s', async (_who, id, isActive) => {
    const { active } = (await ask(await tokenOf('caller'), credentialsOf(id))).json();
    expect(active).toBe(isActive);
  });

  it('goes by the audience of the token, which a resource restricts', async () => {
    const token = await tokenOf('caller', { resource: 'urn:files' });
    expect((await ask(token, credentialsOf('files'))).json()).toMatchObject({ active: true, aud: 'urn:files' });
    expect((await ask(token, credentialsOf('api'))).json()).toEqual(NOTHING);
  });

  it('accepts HTTP Basic, and an access token of the caller, which has the scopes of that token alone', async () => {
    const token = await tokenOf('caller');
    const basic = `Basic ${Buffer.from(`api:${GOOD_SECRET}`).toString('base64')}`;
    expect((await ask(token, {}, { authorization: basic })).json()).toMatchObject({ active: true });
    const bearer = async (id: string, form: FormFields = {}) => ({
      authorization: `Bearer ${await tokenOf(id, form)}`,
    });
    expect((await ask(token, {}, await bearer('api'))).json()).toMatchObject({ active: true });
    expect((await ask(token, {}, await bearer('auditor'))).json()).toMatchObject({ active: true });
    expect((await ask(token, {}, await bearer('auditor', { scope: 'read' }))).json()).toEqual(NOTHING);
    expect((await ask(token, {}, await bearer('stranger'))).json()).toEqual(NOTHING);
  });

  it('says nothing but inactive of what is no token of the service', async () => {
    const token = await tokenOf('caller');
    const [header = '', payload = ''] = token.split('.');
    const none = Buffer.from('{"alg":"none"}').toString('base64url');
    for (const wrong of [
      'x',
      `${token}x`,
      `${header}.${payload}.`,
      `${none}.${payload}.`,
      ` ${token}`,
      'a'.repeat(8_000),
    ]) {
      const response = await ask(wrong, credentialsOf('auditor'));
      expect([response.status, response.json()]).toEqual([200, NOTHING]);
    }
  });

  it('ignores a hint, and takes no parameter twice', async () => {
    const token = await tokenOf('caller');
    const hinted = await ask(token, { ...credentialsOf('api'), token_type_hint: 'refresh_token' });
    expect(hinted.json()).toMatchObject({ active: true });
    const twice = await send(service().url, '/oauth2/introspect', {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: `${new URLSearchParams({ token, ...credentialsOf('api') })}&token=${token}`,
    });
    expect([twice.status, twice.json()['error']]).toEqual([400, 'invalid_request']);
  });

  it.each<[string, FormFields, Record<string, string>, number, object, string | undefined]>([
    ['no token', credentialsOf('api'), {}, 400, { error: 'invalid_request' }, undefined],
    ['an empty token', { ...credentialsOf('api'), token: '' }, {}, 400, { error: 'invalid_request' }, undefined],
    ['no credentials', { token: 'x' }, {}, 401, { error: 'invalid_client' }, 'Basic realm="token endpoint"'],
    [
      'a wrong secret',
      { token: 'x', client_id: 'api', client_secret: 'wrong' },
      {},
      401,
      { error: 'invalid_client' },
      undefined,
    ],
    [
      'an unknown client',
      { token: 'x', client_id: 'nobody', client_secret: 'wrong' },
      {},
      401,
      { error: 'invalid_client' },
      undefined,
    ],
    [
      'a forged access token',
      { token: 'x' },
      { authorization: 'Bearer x.y.z' },
      401,
      { error: 'invalid_token' },
      'Bearer error="invalid_token"',
    ],
    [
      'an access token beside a secret',
      { token: 'x', client_secret: 'a' },
      { authorization: 'Bearer x' },
      400,
      { error: 'invalid_request' },
      undefined,
    ],
    [
      'another scheme',
      { token: 'x' },
      { authorization: 'Digest x' },
      401,
      { error: 'invalid_client' },
      'Digest realm="token endpoint"',
    ],
    [
      'no JSON',
      { token: 'x', ...credentialsOf('api') },
      { accept: 'application/token-introspection+jwt' },
      406,
      { error: 'invalid_request' },
      undefined,
    ],
  ])('refuses %s', async (_what, form, headers, status, body, challenge) => {
    const response = await introspect(service().url, form, headers);
    expect([response.status, response.headers['www-authenticate']]).toEqual([status, challenge]);
    expect(response.json()).toMatchObject(body);
  });

  it('answers a caller that accepts JSON among others, or everything', async () => {
    for (const accept of ['*/*', 'application/*;q=0.5', 'text/html, application/json;q=0.1']) {
      expect((await ask('x', credentialsOf('api'), { accept })).json()).toEqual(NOTHING);
    }
  });

  it('refuses a token and credentials in the query string, and other methods', async () => {
    const refused = await introspect(service().url, {}, {}, '/oauth2/introspect?token=x');
    expect([refused.status, refused.json()['error']]).toEqual([400, 'invalid_request']);
    const got = await send(service().url, '/oauth2/introspect');
    expect([got.status, got.headers['allow']]).toEqual([405, 'POST']);
  });

  it('records who was not authenticated', async () => {
    const response = await introspect(service().url, { token: 'x', client_id: 'api', client_secret: 'wrong' });
    const id = response.headers['x-request-id'];
    const lines = service()
      .logLines()
      .filter((line) => line['log'] === 'audit' && line['request_id'] === id);
    expect(lines).toMatchObject([{ event: 'introspection_refused', reason: 'secret_wrong', client_id: 'api' }]);
  });

  it('is in the metadata, with how to authenticate there', async () => {
    const metadata = (await send(service().url, '/.well-known/oauth-authorization-server')).json();
    expect(metadata).toMatchObject({
      revocation_endpoint: `${ISSUER}/oauth2/revoke`,
      revocation_endpoint_auth_methods_supported: ['client_secret_post', 'client_secret_basic'],
      introspection_endpoint: `${ISSUER}/oauth2/introspect`,
      introspection_endpoint_auth_methods_supported: ['client_secret_post', 'client_secret_basic', 'Bearer'],
    });
  });
});

describe('the revocation endpoint', () => {
  const service = serviceForSuite({ environment: ON, clients: CLIENTS });
  const tokenOf = (id: string) => getAccessToken(service().url, id, GOOD_SECRET);
  const revoke = (token: string, form: FormFields, headers: Readonly<Record<string, string>> = {}) =>
    introspect(service().url, { token, ...form }, headers, '/oauth2/revoke');
  const isActive = async (token: string) =>
    (await introspect(service().url, { token, ...credentialsOf('auditor') })).json()['active'];

  it('revokes a token of the client, and no other one of it', async () => {
    const [token, other] = [await tokenOf('caller'), await tokenOf('caller')];
    const response = await revoke(token, credentialsOf('caller'));
    expect([response.status, response.text]).toEqual([200, '{}']);
    expect([await isActive(token), await isActive(other)]).toEqual([false, true]);
    expect((await revoke(token, credentialsOf('caller'))).status).toBe(200);
    const id = response.headers['x-request-id'];
    const lines = service()
      .logLines()
      .filter((line) => line['log'] === 'audit' && line['request_id'] === id);
    expect(lines).toMatchObject([{ event: 'token_revoked', client_id: 'caller', token_id: decodeJwt(token).jti }]);
    expect(logLineOf(service(), response)).toMatchObject({ route: '/oauth2/revoke', client_id: 'caller', status: 200 });
  });

  it('leaves the token of another client, and what is no token, alone, and tells neither', async () => {
    const token = await tokenOf('caller');
    for (const asked of [token, 'x', `${token.slice(0, -4)}AAAA`]) {
      const response = await revoke(asked, credentialsOf('auditor'));
      expect([response.status, response.text]).toEqual([200, '{}']);
    }
    expect(await isActive(token)).toBe(true);
  });

  it('ignores a hint', async () => {
    const token = await tokenOf('caller');
    await revoke(token, { ...credentialsOf('caller'), token_type_hint: 'refresh_token' });
    expect(await isActive(token)).toBe(false);
  });

  it('makes the paths of the service refuse the token at once, and introspection a caller with it', async () => {
    const token = await tokenOf('auditor');
    const headers = { authorization: `Bearer ${token}` };
    const use = async () => (await send(service().url, '/v1/locations/NYC_USA', { headers })).status;
    expect(await use()).toBe(200);
    await revoke(token, credentialsOf('auditor'));
    expect(await use()).toBe(401);
    const refused = await introspect(service().url, { token: 'x' }, headers);
    expect([refused.status, logLineOf(service(), refused)['reason']]).toEqual([401, 'token_revoked']);
  });

  it.each<[string, FormFields, Record<string, string>, number, string]>([
    ['no token', credentialsOf('caller'), {}, 400, 'invalid_request'],
    ['a wrong secret', { token: 'x', client_id: 'caller', client_secret: 'wrong' }, {}, 401, 'invalid_client'],
    ['no credentials', { token: 'x' }, {}, 401, 'invalid_client'],
    ['an access token', { token: 'x' }, { authorization: 'Bearer x' }, 401, 'invalid_client'],
  ])('refuses %s', async (_what, form, headers, status, error) => {
    const response = await introspect(service().url, form, headers, '/oauth2/revoke');
    expect([response.status, response.json()['error']]).toEqual([status, error]);
  });

  it('records who was not authenticated', async () => {
    const response = await revoke('x', { client_id: 'caller', client_secret: 'wrong' });
    const id = response.headers['x-request-id'];
    const lines = service()
      .logLines()
      .filter((line) => line['log'] === 'audit' && line['request_id'] === id);
    expect(lines).toMatchObject([{ event: 'revocation_refused', reason: 'secret_wrong', client_id: 'caller' }]);
  });

  it('is 503 while the store is away, and so is introspection', async () => {
    const away = () => Promise.reject(new DependencyUnavailable('revocations', new Error('away')));
    await using other = await startServiceUnderTest({
      environment: ON,
      clients: CLIENTS,
      override: (core) =>
        core.registerInstance(PARTS.revocations, {
          find: away,
          revoke: away,
          revokeAll: away,
          load: { revoked: 0, max: 1 },
        }),
    });
    const token = await getAccessToken(other.url, 'caller', GOOD_SECRET);
    for (const path of ['/oauth2/revoke', '/oauth2/introspect']) {
      const response = await introspect(other.url, { token, ...credentialsOf('caller') }, {}, path);
      expect([response.status, response.headers['retry-after']]).toEqual([503, '1']);
    }
  });

  it('is refused at startup where a restart would forget, or replicas could not agree on the time', () => {
    const problemsOf = (more: Record<string, string>) =>
      problemsIn(
        readSettings({ CLIENT_REPOSITORY: 'memory', CLIENTS_FILE: 'c.json', TOKEN_REVOCATION: 'true', ...more }),
      );
    expect(problemsOf({})).toEqual([]);
    expect(problemsOf({ KEY_FILE: 'key.pem' })).toEqual([expect.stringContaining('a restart would forget')]);
    const sqlite = { CLIENT_REPOSITORY: 'sqlite', CLIENTS_FILE: '', DATABASE_FILE: 'c.db' };
    expect(problemsOf(sqlite)).toEqual([
      'TOKEN_REVOCATION: needs KEY_DIRECTORY=database: replicas have to agree on the time',
    ]);
    expect(problemsOf({ ...sqlite, KEY_DIRECTORY: 'database', KEY_SECRET_FILE: 's' })).toEqual([]);
  });
});

describe('without TOKEN_REVOCATION', () => {
  it('there is no introspection endpoint, and none in the metadata', async () => {
    await using service = await startServiceUnderTest({ environment: { PUBLIC_METADATA: 'true' } });
    expect((await introspect(service.url, { token: 'x', ...credentialsOf('good-client') })).status).toBe(401);
    expect((await introspect(service.url, { token: 'x' }, {}, '/oauth2/revoke')).status).toBe(401);
    const { text } = await send(service.url, '/.well-known/oauth-authorization-server');
    expect(text).not.toMatch(/introspection|revocation/);
  });
});

describe('a token', () => {
  it('has no scope in introspection where tokens have none', async () => {
    const environment = { ...ON, TOKEN_PROFILE: 'default' };
    await using service = await startServiceUnderTest({ environment, clients: CLIENTS });
    const token = await getAccessToken(service.url, 'caller', GOOD_SECRET);
    const response = (await introspect(service.url, { token, ...credentialsOf('caller') })).json();
    expect([response['active'], 'scope' in response]).toEqual([true, false]);
  });

  it('is inactive when it has expired, and before its time', async () => {
    const clock = new FixedClock();
    await using service = await startServiceUnderTest({
      environment: ON,
      clients: CLIENTS,
      override: (core) => core.registerInstance(PARTS.clock, clock),
    });
    const token = await getAccessToken(service.url, 'caller', GOOD_SECRET);
    const isActive = async () => (await introspect(service.url, { token, ...credentialsOf('api') })).json()['active'];
    expect(await isActive()).toBe(true);
    clock.advance(299);
    expect(await isActive()).toBe(true);
    clock.advance(1);
    expect(await isActive()).toBe(false);
    clock.advance(-301);
    expect(await isActive()).toBe(false);
  });

  it('is inactive as soon as its client is disabled or removed, also that of a caller, and stays so', async () => {
    await using file = await createSqliteFile();
    const settings = { DATABASE_FILE: file.path };
    const clients = (...args: readonly string[]) => runInProcess(manageClients, args, settings);
    const add = async (id: string, ...more: readonly string[]) => {
      const added = await clients('add', id, '--name', id, '--scope', 'read', '--json', ...more);
      return String(JSON.parse(added.stdout).client_secret);
    };
    const secrets = { caller: await add('caller'), api: await add('api', '--audiences', `${API},urn:b`) };
    const environment = { ...ON, CLIENT_REPOSITORY: 'sqlite', ...settings, CLIENTS_FILE: '', ...SEALED_KEYS };
    await using service = await startServiceUnderTest({ environment });
    const tokenNow = () => getAccessToken(service.url, 'caller', secrets.caller);
    let token = await tokenNow();
    const authorization = `Bearer ${await getAccessToken(service.url, 'api', secrets.api)}`;
    const ask = (headers: Record<string, string> = { authorization }) => introspect(service.url, { token }, headers);
    const isActive = async () => (await ask()).json()['active'];
    expect(await isActive()).toBe(true);
    await clients('disable', 'caller');
    expect(await isActive()).toBe(false);
    await clients('enable', 'caller');
    expect(await isActive()).toBe(false);
    const done = await clients('revoke-tokens', 'caller', '--yes');
    expect(done).toMatchObject({
      exitCode: 0,
      stderr: expect.stringContaining('Those that it gets from now on are active.'),
    });
    expect(auditLinesIn(done.stderr)).toMatchObject([{ event: 'client_tokens_revoked', client_id: 'caller' }]);
    token = await tokenNow();
    expect(await isActive()).toBe(true);
    const rotated = await clients('rotate', 'caller', '--keep-old-for', '1h');
    expect([rotated.exitCode, await isActive()]).toEqual([0, true]);
    const removed = await clients('secrets', 'remove', 'caller', '--without-id', '--revoke-tokens');
    expect(removed).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('lost this secret and its tokens') });
    expect(await isActive()).toBe(false);
    await clients('remove', 'caller', '--yes');
    expect(await clients('revoke-tokens', 'caller', '--yes')).toMatchObject({ exitCode: 1 });
    // By another application, in the table.
    file.run("update clients set client_secret = '!' || client_secret where client_id = 'api'");
    const refused = await ask();
    expect([refused.status, refused.json()]).toEqual([401, { error: 'invalid_token' }]);
    expect(logLineOf(service, refused)).toMatchObject({ reason: 'token_client_inactive', client_id: 'api' });
  });

  it('is neither active nor inactive while the database is away, and costs no look-up if it is forged or not for the caller to know', async () => {
    let [isAway, lookUps] = [false, 0];
    await using service = await startServiceUnderTest({
      environment: ON,
      clients: CLIENTS,
      wrapClients: (clients) =>
        new Proxy(clients, {
          get(target, name) {
            const method = Reflect.get(target, name);
            if (name !== 'findByClientId') return typeof method === 'function' ? method.bind(target) : method;
            return async (...args: Parameters<typeof clients.findByClientId>) => {
              lookUps += 1;
              if (isAway && args[0] === 'caller')
                throw new DependencyUnavailable('client repository', new Error('away'));
              return clients.findByClientId(...args);
            };
          },
        }),
    });
    const token = await getAccessToken(service.url, 'caller', GOOD_SECRET);
    const costOf = async (asked: string, id: string) => {
      await introspect(service.url, { token: asked, ...credentialsOf(id) });
      const before = lookUps;
      await introspect(service.url, { token: asked, ...credentialsOf(id) });
      return lookUps - before;
    };
    expect(await costOf(token, 'api')).toBe(2);
    expect(await costOf(`${token.slice(0, -4)}AAAA`, 'api')).toBe(1);
    expect(await costOf(token, 'stranger')).toBe(1);
    isAway = true;
    const response = await introspect(service.url, { token, ...credentialsOf('api') });
    expect([response.status, response.json()]).toEqual([503, { error: 'temporarily_unavailable' }]);
    expect(response.headers['retry-after']).toBe('1');
  });

  it('may be asked about so often in a second, by each caller', async () => {
    await using service = await startServiceUnderTest({
      environment: { ...ON, INTROSPECTIONS_PER_SECOND: '3' },
      clients: CLIENTS,
    });
    const token = await getAccessToken(service.url, 'caller', GOOD_SECRET);
    const ask = (id: string) => introspect(service.url, { token, ...credentialsOf(id) });
    await ask('api');
    const begin = performance.now();
    const responses = await Promise.all(Array.from({ length: 40 }, () => ask('api')));
    // A refusal waits for the next budget: otherwise it would cost as much as a response.
    expect(performance.now() - begin).toBeGreaterThan(990);
    const refused = responses.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThan(10);
    expect(refused[0]?.json()['error']).toBe('slow_down');
    expect(refused[0]?.headers['retry-after']).toBe('1');
    expect((await ask('auditor')).status).toBe(200);
    const revoking = Array.from({ length: 8 }, () =>
      introspect(service.url, { token: 'x', ...credentialsOf('stranger') }, {}, '/oauth2/revoke'),
    );
    expect(
      (await Promise.all(revoking))
        .map(({ status }) => status)
        .toSorted()
        .at(-1),
    ).toBe(429);
    expect(
      (await requestToken(service.url, { grant_type: 'client_credentials', ...credentialsOf('api') })).status,
    ).toBe(200);
    expect((await service.container.resolve(PARTS.processMetrics).exposition()).text).toMatch(
      /^auth_introspection_callers 3$/m,
    );
  });
});

describe('TokenBucketBudget', () => {
  it('allows so many at once, refills with time, and never more', () => {
    let now = 0;
    const budget = new TokenBucketBudget(2, () => now);
    const takeAll = () => Array.from({ length: 4 }, () => budget.take('a')).filter(Boolean).length;
    expect(takeAll()).toBe(2);
    now += 500;
    expect(takeAll()).toBe(1);
    now += 60_000;
    expect(takeAll()).toBe(2);
    expect(budget.take('b')).toBe(true);
  });

  it('takes more uses at once, and a whole budget for a request that needs more than that', () => {
    let now = 0;
    const budget = new TokenBucketBudget(4, () => now);
    expect([budget.take('a', 3), budget.take('a', 2), budget.take('a')]).toEqual([true, false, true]);
    now += 1_000;
    expect([budget.take('a', 11), budget.take('a')]).toEqual([true, false]);
  });

  it('keeps the budgets of no more callers than its bound, and none without a limit', () => {
    const budget = new TokenBucketBudget(1, () => 0);
    for (let number = 0; number < CALLERS_MAX + 5; number += 1) budget.take(`client-${number}`);
    expect(budget.callers).toBe(CALLERS_MAX);
    expect(budget.take(`client-${CALLERS_MAX}`)).toBe(false);
    const unlimited = new TokenBucketBudget(0);
    expect(Array.from({ length: 1_000 }, () => unlimited.take('a')).every(Boolean)).toBe(true);
    expect(unlimited.callers).toBe(0);
  });
});
