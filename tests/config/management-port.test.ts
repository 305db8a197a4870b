import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { PARTS } from '../../config/parts.ts';
import { freePort } from '../support/free-port.ts';
import { send, sendRaw } from '../support/http.ts';
import { type ServiceUnderTest, startServiceUnderTest } from '../support/running-service.ts';

describe('the management port', () => {
  let service: ServiceUnderTest;
  let url: string;
  beforeAll(async () => {
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    service = await startServiceUnderTest({ environment: { MANAGEMENT_PORT: String(port) } });
  });
  afterAll(async () => service.stop());

  it('reports that the process is alive', async () => {
    const answer = await send(url, '/livez');
    expect(answer.status).toBe(200);
    expect(answer.json()).toEqual({ status: 'alive' });
    expect(answer.headers['cache-control']).toBe('no-store');
  });

  it('reports that the service is ready, with each check', async () => {
    const answer = await send(url, '/readyz');
    expect(answer.status).toBe(200);
    expect(answer.json()).toEqual({
      status: 'ready',
      checks: [
        { name: 'service', ready: true },
        { name: 'log', ready: true },
        { name: 'signing key', ready: true },
      ],
    });
  });

  it('reports that tokens can be verified, with what that needs', async () => {
    const answer = await send(url, '/readyz/verification');
    expect(answer.status).toBe(200);
    expect(answer.json()).toEqual({
      status: 'ready',
      checks: [
        { name: 'service', ready: true },
        { name: 'verification keys', ready: true },
      ],
    });
  });

  it('serves nothing else without a token, not even the token endpoint', async () => {
    for (const path of ['/', '/oauth2/token', '/oauth2/jwks', '/livez/', '/metrics/']) {
      expect((await send(url, path)).status).toBe(401);
    }
  });

  it('accepts only GET and HEAD', async () => {
    const answer = await send(url, '/readyz', { method: 'POST' });
    expect(answer.status).toBe(405);
    expect(answer.headers['allow']).toBe('GET, HEAD');
  });

  it('is separate from the public port, which does not serve health checks', async () => {
    expect((await send(service.url, '/livez')).status).toBe(401);
    expect((await send(service.url, '/readyz')).status).toBe(401);
  });

  it('writes no log line for a probe', async () => {
    const before = service.logLines().length;
    await send(url, '/readyz');
    expect(service.logLines().length).toBe(before);
  });

  it('reports that the service is not ready while it stops, with the reason', async () => {
    service.container.resolve(PARTS.lifecycle).state = 'stopping';
    const answer = await send(url, '/readyz');
    expect(answer.status).toBe(503);
    expect(answer.json()).toEqual({
      status: 'not_ready',
      checks: [
        { name: 'service', ready: false, reason: 'stopping' },
        { name: 'log', ready: true },
        { name: 'signing key', ready: true },
      ],
    });
    expect((await send(url, '/readyz/verification')).status).toBe(503);
    expect((await send(url, '/livez')).status).toBe(200);
  });
});

describe('the management port, called by a name', () => {
  const TOKEN = 'the-token-of-the-operator-by-name';
  let service: ServiceUnderTest;
  let port: number;
  let url: string;
  beforeAll(async () => {
    port = await freePort();
    url = `http://127.0.0.1:${port}`;
    service = await startServiceUnderTest({
      environment: {
        MANAGEMENT_PORT: String(port),
        MANAGEMENT_TOKEN: TOKEN,
        MANAGEMENT_ALLOWED_HOSTS: 'metrics.internal, auth',
      },
    });
  });
  afterAll(async () => service.stop());
  const REBOUND = { Host: `attacker.test:8081`, Authorization: `Bearer ${TOKEN}` };
  const PATHS = ['/metrics', '/status', '/status/data', '/status/refusals/1', '/openapi.json', '/unknown'];

  it.each(PATHS)('refuses %s by the name of a stranger, with 421 and the setting to change', async (path) => {
    const answer = await send(url, path, { headers: REBOUND });
    expect([answer.status, answer.headers['www-authenticate']]).toEqual([421, undefined]);
    expect(answer.json()).toEqual({
      error: 'misdirected_request',
      error_description: expect.stringContaining('MANAGEMENT_ALLOWED_HOSTS'),
    });
  });

  it.each(['localhost:8081', '127.0.0.1', '[::1]:8081', 'METRICS.internal:9090', 'auth'])(
    'answers /metrics and the status as %s',
    async (Host) => {
      for (const path of ['/metrics', '/status/data', '/openapi.json'])
        expect((await send(url, path, { headers: { ...REBOUND, Host } })).status).toBe(200);
    },
  );

  it('answers probes by any name, which say little', async () => {
    for (const path of ['/livez', '/readyz']) expect((await send(url, path, { headers: REBOUND })).status).toBe(200);
  });

  it.each([
    ['none', 'GET /metrics HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
    ['none in HTTP/1.0', 'GET /metrics HTTP/1.0\r\n\r\n', 421],
    ['two', 'GET /metrics HTTP/1.1\r\nHost: localhost\r\nHost: attacker.test\r\nConnection: close\r\n\r\n', 400],
    ['an empty one', 'GET /metrics HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n', 421],
    [
      'its own, and the target names a stranger',
      'GET http://attacker.test/metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
      421,
    ],
    ['an empty label', 'GET /metrics HTTP/1.1\r\nHost: .localhost\r\nConnection: close\r\n\r\n', 421],
    ['a zone', 'GET /metrics HTTP/1.1\r\nHost: [fe80::1%attacker.test]\r\nConnection: close\r\n\r\n', 421],
  ])('refuses a request for metrics with %s', async (_name, request, status) => {
    expect(await sendRaw(port, request)).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  });

  it('does not change the public port, which any name may have', async () => {
    expect((await send(service.url, '/', { headers: { Host: 'attacker.test' } })).status).toBe(401);
  });
});

describe('the management port, while the database is unavailable', () => {
  it('reports which check is not ready and why, and that the process is still alive', async () => {
    const managementPort = await freePort();
    const url = `http://127.0.0.1:${managementPort}`;
    await using service = await startServiceUnderTest({
      environment: {
        CLIENT_REPOSITORY: 'postgres',
        DATABASE_URL: `postgresql://service:its-password@127.0.0.1:${await freePort()}/auth`,
        MANAGEMENT_PORT: String(managementPort),
      },
    });
    const answer = await send(url, '/readyz');
    expect(answer.status).toBe(503);
    expect(answer.json()).toMatchObject({
      status: 'not_ready',
      checks: expect.arrayContaining([
        { name: 'client repository', ready: false, reason: expect.stringMatching(/^database unavailable/) },
      ]),
    });
    expect((await send(url, '/livez')).status).toBe(200);
    expect((await send(url, '/readyz/verification')).status).toBe(200);
    expect(service.logText()).not.toContain('its-password');
  });

  it('reports that no token can be verified if the keys are in that database too, and none is known', async () => {
    const managementPort = await freePort();
    await using _service = await startServiceUnderTest({
      environment: {
        CLIENT_REPOSITORY: 'postgres',
        KEY_DIRECTORY: 'postgres',
        DATABASE_URL: `postgresql://service:its-password@127.0.0.1:${await freePort()}/auth`,
        MANAGEMENT_PORT: String(managementPort),
      },
    });
    const answer = await send(`http://127.0.0.1:${managementPort}`, '/readyz/verification');
    expect(answer.status).toBe(503);
    expect(answer.json()).toEqual({
      status: 'not_ready',
      checks: [
        { name: 'service', ready: true },
        { name: 'verification keys', ready: false, reason: 'no key is trusted yet' },
      ],
    });
  });
});
