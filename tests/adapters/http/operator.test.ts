import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { nowInWords } from '../../../adapters/http/status-page/now-in-words.ts';
import {
  CLIENTS_MAX,
  RECORDS_OF_A_REASON,
  RefusalRecords,
} from '../../../adapters/http/status-page/refusal-records.ts';
import { type Reading, SAMPLES_MAX, StatusHistory } from '../../../adapters/http/status-page/status-history.ts';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';
import type { RefusalRecord, RequestLine } from '../../../application/ports/telemetry.ts';
import { PARTS } from '../../../config/parts.ts';
import { FixedClock } from '../../support/fixed-clock.ts';
import { freePort } from '../../support/free-port.ts';
import { getAccessToken, send, sendRaw } from '../../support/http.ts';
import {
  GOOD_CLIENT,
  GOOD_SECRET,
  ISSUER,
  type ServiceUnderTest,
  startServiceUnderTest,
} from '../../support/running-service.ts';
import { asOperator, startServiceForOperator } from '../../support/status.ts';

describe('operator access', () => {
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
      const response = await get(headers);
      expect(response.status).toBe(200);
      expect(response.headers['cache-control']).toBe('no-store');
      expect(response.headers['x-content-type-options']).toBe('nosniff');
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
      const response = await get(headers);
      expect(response.status).toBe(401);
      expect(response.json()).toEqual({ error: 'unauthorized' });
      expect(response.headers['www-authenticate']).toBe(CHALLENGES);
    });

    it('learns that a path does not exist, and is asked for the token before', async () => {
      for (const path of ['/stat', '/status/', '/metric']) {
        const found = await get(basic(TOKEN), path);
        expect([found.status, found.json()]).toEqual([404, { error: 'not_found' }]);
        const asked = await get({}, path);
        expect([asked.status, asked.headers['www-authenticate']]).toEqual([401, CHALLENGES]);
      }
    });

    it('is led from / to the page, once the token is there', async () => {
      const found = await get(basic(TOKEN), '/');
      expect([found.status, found.headers.location]).toEqual([302, '/status']);
      expect((await get(basic(TOKEN), found.headers.location)).status).toBe(200);
      const asked = await get({}, '/');
      expect([asked.status, asked.headers['www-authenticate']]).toEqual([401, CHALLENGES]);
    });

    it('gets two challenges in two header lines', async () => {
      const response = await sendRaw(
        managementPort,
        'GET /status/data HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
      );
      expect(response.match(/^WWW-Authenticate: .*$/gm)).toHaveLength(2);
    });

    it('is no client: an access token opens nothing here, and the operator token nothing on the public port', async () => {
      const token = await getAccessToken(service.url, GOOD_CLIENT.client_id, GOOD_SECRET);
      expect((await get(bearer(token))).status).toBe(401);
      expect((await send(service.url, '/v1/locations/NYC_USA', { headers: bearer(TOKEN) })).status).toBe(401);
      expect((await send(service.url, '/status/data', { headers: bearer(TOKEN) })).status).toBe(401);
    });

    it('sends one header only', async () => {
      const response = await get({ Authorization: [`Bearer ${TOKEN}`, `Bearer ${TOKEN}`] });
      expect(response.status).toBe(400);
    });

    it('may read and change nothing', async () => {
      const response = await send(url, '/status/data', { method: 'POST', headers: bearer(TOKEN) });
      expect(response.status).toBe(405);
      expect(response.headers['allow']).toBe('GET, HEAD');
    });

    it('leaves health and metrics open', async () => {
      for (const path of ['/livez', '/readyz', '/metrics']) expect((await send(url, path)).status).toBe(200);
    });

    it('gets the description of the public port, which needs the token', async () => {
      const response = await get(bearer(TOKEN), '/openapi.json');
      expect(response.json()).toMatchObject({ openapi: expect.stringMatching(/^3\.1/), servers: [{ url: ISSUER }] });
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
        const response = await send(`http://127.0.0.1:${port}`, path);
        expect([response.status, response.headers['www-authenticate']]).toEqual([401, 'Bearer']);
      }
      expect(service.container.isRegistered(PARTS.serviceStatus)).toBe(false);
      const { text } = await send(`http://127.0.0.1:${port}`, '/metrics');
      expect(text).not.toMatch(/auth_refusal_records|auth_status_samples/);
    });
  });
});

