import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { PARTS } from '../../config/parts.ts';
import { freePort } from '../support/free-port.ts';
import { send } from '../support/http.ts';
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
    expect((await send(url, '/livez')).status).toBe(200);
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
    expect(service.logText()).not.toContain('its-password');
  });
});
