import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { STATUS_PARTS } from '../../../config/capabilities/status-page.ts';
import { freePort } from '../../support/free-port.ts';
import { getAccessToken, send, sendRaw } from '../../support/http.ts';
import {
  GOOD_CLIENT,
  GOOD_SECRET,
  ISSUER,
  type ServiceUnderTest,
  startServiceUnderTest,
} from '../../support/running-service.ts';

const TOKEN = 'an-operator-token-of-32-chars+/==';
const CHALLENGES = 'Basic realm="management", charset="UTF-8", Bearer realm="management"';

const basic = (password: string, user = 'anyone') => ({
  Authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`,
});
const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });

describe('the operator', () => {
  let service: ServiceUnderTest;
  let managementPort: number;
  let url: string;
  beforeAll(async () => {
    managementPort = await freePort();
    url = `http://127.0.0.1:${managementPort}`;
    service = await startServiceUnderTest({
      environment: { MANAGEMENT_PORT: String(managementPort), MANAGEMENT_TOKEN: TOKEN },
    });
  });
  afterAll(async () => service.stop());

  const get = (headers: Readonly<Record<string, string | string[]>>, path = '/status/data') =>
    send(url, path, { headers });

  it.each([
    ['as a bearer token', bearer(TOKEN)],
    ['as the password of any user', basic(TOKEN)],
    ['as the password of no user', basic(TOKEN, '')],
    ['with a scheme in other letters', { Authorization: `bEARER ${TOKEN}` }],
  ])('gets the status with the token %s', async (_how, headers) => {
    const answer = await get(headers);
    expect(answer.status).toBe(200);
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(answer.headers['x-content-type-options']).toBe('nosniff');
  });

  it.each([
    ['no token', {}],
    ['a wrong token', bearer('an-operator-token-of-32-chars+/=-')],
    ['a longer token', bearer(`${TOKEN}=`)],
    ['the begin of the token', bearer(TOKEN.slice(0, -1))],
    ['a wrong password', basic('wrong')],
    ['the token as the user', basic('', TOKEN)],
    ['a password without a colon', { Authorization: `Basic ${Buffer.from('wrong').toString('base64')}` }],
    ['the token in an unknown scheme', { Authorization: `Digest ${TOKEN}` }],
  ])('is asked for the token: %s', async (_what, headers) => {
    const answer = await get(headers);
    expect(answer.status).toBe(401);
    expect(answer.json()).toEqual({ error: 'unauthorized' });
    expect(answer.headers['www-authenticate']).toBe(CHALLENGES);
  });

  it('learns that a path does not exist, and is asked for the token before', async () => {
    for (const path of ['/', '/status/', '/metric']) {
      const found = await get(basic(TOKEN), path);
      expect([found.status, found.json()]).toEqual([404, { error: 'not_found' }]);
      const asked = await get({}, path);
      expect([asked.status, asked.headers['www-authenticate']]).toEqual([401, CHALLENGES]);
    }
  });

  it('gets two challenges in two header lines', async () => {
    const answer = await sendRaw(
      managementPort,
      'GET /status/data HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
    );
    expect(answer.match(/^WWW-Authenticate: .*$/gm)).toHaveLength(2);
  });

  it('is no client: an access token opens nothing here, and the operator token nothing on the public port', async () => {
    const token = await getAccessToken(service.url, GOOD_CLIENT.client_id, GOOD_SECRET);
    expect((await get(bearer(token))).status).toBe(401);
    expect((await send(service.url, '/v1/locations/NYC_USA', { headers: bearer(TOKEN) })).status).toBe(401);
    expect((await send(service.url, '/status/data', { headers: bearer(TOKEN) })).status).toBe(401);
  });

  it('sends one header only', async () => {
    const answer = await get({ Authorization: [`Bearer ${TOKEN}`, `Bearer ${TOKEN}`] });
    expect(answer.status).toBe(400);
  });

  it('may read and change nothing', async () => {
    const answer = await send(url, '/status/data', { method: 'POST', headers: bearer(TOKEN) });
    expect(answer.status).toBe(405);
    expect(answer.headers['allow']).toBe('GET, HEAD');
  });

  it('leaves health and metrics open', async () => {
    for (const path of ['/livez', '/readyz', '/metrics']) expect((await send(url, path)).status).toBe(200);
  });

  it('gets the description of the public port, which needs the token', async () => {
    const answer = await get(bearer(TOKEN), '/openapi.json');
    expect(answer.json()).toMatchObject({ openapi: expect.stringMatching(/^3\.1/), servers: [{ url: ISSUER }] });
    expect((await get({}, '/openapi.json')).status).toBe(401);
  });

  it('has a token that is in no log', () => {
    expect(service.logText()).not.toContain('an-operator-token');
  });
});

describe('without MANAGEMENT_TOKEN', () => {
  it('the status does not exist, and nothing is kept for it', async () => {
    const port = await freePort();
    const environment = { MANAGEMENT_PORT: String(port) };
    await using service = await startServiceUnderTest({ environment });
    await send(service.url, '/nowhere');
    for (const path of ['/status/data', '/status/refusals/1']) {
      const answer = await send(`http://127.0.0.1:${port}`, path);
      expect([answer.status, answer.headers['www-authenticate']]).toEqual([401, 'Bearer']);
    }
    for (const token of Object.values(STATUS_PARTS)) {
      expect(service.container.isRegistered<unknown>(token, true)).toBe(false);
    }
    const { text } = await send(`http://127.0.0.1:${port}`, '/metrics');
    expect(text).not.toMatch(/auth_refusal_records|auth_status_samples/);
  });
});
