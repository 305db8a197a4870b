import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { PARTS } from '../../config/parts.ts';
import { hostHint } from '../../config/settings/platform.ts';
import { readSettings } from '../support/all-settings.ts';
import { getAccessToken, send } from '../support/http.ts';
import { GOOD_CLIENT, GOOD_SECRET, type ServiceUnderTest, startServiceUnderTest } from '../support/running-service.ts';
import { asOperator, OPERATOR_TOKEN } from '../support/status.ts';

const PROBES = ['/livez', '/readyz', '/readyz/verification'];
const OF_THE_OPERATOR = ['/metrics', '/status', '/status/data', '/openapi.json'];
const ADDED = [...PROBES, ...OF_THE_OPERATOR, '/status/refusals/unknown'];
const ON = { HEALTH_ON_PUBLIC_PORT: 'true' };

describe('the public port with default settings', () => {
  it.each([...PROBES, ...OF_THE_OPERATOR])('asks for a token at %s', async (path) => {
    await using service = await startServiceUnderTest();
    expect((await send(service.url, path)).status).toBe(401);
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
    const answer = await send(service.url, path, { headers: { Host: 'any.name' } });
    expect([answer.status, answer.headers['cache-control']]).toEqual([200, 'no-store']);
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

  it('still asks for an access token at every other path', async () => {
    const answer = await send(service.url, '/nowhere');
    expect([answer.status, answer.headers['www-authenticate']]).toEqual([401, 'Bearer']);
    expect((await asOperator(service.url, '/nowhere')).status).toBe(401);
    expect((await asOperator(service.url, '/status/refusals/unknown')).status).toBe(404);
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
    expect(hostHint(own, true)).toBeUndefined();
    expect(readSettings({ ...CLIENTS, ...own, HOST: '127.0.0.2' })).toMatchObject({ value: { HOST: '127.0.0.2' } });
  });

  it.each(Object.entries(PLATFORMS))('%s: a service with it answers its probes', async (_name, [own]) => {
    const environment = { ...own, ...ON, PORT: '0' };
    await using service = await startServiceUnderTest({ environment, addedPaths: ADDED });
    expect((await send(`http://127.0.0.1:${service.port}`, '/readyz')).status).toBe(200);
  });

  it('without a platform stays on loopback, and names the cure in a container', () => {
    expect(readSettings({ ...CLIENTS, PORT: '9000' })).toMatchObject({ ok: true, value: { HOST: '127.0.0.1' } });
    expect(hostHint({ PORT: '9000' }, true)).toContain('set HOST=0.0.0.0');
    expect(hostHint({ PORT: '9000' }, false)).toBeUndefined();
    expect(hostHint({}, true)).toBeUndefined();
    expect(hostHint({ PORT: '9000', HOST: '127.0.0.1' }, true)).toBeUndefined();
  });
});