describe('the files of the status page', () => {
  const BROWSER_FOLDER = new URL('../../../adapters/http/status-page/browser/', import.meta.url);
  const SCRIPT_BYTES_MAX = 16 * 1024;

  const POLICY =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'self'";

  /** The paths that a text loads, from the page or from a script. */
  function pathsIn(text: string): readonly string[] {
    const inPage = [...text.matchAll(/(?:src|href)="(status\/[^"]+)"/g)].map(([, path]) => `/${path}`);
    const inScript = [...text.matchAll(/from '\.\/([^']+)'/g)].map(([, name]) => `/status/${name}`);
    return [...inPage, ...inScript];
  }

  let service: ServiceUnderTest;
  let url: string;
  beforeAll(async () => {
    ({ service, url } = await startServiceForOperator());
  });
  afterAll(async () => service.stop());

  /** The page and all that it loads, by path. */
  async function loaded(path = '/status', seen = new Map<string, Awaited<ReturnType<typeof send>>>()) {
    if (seen.has(path)) return seen;
    const response = await asOperator(url, path);
    seen.set(path, response);
    for (const next of pathsIn(response.text)) await loaded(next, seen);
    return seen;
  }

  it('have at most 16 KiB of script', () => {
    const scripts = readdirSync(BROWSER_FOLDER).filter((name) => name.endsWith('.js'));
    const bytes = scripts.map((name) => readFileSync(new URL(name, BROWSER_FOLDER)).length);
    expect(scripts).toContain('app.js');
    expect(bytes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(SCRIPT_BYTES_MAX);
  });

  it('are all served, and each one is used', async () => {
    const answers = await loaded();
    const served = [...answers].map(([path, { status }]) => [path, status]);
    const own = readdirSync(BROWSER_FOLDER).filter((name) => /\.(js|css)$/.test(name));
    const names = ['', ...own].map((name) => (name ? `/status/${name}` : '/status'));
    expect(served.toSorted()).toEqual(names.map((path) => [path, 200]).toSorted());
  });

  it('carry a strict policy, their type, and are not stored', async () => {
    for (const [path, { headers }] of await loaded()) {
      const type = path === '/status' ? 'text/html' : path.endsWith('.js') ? 'text/javascript' : 'text/css';
      expect({ path, ...headers }).toMatchObject({
        'content-security-policy': POLICY,
        'content-type': `${type}; charset=utf-8`,
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'cross-origin-resource-policy': 'same-origin',
        'cache-control': 'no-store',
      });
    }
  });

  it('have no inline script or style, which the policy would block', async () => {
    const { text } = await asOperator(url, '/status');
    expect(text).not.toMatch(/<style|\sstyle=|\son[a-z]+=|javascript:/i);
    expect(text.match(/<script[^>]*>/g)).toEqual(['<script type="module" src="status/app.js">']);
  });

  it('need the token', async () => {
    for (const path of (await loaded()).keys()) {
      expect({ path, status: (await send(url, path)).status }).toEqual({ path, status: 401 });
    }
  });

  it('do not exist without MANAGEMENT_TOKEN', async () => {
    const port = await freePort();
    await using without = await startServiceUnderTest({ environment: { MANAGEMENT_PORT: String(port) } });
    expect((await asOperator(`http://127.0.0.1:${port}`, '/status')).status).toBe(401);
    expect((await send(without.url, '/status')).status).toBe(401);
  });

  it('are not on the public port', async () => {
    expect((await asOperator(service.url, '/status')).status).toBe(401);
  });
});

describe('the history of the status', () => {
  const NOTHING = { requests: 0, tokens: 0, refusals: {}, unknown_paths: {} };
  const reading = (seconds: number, counted: Partial<Reading['totals']> = {}, issued: Reading['issued'] = {}) => {
    return { seconds, totals: { ...NOTHING, ...counted }, issued };
  };
  const NOW = { at: 1_000, ready: true };

  it('has rates and latencies since the sample before, and none of the latencies without a token', () => {
    const history = new StatusHistory();
    history.add(reading(0), NOW);
    expect(history.samples).toEqual([]);
    const issued = { '0.001': 0, '0.01': 30, '+Inf': 30 };
    history.add(reading(15, { tokens: 30, refusals: { secret_wrong: 12, client_unknown: 3 } }, issued), NOW);
    expect(history.samples).toEqual([{ ...NOW, tokens: 2, refusals: 1, p50: 0.0055, p99: 0.00991 }]);
    history.add(reading(30, { tokens: 30, refusals: { secret_wrong: 12, client_unknown: 3 } }, issued), NOW);
    expect(history.samples.at(-1)).toEqual({ ...NOW, tokens: 0, refusals: 0, p50: null, p99: null });
  });

  it('takes what took longer than the last bound for equal to it', () => {
    const history = new StatusHistory();
    history.add(reading(0), NOW);
    history.add(reading(15, {}, { '0.1': 0, '5': 1, '+Inf': 100 }), NOW);
    expect(history.samples).toMatchObject([{ p50: 5, p99: 5 }]);
  });

  it('counts the last minute, by reason', () => {
    const history = new StatusHistory();
    for (let n = 0; n <= 10; n += 1) history.add(reading(n * 15, { requests: n, refusals: { old: 1, new: n } }), NOW);
    const now = reading(155, { requests: 20, tokens: 3, refusals: { old: 1, new: 12 } });
    expect(history.lastMinute(now)).toEqual({ ...NOTHING, requests: 14, tokens: 3, refusals: { new: 6 } });
  });

  it('covers an hour, and nothing that is later than now because a clock was set back', () => {
    const history = new StatusHistory();
    const addAt = (at: number) => history.add(reading(at), { ...NOW, at });
    for (let n = 0; n <= 2 * SAMPLES_MAX; n += 1) addAt(n);
    expect(history.samples).toHaveLength(SAMPLES_MAX);
    addAt(2 * SAMPLES_MAX - 10);
    expect(history.samples).toHaveLength(SAMPLES_MAX - 9);
    addAt(10_000);
    expect(history.samples).toHaveLength(1);
  });
});

describe('the records of refusals', () => {
  const LINE: RequestLine = {
    request_id: 'id-0',
    method: 'POST',
    route: '/oauth2/token',
    status: 401,
    duration_ms: 12.5,
    remote_address: '192.0.2.7',
    error: 'invalid_client',
    reason: 'secret_wrong',
  };

  it('have what the log line has, and when it was', () => {
    const records = new RefusalRecords(new FixedClock(1_800_000_000));
    records.add({ ...LINE, client_id: 'good-client' });
    expect(records.find({ requestId: 'id-0' })).toEqual([
      {
        request_id: 'id-0',
        at: 1_800_000_000,
        status: 401,
        error: 'invalid_client',
        reason: 'secret_wrong',
        route: '/oauth2/token',
        method: 'POST',
        remote_address: '192.0.2.7',
        client_id: 'good-client',
        duration_seconds: 0.0125,
      },
    ]);
  });

  it('name what was unavailable, and nothing else of a fault', () => {
    const records = new RefusalRecords(new FixedClock());
    const fault = new DependencyUnavailable('client repository', new Error('its cause'));
    records.add({ ...LINE, reason: 'dependency_unavailable', fault });
    const found = records.find({ requestId: 'id-0' });
    expect(found).toMatchObject([{ dependency: 'client repository' }]);
    expect(JSON.stringify(found)).not.toContain('its cause');
  });

  it('are of refused requests only', () => {
    const records = new RefusalRecords(new FixedClock());
    const { reason: _, ...answered } = LINE;
    records.add({ ...answered, status: 200 });
    expect(records.size).toBe(0);
    expect(records.find({ requestId: 'id-0' })).toEqual([]);
  });

  it('are 256 for each reason, so that a flood of one evicts no record of another', () => {
    const records = new RefusalRecords(new FixedClock());
    records.add({ ...LINE, request_id: 'of another reason', reason: 'scope_malformed' });
    for (let number = 0; number < 3 * RECORDS_OF_A_REASON + 7; number += 1) {
      records.add({ ...LINE, request_id: `flood-${number}` });
    }
    expect(records.size).toBe(RECORDS_OF_A_REASON + 1);
    const isKept = (requestId: string) => records.find({ requestId }).length === 1;
    expect(isKept('of another reason')).toBe(true);
    const [oldest, newest] = [2 * RECORDS_OF_A_REASON + 7, 3 * RECORDS_OF_A_REASON + 6];
    expect([oldest - 1, oldest, newest].map((number) => isKept(`flood-${number}`))).toEqual([false, true, true]);
  });

  it('are 5 for each registered client, the latest first, also when a flood has evicted them elsewhere', () => {
    const records = new RefusalRecords(new FixedClock());
    const add = (number: number) => records.add({ ...LINE, request_id: `own-${number}`, client_id: 'good-client' });
    for (let number = 1; number <= 4; number += 1) add(number);
    const own = () => records.find({ clientId: 'good-client' }).map(({ request_id: id }) => id);
    expect(own()).toEqual(['own-4', 'own-3', 'own-2', 'own-1']);
    for (let number = 5; number <= 13; number += 1) add(number);
    for (let number = 0; number < 300; number += 1) records.add({ ...LINE, request_id: `flood-${number}` });
    expect(own()).toEqual(['own-13', 'own-12', 'own-11', 'own-10', 'own-9']);
    expect(records.find({ requestId: 'own-9' })).toHaveLength(1);
    expect(records.find({ requestId: 'own-8' })).toHaveLength(0);
  });

  it('are of 1,000 clients, of which the one that was refused least recently is evicted', () => {
    const records = new RefusalRecords(new FixedClock());
    const refuse = (clientId: string) => records.add({ ...LINE, client_id: clientId });
    refuse('first');
    refuse('second');
    refuse('first');
    for (let number = 3; number <= CLIENTS_MAX; number += 1) refuse(`client-${number}`);
    refuse('one too many');
    expect(records.clients).toBe(CLIENTS_MAX);
    expect(records.find({ clientId: 'second' })).toEqual([]);
    expect(records.find({ clientId: 'first' })).toHaveLength(2);
    const latest = records.find({ latestClients: 2 });
    expect(latest.map(({ client_id: id }) => id)).toEqual(['one too many', `client-${CLIENTS_MAX}`]);
    expect(records.find({ reason: 'secret_wrong' })).toHaveLength(RECORDS_OF_A_REASON);
    expect(records.find({ reason: 'another' })).toEqual([]);
  });
});

describe('now in words', () => {
  const READY = [{ name: 'client repository', ready: true }] as const;

  const record = (reason: string, remote_address: string, client_id?: string) =>
    ({ reason, remote_address, status: 401, route: '/oauth2/token', ...(client_id && { client_id }) }) as RefusalRecord;
  const stranger = (remote_address: string) => ({ ...record('token_missing', remote_address), route: 'none' });

  it.each([
    ['nothing was asked', {}, [], 'Ready. There was no request in the last minute.'],
    ['nothing is refused', { requests: 40, tokens: 30 }, [], 'Ready. No request of the last minute was refused (40).'],
    [
      'one caller guesses, and others are served',
      { requests: 1_000, tokens: 260, refusals: { attempts_exhausted: 700, secret_wrong: 40 } },
      [
        ...[undefined, 'billing', 'billing'].map((id) => record('attempts_exhausted', '203.0.113.7', id)),
        record('secret_wrong', '192.0.2.1', 'another'),
      ],
      'Ready. 740 of 1,000 requests were refused in the last minute (74 %), mostly attempts_exhausted for billing, from 203.0.113.7; 260 tokens were issued.',
    ],
    [
      'many callers are refused, and nobody is served',
      { requests: 10, tokens: 0, refusals: { client_unknown: 10 } },
      ['203.0.113.7', '203.0.113.8', '203.0.113.8'].map((address) => record('client_unknown', address)),
      'Ready. 10 of 10 requests were refused in the last minute (100 %), mostly client_unknown, from 203.0.113.8 and 1 more; no token was issued.',
    ],
    [
      'one of very many is refused',
      { requests: 100_000, tokens: 99_999, refusals: { secret_wrong: 1 } },
      [],
      'Ready. 1 of 100,000 requests were refused in the last minute (under 1 %), mostly secret_wrong; 99,999 tokens were issued.',
    ],
    [
      'a caller is refused, although more strangers are, at unknown paths and for the same reason',
      { requests: 43, tokens: 1, refusals: { token_missing: 42 }, unknown_paths: { token_missing: 41 } },
      [...Array.from({ length: 9 }, () => stranger('203.0.113.9')), record('token_missing', '192.0.2.1')],
      'Ready. 1 of 2 requests were refused in the last minute (50 %), mostly token_missing, from 192.0.2.1; 1 token was issued. At unknown paths, 41 requests were refused.',
    ],
    [
      'only a stranger came',
      { requests: 1, refusals: { token_missing: 1 }, unknown_paths: { token_missing: 1 } },
      [stranger('203.0.113.9')],
      'Ready. There was no request in the last minute. At unknown paths, 1 request was refused.',
    ],
  ])('says in one sentence that %s', (_what, counted, records, sentence) => {
    const lastMinute = { requests: 0, tokens: 0, refusals: {}, unknown_paths: {}, ...counted };
    const recordsOf = (reason: string) => records.filter((kept) => kept.reason === reason);
    expect(nowInWords({ checks: READY, lastMinute, recordsOf })).toBe(sentence);
  });

  it('says what is broken and its fix, whatever is refused', () => {
    const checks = [
      ...READY,
      { name: 'signing key', ready: false, reason: 'the clock is off', fix: 'correct the clock' },
      { name: 'log', ready: true, note: 'lines are lost', fix: 'free the disk' },
      { name: 'service', ready: false, reason: 'stopping' },
    ] as const;
    const lastMinute = { requests: 9, tokens: 0, refusals: { dependency_unavailable: 9 }, unknown_paths: {} };
    expect(nowInWords({ checks, lastMinute, recordsOf: () => [] })).toBe(
      'Not ready. signing key: the clock is off. Fix: correct the clock. service: stopping.',
    );
  });
});
