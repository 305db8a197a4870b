import { once } from 'node:events';
import { createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { decodeJwt } from 'jose';
import { PARTS } from '../../config/container.ts';
import { openFetchService } from '../../config/fetch.ts';
import { readSettings } from '../../config/settings/settings.ts';
import { freePort } from '../support/free-port.ts';
import { getAccessToken, send } from '../support/http.ts';
import { GOOD_CLIENT, GOOD_SECRET, type ServiceUnderTest, startServiceUnderTest } from '../support/running-service.ts';
import { asOperator, OPERATOR_TOKEN } from '../support/status.ts';

const PROBES = ['/livez', '/readyz', '/readyz/verification'];
const OF_THE_OPERATOR = ['/metrics', '/status', '/openapi.json'];
const ADDED = [...PROBES, ...OF_THE_OPERATOR];
const ON = { HEALTH_ON_PUBLIC_PORT: 'true' };

describe('the public port with default settings', () => {
  it('asks for a token everywhere, for probes and pages of the operator too', async () => {
    await using service = await startServiceUnderTest();
    for (const path of [...PROBES, ...OF_THE_OPERATOR]) expect((await send(service.url, path)).status).toBe(401);
  });
});

describe('the public port with a BASE_URL that has a path', () => {
  const BASE_URL = 'https://h.test/tenant-a';
  const METADATA = '/.well-known/oauth-authorization-server';
  const OPENID = '/.well-known/openid-configuration';
  const environment = { ...ON, BASE_URL, PUBLIC_METADATA: 'true', METADATA_COMPATIBILITY: 'oidc' };
  const FORM_TYPE = { 'content-type': 'application/x-www-form-urlencoded' };
  const CREDENTIALS = { grant_type: 'client_credentials', client_id: 'good-client', client_secret: GOOD_SECRET };
  const body = String(new URLSearchParams(CREDENTIALS));
  let service: ServiceUnderTest;
  beforeAll(async () => {
    service = await startServiceUnderTest({
      environment,
      addedPaths: PROBES.flatMap((path) => [path, `/tenant-a${path}`]),
    });
  });
  afterAll(() => service.stop());

  const post = (path: string, form = body, { url } = service) =>
    send(url, path, { method: 'POST', headers: FORM_TYPE, body: form });

  it.each(['', '/tenant-a'])('answers each route with %j in front, and logs the same route', async (prefix) => {
    const issued = await post(`${prefix}/oauth2/token`);
    const authorization = `Bearer ${issued.json()['access_token']}`;
    expect(decodeJwt(String(issued.json()['access_token'])).iss).toBe(BASE_URL);
    const location = await send(service.url, `${prefix}/v1/locations/NYC_USA`, { headers: { authorization } });
    expect([issued.status, location.status]).toEqual([200, 200]);
    expect((await send(service.url, `${prefix}/v1/locations/NYC_USA`)).status).toBe(401);
    expect((await send(service.url, `${prefix}/oauth2/jwks`)).json()['keys']).toHaveLength(2);
    expect((await post(`${prefix}/oauth2/authorize`)).json()['error']).toBe('unsupported_response_type');
    expect((await send(service.url, `${prefix}/livez`)).status).toBe(200);
    const routeOf = ({ headers }: typeof issued) =>
      service.logLines().find((line) => line['request_id'] === headers['x-request-id'] && 'route' in line)?.['route'];
    expect([routeOf(issued), routeOf(location)]).toEqual(['/oauth2/token', '/v1/locations/:code']);
    // Refused before a route is matched.
    const malformed = await send(service.url, `${prefix}/oauth2/token`, { method: 'POST', headers: { host: '"' } });
    const ofRefusal = service.logLines().filter((line) => line['request_id'] === malformed.headers['x-request-id']);
    expect(ofRefusal.map((line) => line['event'])).toContain('token_refused');
  });

  it('serves the metadata in the forms of RFC 8414 and OpenID Connect, whose URLs all answer', async () => {
    for (const path of [`${METADATA}/tenant-a`, METADATA, `/tenant-a${METADATA}`, `/tenant-a${OPENID}`, OPENID]) {
      const metadata = (await send(service.url, path)).json();
      expect(metadata['issuer']).toBe(BASE_URL);
      const [token, keys] = [new URL(String(metadata['token_endpoint'])), new URL(String(metadata['jwks_uri']))];
      expect((await post(token.pathname)).status).toBe(200);
      expect((await send(service.url, keys.pathname)).status).toBe(200);
    }
  });

  it.each([
    '/tenant-a',
    '/tenant-a/',
    '/tenant-a/oauth2/token/',
    '/tenant-a/tenant-a/oauth2/token',
    '/tenant-ab/oauth2/token',
    '/Tenant-a/oauth2/token',
    '/tenant%2Da/oauth2/token',
    '//tenant-a/oauth2/token',
    '/oauth2/tenant-a/token',
    '/tenant-a/metrics',
  ])('strips nothing: %s requires a token', async (path) => {
    expect((await post(path)).status).toBe(401);
  });

  it('adds no prefix to the management port, and no path without one in BASE_URL', async () => {
    const port = await freePort();
    await using other = await startServiceUnderTest({ environment: { BASE_URL, MANAGEMENT_PORT: String(port) } });
    expect((await send(`http://127.0.0.1:${port}`, '/livez')).status).toBe(200);
    expect((await send(`http://127.0.0.1:${port}`, '/tenant-a/livez')).status).toBe(401);
    expect((await send(other.url, '/tenant-a/oauth2/jwks')).status).toBe(401);
    await using plain = await startServiceUnderTest();
    expect((await send(plain.url, '/tenant-a/oauth2/jwks')).status).toBe(401);
  });

  it('may end in /oauth2: the endpoint is behind it', async () => {
    const addedPaths = ['/oauth2/oauth2/token'];
    await using other = await startServiceUnderTest({ environment: { BASE_URL: 'https://h.test/oauth2' }, addedPaths });
    for (const path of ['/oauth2/oauth2/token', '/oauth2/token'])
      expect((await post(path, body, other)).status).toBe(200);
    expect((await post('/token', body, other)).status).toBe(401);
  });

  it('is the same for the function', async () => {
    const settings = { CLIENT_REPOSITORY: 'memory', CLIENTS_FILE: 'config/demo/clients.json', BASE_URL };
    const opened = await openFetchService(settings, () => {});
    const form = body.replace('good-client', 'demo-client').replace(GOOD_SECRET, 'demo-secret');
    const statusOf = async (path: string) => {
      const request = new Request(`https://h.test${path}`, { method: 'POST', headers: FORM_TYPE, body: form });
      return (await opened.fetch(request)).status;
    };
    const paths = ['/oauth2/token', '/tenant-a/oauth2/token', '/tenant-a/tenant-a/oauth2/token'];
    expect(await Promise.all(paths.map(statusOf))).toEqual([200, 200, 401]);
    await opened.close();
  });
});

describe('the public port with HEALTH_ON_PUBLIC_PORT', () => {
  let service: ServiceUnderTest;
  let bearer: string;
  beforeAll(async () => {
    service = await startServiceUnderTest({ environment: ON, addedPaths: ADDED });
    bearer = await getAccessToken(service.url, GOOD_CLIENT.client_id, GOOD_SECRET);
  });
  afterAll(() => service.stop());

  it.each(PROBES)('answers %s without a token', async (path) => {
    const response = await send(service.url, path, { headers: { Host: 'any.name' } });
    expect([response.status, response.headers['cache-control']]).toEqual([200, 'no-store']);
    expect(response.json()).toEqual({ status: path === '/livez' ? 'alive' : 'ready' });
  });

  it.each(OF_THE_OPERATOR)('has no %s without MANAGEMENT_TOKEN', async (path) => {
    expect((await send(service.url, path)).status).toBe(401);
    expect((await send(service.url, path, { headers: { Authorization: `Bearer ${bearer}` } })).status).toBe(404);
  });

  it('answers probes while a flood fills the load limit, and nothing else', async () => {
    const load = service.container.resolve(PARTS.loadLimit);
    const flood = Array.from({ length: load.max }, () => ({}));
    for (const request of flood) load.enter(request);
    expect((await send(service.url, '/oauth2/jwks')).status).toBe(503);
    for (const path of PROBES) expect((await send(service.url, path)).status).toBe(200);
    for (const request of flood) load.leave(request);
    expect(load.inFlight).toBe(0);
  });

  it('refuses other methods of a probe, and paths that only look like one', async () => {
    expect((await send(service.url, '/livez', { method: 'POST' })).status).toBe(405);
    for (const path of ['/livez/', '/LIVEZ', '/livez%20', '//livez']) {
      expect((await send(service.url, path)).status).toBe(401);
    }
  });
});

describe('the public port with HEALTH_ON_PUBLIC_PORT and MANAGEMENT_TOKEN', () => {
  let service: ServiceUnderTest;
  beforeAll(async () => {
    const environment = { ...ON, MANAGEMENT_TOKEN: OPERATOR_TOKEN };
    service = await startServiceUnderTest({ environment, addedPaths: ADDED });
  });
  afterAll(() => service.stop());

  it.each(OF_THE_OPERATOR)('answers %s to the operator, and to nobody else', async (path) => {
    const bearer = await getAccessToken(service.url, GOOD_CLIENT.client_id, GOOD_SECRET);
    expect((await asOperator(service.url, path)).status).toBe(200);
    expect((await send(service.url, path)).status).toBe(401);
    expect((await send(service.url, path, { headers: { Authorization: `Bearer ${bearer}` } })).status).toBe(401);
  });

  it('shows the checks of a probe to the operator, and to nobody else', async () => {
    expect((await asOperator(service.url, '/readyz')).json()['checks']).toContainEqual({
      name: 'service',
      ready: true,
    });
    for (const Authorization of [`Bearer ${'x'.repeat(40)}`, 'Bearer', '']) {
      const response = await send(service.url, '/readyz', { headers: { Authorization } });
      expect([response.status, response.json()]).toEqual([200, { status: 'ready' }]);
    }
  });

  it('still asks for an access token at every other path', async () => {
    const response = await send(service.url, '/nowhere');
    expect([response.status, response.headers['www-authenticate']]).toEqual([401, 'Bearer']);
    expect((await asOperator(service.url, '/nowhere')).status).toBe(401);
  });

  it('answers the operator while 120 others guess the token', async () => {
    const headers = { Authorization: `Bearer ${'a-wrong-token'.repeat(3)}` };
    const guesses = Array.from({ length: 120 }, () => send(service.url, '/metrics', { headers }));
    for (const path of OF_THE_OPERATOR) expect((await asOperator(service.url, path)).status).toBe(200);
    expect(new Set((await Promise.all(guesses)).map(({ status }) => status))).toEqual(new Set([401]));
  });
});

/** What each platform sets by itself, as its documentation says. */
const PLATFORMS = {
  'Cloud Run': [{ PORT: '8080', K_SERVICE: 'token', K_REVISION: 'token-00001', K_CONFIGURATION: 'token' }, '0.0.0.0'],
  Render: [
    { PORT: '10000', RENDER: 'true', RENDER_SERVICE_ID: 'srv-1', RENDER_EXTERNAL_HOSTNAME: 'a.test' },
    '0.0.0.0',
  ],
  'Fly.io': [{ FLY_APP_NAME: 'token', FLY_REGION: 'fra', FLY_MACHINE_ID: '1', PRIMARY_REGION: 'fra' }, '::'],
  Heroku: [{ PORT: '34567', DYNO: 'web.1' }, '0.0.0.0'],
} as const;

describe('the environment of a platform', () => {
  const CLIENTS = { CLIENT_REPOSITORY: 'memory', CLIENTS_FILE: 'clients.json' };

  it.each(Object.entries(PLATFORMS))('%s: makes the service reachable, without a setting', (_name, [own, host]) => {
    expect(readSettings({ ...CLIENTS, ...own })).toMatchObject({ ok: true, value: { HOST: host } });
    expect(readSettings({ ...CLIENTS, ...own, HOST: '127.0.0.2' })).toMatchObject({ value: { HOST: '127.0.0.2' } });
  });

  // The others listen on the same address as the first.
  it.each(['Cloud Run', 'Fly.io'] as const)('%s: a service with it answers its probes', async (name) => {
    const environment = { ...PLATFORMS[name][0], ...ON, PORT: '0' };
    await using service = await startServiceUnderTest({ environment, addedPaths: ADDED });
    expect((await send(`http://127.0.0.1:${service.port}`, '/readyz')).status).toBe(200);
  });

  it('without a platform stays on loopback', () => {
    expect(readSettings({ ...CLIENTS, PORT: '9000' })).toMatchObject({ ok: true, value: { HOST: '127.0.0.1' } });
  });
});

describe('the start of a service', () => {
  const other = createServer();
  afterAll(() => {
    other.close();
  });

  it('fails if another service has begun to share its port while it prepared its keys', async () => {
    const port = await freePort();
    const listenMeanwhile = async () => {
      other.listen({ port, host: '127.0.0.1', reusePort: true });
      await once(other, 'listening');
    };
    const started = startServiceUnderTest({
      environment: { PORT: String(port), HOST: '127.0.0.1' },
      features: [{ prepare: listenMeanwhile }],
    });
    const outcome = await started.then(
      (service) => service.stop(),
      (fault: Error) => fault.message,
    );
    expect(outcome).toContain('EADDRINUSE');
  });
});
