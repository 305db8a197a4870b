import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { nowInWords } from '../../../adapters/http/status-page/now-in-words.ts';
import {
  CLIENTS_MAX,
  RECORDS_OF_A_REASON,
  RefusalRecords,
} from '../../../adapters/http/status-page/refusal-records.ts';
import { EVENTS_MAX, StatusEvents } from '../../../adapters/http/status-page/status-events.ts';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';
import type { CheckState } from '../../../application/ports/health-check.ts';
import type { RefusalRecord, RequestLine } from '../../../application/ports/telemetry.ts';
import { STATUS_PARTS } from '../../../config/features/status-page.ts';
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
});

describe('the files of the status page', () => {
  const BROWSER_FOLDER = new URL('../../../adapters/http/status-page/browser/', import.meta.url);
  const SCRIPT_BYTES_MAX = 20 * 1024;

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
    const answer = await asOperator(url, path);
    seen.set(path, answer);
    for (const next of pathsIn(answer.text)) await loaded(next, seen);
    return seen;
  }

  it('have at most 20 KiB of script of our own', () => {
    const scripts = readdirSync(BROWSER_FOLDER).filter((name) => name.endsWith('.js'));
    const bytes = scripts.map((name) => readFileSync(new URL(name, BROWSER_FOLDER)).length);
    expect(scripts).toContain('app.js');
    expect(bytes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(SCRIPT_BYTES_MAX);
  });

  it('are all served, and each one is used', async () => {
    const answers = await loaded();
    const served = [...answers].map(([path, { status }]) => [path, status]);
    const own = readdirSync(BROWSER_FOLDER).filter((name) => /\.(js|css)$/.test(name));
    const names = ['', ...own, 'uplot.js', 'uplot.css'].map((name) => (name ? `/status/${name}` : '/status'));
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
    expect(text.match(/<script[^>]*>/g)).toEqual([
      '<script defer src="status/uplot.js">',
      '<script type="module" src="status/app.js">',
    ]);
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

describe('the events of the status', () => {
  const READY: CheckState = { name: 'client repository', ready: true };
  const LOST: CheckState = { name: 'client repository', ready: false, reason: 'database unavailable (ECONNREFUSED)' };

  /** A service that is observed every second. */
  function world() {
    const events = new StatusEvents();
    let at = 100;
    return {
      events,
      see(more: Partial<Parameters<StatusEvents['observe']>[1]> = {}) {
        at += 1;
        events.observe(at, { checks: [READY], keys: [{ kid: 'a', state: 'signing' }], ...more });
        return events.latestFirst.map(({ subject, text }) => `${subject}: ${text}`);
      },
    };
  }

  it('say that the database was lost and is back, once each, with the time', () => {
    const { events, see } = world();
    expect(see()).toEqual([]);
    for (let count = 0; count < 3; count += 1) see({ checks: [LOST] });
    see();
    expect(events.latestFirst).toEqual([
      { at: 105, subject: 'client repository', text: 'ready' },
      { at: 102, subject: 'client repository', text: 'not ready: database unavailable (ECONNREFUSED)' },
    ]);
  });

  it('say that a clock is off, once, although its figure changes all the time', () => {
    const { see } = world();
    see();
    const off = (offset: string): CheckState => ({ name: 'signing key', ready: true, note: `${offset} s ahead` });
    see({ checks: [READY, off('2.1')] });
    expect(see({ checks: [READY, off('2.2')] })).toEqual(['signing key: 2.1 s ahead']);
  });

  it('say that another key signs', () => {
    const { see } = world();
    see();
    const keys = [{ kid: 'a', state: 'retired' } as const, { kid: 'b', state: 'signing' } as const];
    expect(see({ keys })).toEqual(['key: b signs']);
  });

  it('are at most 20: the oldest one is dropped', () => {
    const { events, see } = world();
    see();
    for (let count = 0; count < EVENTS_MAX; count += 1) see({ checks: [count % 2 === 0 ? LOST : READY] });
    const full = events.latestFirst;
    expect(full).toHaveLength(20);
    see({ keys: [] });
    expect(events.latestFirst).toHaveLength(EVENTS_MAX);
    expect(events.latestFirst.slice(1)).toEqual(full.slice(0, -1));
    expect(events.latestFirst[0]).toMatchObject({ text: 'no key signs' });
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
    ({ reason, remote_address, ...(client_id && { client_id }) }) as RefusalRecord;

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
      'Ready. 74 % of the requests are refused, mostly attempts_exhausted for billing, from 203.0.113.7; others are served (260 tokens in the last minute).',
    ],
    [
      'many callers are refused, and nobody is served',
      { requests: 10, tokens: 0, refusals: { client_unknown: 10 } },
      ['203.0.113.7', '203.0.113.8', '203.0.113.8'].map((address) => record('client_unknown', address)),
      'Ready. 100 % of the requests are refused, mostly client_unknown, from 203.0.113.8 and 1 more; nobody got a token in that minute.',
    ],
    [
      'one of very many is refused',
      { requests: 100_000, tokens: 99_999, refusals: { secret_wrong: 1 } },
      [],
      'Ready. 1 % of the requests are refused, mostly secret_wrong; others are served (99999 tokens in the last minute).',
    ],
  ])('says in one sentence that %s', (_what, counted, records, sentence) => {
    const lastMinute = { requests: 0, tokens: 0, refusals: {}, ...counted };
    expect(nowInWords({ checks: READY, lastMinute, records })).toBe(sentence);
  });

  it('says what is broken and what to do about it, whatever is refused', () => {
    const checks = [
      ...READY,
      { name: 'signing key', ready: false, reason: 'the clock is off', fix: 'correct the clock' },
      { name: 'log', ready: true, note: 'lines are lost', fix: 'free the disk' },
    ] as const;
    const lastMinute = { requests: 9, tokens: 0, refusals: { dependency_unavailable: 9 } };
    expect(nowInWords({ checks, lastMinute, records: [] })).toBe(
      'Not ready. signing key: the clock is off (correct the clock).',
    );
  });
});
