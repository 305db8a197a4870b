import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { OPERATOR_LIMITS, OperatorChecks } from '../../../adapters/http/admission/operator-checks.ts';
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
import { until } from '../../support/until.ts';

/** Of a caller that does not disconnect. */
const CONNECTED = new AbortController().signal;

const TOKEN = 'an-operator-token+/==';
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
    ['a wrong token', bearer('an-operator-token+/=-')],
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

  it('waits after many wrong tokens, and then gets the status', async () => {
    const wrong = () => get(bearer('a-wrong-operator-token'));
    const answers = await Promise.all(Array.from({ length: 30 }, wrong));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401]));
    // Each answer takes at least the time that its place in the queue costs.
    const checks = service.container.resolve(STATUS_PARTS.operatorChecks);
    const more = Array.from({ length: 20 }, wrong);
    await until(() => checks.waiting > 0, 'checks wait');
    expect((await get(bearer(TOKEN))).status).toBe(200);
    await Promise.all(more);
    expect(checks.waiting).toBe(0);
  });
});

describe('callers with wrong tokens that disconnect', () => {
  it('leave their places to the operator', async () => {
    const port = await freePort();
    const environment = { MANAGEMENT_PORT: String(port), MANAGEMENT_TOKEN: TOKEN };
    await using service = await startServiceUnderTest({ environment });
    const checks = service.container.resolve(STATUS_PARTS.operatorChecks);
    // A wait of minutes, so that no turn comes by itself.
    for (let count = 0; count < 6_000; count += 1) checks.countWrong();
    const wrong =
      'GET /status/data HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer a-wrong-operator-token\r\n\r\n';
    const sockets = Array.from({ length: 10 }, () => connect(port, '127.0.0.1').on('error', () => {}));
    for (const socket of sockets) socket.write(wrong);
    await until(() => checks.waiting === 10, 'all of them wait');
    for (const socket of sockets) socket.destroy();
    await until(() => checks.waiting === 0, 'none of them waits');
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

describe('checks of the operator token', () => {
  it('are not delayed until 20 wrong tokens have come in a second', async () => {
    let now = 0;
    const checks = new OperatorChecks({ burst: 20, everyMs: 50, waiting: 100 }, () => now);
    for (let count = 0; count < 20; count += 1) {
      expect(await checks.wait(CONNECTED)).toBe(true);
      checks.countWrong();
    }
    expect(checks.waiting).toBe(0);
    checks.countWrong();
    const waiting = checks.wait(CONNECTED);
    expect(checks.waiting).toBe(1);
    now = 50;
    expect(await waiting).toBe(true);
    expect(checks.waiting).toBe(0);
  });

  it('are limited as the documentation says: 20 without a wait, then one in 50 ms, and 100 may wait', () => {
    expect(OPERATOR_LIMITS).toEqual({ burst: 20, everyMs: 50, waiting: 100 });
  });

  it('have all of their burst again a second after the last wrong token, and no more', async () => {
    let now = 1_000_000;
    const checks = new OperatorChecks(undefined, () => now);
    for (let count = 0; count < 21; count += 1) checks.countWrong();
    now += 60_000;
    for (let count = 0; count < 20; count += 1) {
      expect(await checks.wait(CONNECTED)).toBe(true);
      checks.countWrong();
    }
    expect(checks.waiting).toBe(0);
    checks.countWrong();
    const waiting = checks.wait(CONNECTED);
    expect(checks.waiting).toBe(1);
    now += 50;
    expect(await waiting).toBe(true);
  });

  it('do not wait for a caller who has disconnected, and need no place', async () => {
    const checks = new OperatorChecks({ burst: 0, everyMs: 60_000, waiting: 0 }, () => 0);
    checks.countWrong();
    expect(await checks.wait(AbortSignal.abort())).toBe(true);
    expect(await checks.wait(CONNECTED)).toBe(false);
  });

  it('are refused at once when as many wait as there can be connections', async () => {
    let now = 0;
    const checks = new OperatorChecks({ burst: 0, everyMs: 50, waiting: 100 }, () => now);
    checks.countWrong();
    const waiting = Array.from({ length: 100 }, () => checks.wait(CONNECTED));
    expect(checks.waiting).toBe(100);
    expect(await checks.wait(CONNECTED)).toBe(false);
    now = 50;
    expect(new Set(await Promise.all(waiting))).toEqual(new Set([true]));
    expect(await checks.wait(CONNECTED)).toBe(true);
  });

  it('come one at a time, however many wait, and nothing goes on when none waits any more', async () => {
    jest.useFakeTimers();
    try {
      const checks = new OperatorChecks({ burst: 0, everyMs: 50, waiting: 100 });
      checks.countWrong();
      const waiting = Array.from({ length: 3 }, () => checks.wait(CONNECTED));
      expect(jest.getTimerCount()).toBe(1);
      for (const left of [2, 1, 0]) {
        await jest.advanceTimersToNextTimerAsync();
        expect(checks.waiting).toBe(left);
      }
      expect(await Promise.all(waiting)).toEqual([true, true, true]);
      expect(jest.getTimerCount()).toBe(0);
    } finally {
      jest.useRealTimers();
    }
  });

  it('leave their place at once when their caller disconnects', async () => {
    let now = 0;
    const checks = new OperatorChecks({ burst: 0, everyMs: 50, waiting: 100 }, () => now);
    checks.countWrong();
    const caller = new AbortController();
    const left = Array.from({ length: 99 }, () => checks.wait(caller.signal));
    const stays = checks.wait(CONNECTED);
    expect(await checks.wait(CONNECTED)).toBe(false);
    caller.abort();
    await Promise.all(left);
    expect(checks.waiting).toBe(1);
    const comes = checks.wait(CONNECTED);
    expect(checks.waiting).toBe(2);
    await checks.wait(caller.signal);
    now = 50;
    expect(await Promise.all([stays, comes])).toEqual([true, true]);
    expect(checks.waiting).toBe(0);
  });

  it('have their turns in the order of arrival, so that no guesses get in front of the right token', async () => {
    let now = 0;
    const checks = new OperatorChecks({ burst: 0, everyMs: 50, waiting: 100 }, () => now);
    checks.countWrong();
    const order: number[] = [];
    // Each is wrong, and costs the next one a wait.
    const checked = async (number: number) => {
      await checks.wait(CONNECTED);
      order.push(number);
      checks.countWrong();
      now += 50;
    };
    const first = [1, 2, 3].map(checked);
    now = 50;
    // The first wait is over. A check that arrives now still waits behind all the others.
    const last = checked(4);
    expect(checks.waiting).toBe(4);
    await Promise.all([...first, last]);
    expect(order).toEqual([1, 2, 3, 4]);
  });
});
