import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { MEANINGS } from '../../application/refusal-meanings.ts';
import { PARTS } from '../../config/container.ts';
import { heldVerification, settled, slotRequest, verifyInSlot } from '../contracts/verification-slots.ts';
import { documentedMetrics, METRICS_OF_CONNECTIONS, METRICS_OF_POSTGRES } from '../support/documented-metrics.ts';
import { freePort } from '../support/free-port.ts';
import { getAccessToken, type HttpResponse, requestToken, send, sendRaw } from '../support/http.ts';
import { readSamples, type Sample, total } from '../support/read-samples.ts';
import {
  GOOD_CLIENT,
  GOOD_SECRET,
  ISSUER,
  type ServiceUnderTest,
  startServiceUnderTest,
} from '../support/running-service.ts';
import { SEALED_KEYS } from '../support/sealed-keys.ts';
import { createSqliteFile } from '../support/sqlite-file.ts';
import { asOperator, OPERATOR_TOKEN, readStatusPage, startServiceForOperator } from '../support/status.ts';
import { until } from '../support/until.ts';

/** Everything that has metrics of its own without a database. */
const EVERYTHING = {
  CLIENT_AUTHENTICATION_METHODS: 'client_secret_post,private_key_jwt',
  TOKEN_REVOCATION: 'true',
  MANAGEMENT_ALLOWED_HOSTS: 'metrics.internal, auth',
};

let service: ServiceUnderTest;
let url: string;
beforeAll(async () => {
  ({ service, url } = await startServiceForOperator(EVERYTHING));
});
afterAll(() => service.stop());

describe('the status of the service', () => {
  const FORM = { grant_type: 'client_credentials', client_id: GOOD_CLIENT.client_id, client_secret: GOOD_SECRET };
  const WRONG = { ...FORM, client_secret: 'wrong-secret' };

  it('says what the service is, and that it is ready', async () => {
    const page = await readStatusPage(url);
    expect(page).toMatch(
      new RegExp(`Authorization server ${ISSUER} · version \\d+\\.\\d+\\.\\d+\\S* · replica \\S+:\\d+ · `),
    );
    expect(page).toContain(' Ready ');
    const checks = (await send(url, '/readyz')).json()['checks'] as readonly { readonly name: string }[];
    for (const { name } of checks) expect(page).toContain(` ${name} ready`);
  });

  it('says what a restart will cost with keys in memory beside a database, and what changes that', async () => {
    await using file = await createSqliteFile();
    const sqlite = { CLIENT_REPOSITORY: 'sqlite', DATABASE_FILE: file.path };
    const own = await startServiceForOperator(sqlite);
    await using _own = own.service;
    const fix = 'set KEY_DIRECTORY=database and KEY_SECRET_FILE';
    expect(await readStatusPage(own.url)).toMatch(
      new RegExp(`KEY_DIRECTORY ready, with a note .*a second replica refuses the tokens of the first\\. Fix: ${fix}`),
    );
    expect(own.service.logLines()).toContainEqual(
      expect.objectContaining({ event: 'setting_doubtful', hint: expect.stringContaining(fix) }),
    );
    const sealed = await startServiceForOperator({ ...sqlite, ...SEALED_KEYS });
    await using _sealed = sealed.service;
    expect(await readStatusPage(sealed.url)).not.toContain('KEY_DIRECTORY');
    expect(sealed.service.logText()).not.toContain('KEY_DIRECTORY: is memory');
  });

  it('has the last minute in words', async () => {
    const own = await startServiceForOperator();
    await using _own = own.service;
    for (let count = 0; count < 3; count += 1) await requestToken(own.service.url, FORM);
    await requestToken(own.service.url, WRONG);
    await requestToken(own.service.url, { ...FORM, scope: 'admin' });
    await send(own.service.url, '/nowhere');
    const numbers = /Tokens: (\d+) , at most (\d+) in a minute Refusals: (\d+) , at most (\d+) in a minute/;
    const [, ...figures] = (numbers.exec(await readStatusPage(own.url)) ?? []).map(Number);
    // A minute may have ended meanwhile.
    expect(figures.every((figure, index) => figure <= (index < 2 ? 3 : 2))).toBe(true);
    expect(await readStatusPage(own.url)).toMatch(/99 % of the tokens: ([\d.]+ ms|–) , at most [\d.]+ ms in a minute/);
  });

  it('has the signing key with its time, and the next one', async () => {
    const day = 86_400_000;
    const [from, until] = [0, day].map((shift) => new Date(Date.now() + shift).toISOString().slice(0, 10));
    expect(await readStatusPage(url)).toMatch(new RegExp(` RS256 signing ${from} \\S+ ${until} `));
  });

  it('answers why a request was refused', async () => {
    const refused = await requestToken(service.url, WRONG);
    const requestId = String(refused.headers['x-request-id']);
    const page = await readStatusPage(url, `?request=%20${requestId.toUpperCase()}%20`);
    expect(page).toContain(MEANINGS.secret_wrong.replaceAll('`', '').replaceAll(/\s+/g, ' ').slice(0, 60));
    // Nobody can rotate a secret of a file.
    expect(page).toContain('Here, registrations are in CLIENTS_FILE : change it');
    for (const fact of [
      'secret_wrong',
      `Client ${GOOD_CLIENT.client_id}`,
      'Address 127.0.0.1',
      'Request POST /oauth2/token',
      'Response 401 invalid_client',
      `Request id ${requestId}`,
    ]) {
      expect(page).toContain(fact);
    }
  });

  it.each([
    [
      'a request that was not refused',
      async () => `?request=${(await requestToken(service.url, FORM)).headers['x-request-id']}`,
    ],
    ['an id that no request had', async () => '?request=00000000-0000-4000-8000-000000000000'],
    ['an id that is none', async () => '?request=%00'],
    ['a client that is not registered', async () => '?client=nobody'],
  ])('keeps no refusal of %s', async (_what, query) => {
    expect(await readStatusPage(url, await query())).toContain('No such refusal is kept here.');
  });

  it('has the last refusals of registered clients, and of one, and leads from there to each request', async () => {
    const [first, last] = [
      await requestToken(service.url, { ...FORM, scope: 'admin' }),
      await requestToken(service.url, WRONG),
    ];
    const { text } = await asOperator(url, '/status');
    expect(text).toContain(`<a href="?client=${GOOD_CLIENT.client_id}">${GOOD_CLIENT.client_id}</a>`);
    expect(text).toContain(`<a href="?request=${last.headers['x-request-id']}">secret_wrong</a>`);
    const ofClient = await readStatusPage(url, `?client=${GOOD_CLIENT.client_id}`);
    const at = [last, first].map(({ headers }) => ofClient.indexOf(`Request id ${headers['x-request-id']}`));
    expect(at[0]).toBeGreaterThan(0);
    expect(at[1]).toBeGreaterThan(at[0] ?? Infinity);
  });

  it('never has an id that is not registered, which may be a secret, nor a secret, a token or a path', async () => {
    const secret = 'a-secret-in-the-wrong-field';
    const answers = [
      await requestToken(service.url, { ...FORM, client_id: secret, client_secret: 'x' }),
      await requestToken(service.url, WRONG),
      await send(service.url, `/private-path/${secret}`, { headers: { Authorization: `Bearer ${secret}` } }),
    ];
    const texts = await Promise.all(
      answers.map(({ headers }) => asOperator(url, `/status?request=${headers['x-request-id']}`)),
    );
    texts.push(await asOperator(url, '/status'));
    expect(texts[0]?.text).toContain('client_unknown');
    expect(texts.map(({ text }) => text).join()).not.toMatch(/a-secret-in|wrong-secret|private-path|eyJ/);
  });
});

describe('the metrics of the management port', () => {
  const REQUESTS = 'auth_requests_total';
  const FORM = { grant_type: 'client_credentials', client_id: GOOD_CLIENT.client_id, client_secret: GOOD_SECRET };

  const scrape = (): Promise<HttpResponse> => send(url, '/metrics');
  const samples = async (): Promise<readonly Sample[]> => readSamples((await scrape()).text);

  /** By how much the action increases the count of requests with these labels. */
  async function growth(labels: Readonly<Record<string, string>>, act: () => Promise<unknown>): Promise<number> {
    const before = total(await samples(), REQUESTS, labels);
    await act();
    return total(await samples(), REQUESTS, labels) - before;
  }

  it('are text in the Prometheus format, which no cache may store', async () => {
    const response = await scrape();
    expect(response.status).toBe(200);
    expect(response.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(response.headers['cache-control']).toBe('no-store');
    expect(readSamples(response.text).length).toBeGreaterThan(10);
  });

  it('have only our own names, each with a help text', async () => {
    const { text } = await scrape();
    for (const { name } of readSamples(text)) {
      expect(name).toMatch(/^auth_/);
      expect(text).toMatch(new RegExp(`^# HELP ${name.replace(/_(bucket|sum|count)$/, '')} [A-Z1]`, 'm'));
    }
  });

  it('count a token, a wrong secret and an unknown path', async () => {
    const token = await getAccessToken(service.url, GOOD_CLIENT.client_id, GOOD_SECRET);
    const at = { route: '/oauth2/token', method: 'POST' };
    expect(await growth({ ...at, status: '200', reason: 'none' }, () => requestToken(service.url, FORM))).toBe(1);
    const wrong = () => requestToken(service.url, { ...FORM, client_secret: 'wrong-secret' });
    expect(await growth({ ...at, status: '401', reason: 'secret_wrong' }, wrong)).toBe(1);
    const nowhere = () => send(service.url, '/nowhere', { headers: { Authorization: `Bearer ${token}` } });
    const none = { route: 'none', method: 'GET', status: '404', reason: 'route_unknown' };
    expect(await growth(none, nowhere)).toBe(1);
  });

  it('count the duration of each request', async () => {
    const labels = { route: '/oauth2/token', status_class: '2xx' };
    const count = async () => total(await samples(), 'auth_request_duration_seconds_count', labels);
    const before = await count();
    await requestToken(service.url, FORM);
    expect(await count()).toBe(before + 1);
    expect(total(await samples(), 'auth_request_duration_seconds_sum', labels)).toBeLessThan(60);
  });

  it('count no request to the management port', async () => {
    expect(await growth({}, scrape)).toBe(0);
  });

  it('do not get more series with every unusual request', async () => {
    const odd = async (number: number) => {
      const method = ['PROPFIND', 'MKCOL', 'PURGE', 'LINK', 'SEARCH'][number % 5] ?? '';
      await send(service.url, `/nowhere-${number}/%00/"}`, { method });
      await send(service.url, `/v1/locations/ODD_${number}`);
      await requestToken(service.url, { ...FORM, client_id: `odd-client-${number}` });
      await sendRaw(service.port, `METHOD${number} / HTTP/1.1\r\n\r\n`);
    };
    await odd(0);
    const before = (await samples()).length;
    for (let number = 1; number < 20; number += 1) await odd(number);
    expect((await samples()).length).toBe(before);
    const methods = new Set((await samples()).flatMap(({ labels }) => labels['method'] ?? []));
    expect([...methods].toSorted()).toEqual(['GET', 'POST', 'other', 'unparsed']);
  });

  it('contain no secret, no token, no client id and nothing that a caller sent', async () => {
    const token = await getAccessToken(service.url, GOOD_CLIENT.client_id, GOOD_SECRET);
    await send(service.url, `/private-path?client_secret=${GOOD_SECRET}`, {
      headers: { Authorization: `Bearer ${token}` },
    });
    const { text } = await scrape();
    expect(text).not.toMatch(/-secret|eyJ|client_id|good-client|odd|private-path|nowhere|127\.0\.0\.1/);
  });

  it('show how many verifications run and how many wait', async () => {
    const queue = service.container.resolve(PARTS.verificationQueue);
    const verifications = async (): Promise<readonly number[]> => {
      const now = await samples();
      return [
        total(now, 'auth_secret_verifications_running'),
        total(now, 'auth_secret_verifications_waiting', { queue: 'fifo' }),
        total(now, 'auth_secret_verifications_waiting', { queue: 'overflow' }),
      ];
    };
    expect(await verifications()).toEqual([0, 0, 0]);
    const held = heldVerification();
    const running: Promise<unknown>[] = [];
    while (queue.load.fifo === 0) {
      running.push(verifyInSlot(queue, slotRequest(), held.verify));
      await settled();
    }
    expect(await verifications()).toEqual([running.length - 1, 1, 0]);
    held.end('mismatch');
    await Promise.all(running);
    expect(await verifications()).toEqual([0, 0, 0]);
  });

  it('show the connections to the public port, and which of their refusals wait', async () => {
    const http = async (name: string) => total(await samples(), `auth_http_${name}`);
    const connections = await http('connections');
    const socket = connect(service.port, '127.0.0.1');
    socket.on('error', () => {});
    // Refusals on one connection: 20 are sent at once, the next one waits until the second is over.
    const refused = 'GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n';
    socket.on('data', () => socket.write(refused));
    socket.write(refused);
    await until(async () => (await http('connections')) === connections + 1, 'the connection is counted');
    await until(async () => (await http('rejections_delayed')) === 1, 'a refusal is delayed');
    expect(await http('requests_in_progress')).toBe(0);
    socket.destroy();
    await until(async () => (await http('connections')) === connections, 'the connection is closed');
    expect(total(await samples(), 'auth_http_connections_dropped_total')).toBe(0);
  });

  it('are all in the table of docs/metrics.md, and no others', async () => {
    const exposed = (await scrape()).text.matchAll(/^# HELP (\S+)/gm);
    // This service trusts no other issuer.
    const elsewhere = new Set([...METRICS_OF_POSTGRES, ...METRICS_OF_CONNECTIONS, 'auth_issuer_key_sets']);
    const here = documentedMetrics().filter((name) => !elsewhere.has(name));
    expect([...exposed].map(([, name]) => name).toSorted()).toEqual(here.toSorted());
  });

  it('show the bound of each thing that is bounded', async () => {
    const now = await samples();
    const bounds = now.filter(({ name }) => name.endsWith('_max'));
    expect(bounds.length).toBeGreaterThan(15);
    for (const { name, labels, value } of bounds) {
      expect(value).toBeGreaterThan(0);
      if (name === 'auth_clock_offset_seconds_max') continue;
      const bounded = now.filter((sample) => sample.name === name.slice(0, -'_max'.length));
      const same = bounded.filter((sample) =>
        Object.entries(labels).every(([key, text]) => sample.labels[key] === text),
      );
      expect(same).toHaveLength(1);
      expect(same[0]?.value).toBeLessThanOrEqual(value);
    }
  });

  it('show each check of /readyz', async () => {
    const { checks } = JSON.parse((await send(url, '/readyz')).text);
    const checked = (await samples()).flatMap(({ name, labels, value }) =>
      name === 'auth_check_severity' ? [{ name: labels['check'], ready: value === 0 }] : [],
    );
    expect(checked).toEqual(checks);
  });

  it('show how old the key is, how long it may sign, and when the next one is due', async () => {
    const now = await samples();
    expect(total(now, 'auth_trusted_keys')).toBeGreaterThanOrEqual(1);
    expect(total(now, 'auth_signing_key_age_seconds')).toBeLessThan(600);
    expect(total(now, 'auth_signing_keys_end_seconds')).toBeGreaterThan(3_500);
    const age = total(now, 'auth_signing_key_age_seconds');
    expect(total(now, 'auth_signing_key_rotation_seconds')).toBe(86_400 - age);
    expect(total(now, 'auth_key_directory_age_seconds')).toBeLessThan(60);
  });

  it('count the hits of the cache of verified secrets among all look-ups', async () => {
    const counts = async () => {
      const now = await samples();
      return [total(now, 'auth_verified_secret_lookups_total'), total(now, 'auth_verified_secret_hits_total')];
    };
    await requestToken(service.url, FORM);
    const [lookUps = 0, hits = 0] = await counts();
    for (let time = 0; time < 3; time += 1) await requestToken(service.url, FORM);
    await requestToken(service.url, { ...FORM, client_secret: 'wrong-secret' });
    await requestToken(service.url, { ...FORM, client_id: 'unknown-client' });
    expect(await counts()).toEqual([lookUps + 5, hits + 3]);
  });

  it('are not on the public port', async () => {
    expect((await send(service.url, '/metrics')).status).toBe(401);
  });
});

describe('the management port, called by a name', () => {
  const REBOUND = { Host: `attacker.test:8081`, Authorization: `Bearer ${OPERATOR_TOKEN}` };
  const PATHS = ['/metrics', '/status', '/status?request=1', '/openapi.json', '/unknown'];

  it.each(PATHS)('refuses %s by the name of a stranger, with 421 and the setting to change', async (path) => {
    const response = await send(url, path, { headers: REBOUND });
    expect([response.status, response.headers['www-authenticate']]).toEqual([421, undefined]);
    expect(response.json()).toEqual({
      error: 'misdirected_request',
      error_description: expect.stringContaining('MANAGEMENT_ALLOWED_HOSTS'),
    });
  });

  it.each(['localhost:8081', '127.0.0.1', '[::1]:8081', 'METRICS.internal:9090', 'auth'])(
    'answers /metrics and the status as %s',
    async (Host) => {
      for (const path of ['/metrics', '/status', '/openapi.json'])
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
    expect(await sendRaw(Number(new URL(url).port), request)).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  });

  it('does not change the public port, which any name may have', async () => {
    expect((await send(service.url, '/', { headers: { Host: 'attacker.test' } })).status).toBe(401);
  });
});

describe('the management port', () => {
  it('reports that the process is alive', async () => {
    const response = await send(url, '/livez');
    expect(response.status).toBe(200);
    expect(response.json()).toEqual({ status: 'alive' });
    expect(response.headers['cache-control']).toBe('no-store');
  });

  it('reports that the service is ready, with each check', async () => {
    expect(total(readSamples((await send(url, '/metrics')).text), 'auth_ready')).toBe(1);
    const response = await send(url, '/readyz');
    expect(response.status).toBe(200);
    expect(response.json()).toEqual({
      status: 'ready',
      checks: [
        { name: 'service', ready: true },
        { name: 'log', ready: true },
        { name: 'signing key', ready: true },
      ],
    });
  });

  it('reports that tokens can be verified, with what that needs', async () => {
    const response = await send(url, '/readyz/verification');
    expect(response.status).toBe(200);
    expect(response.json()).toEqual({
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
    const response = await send(url, '/readyz', { method: 'POST' });
    expect(response.status).toBe(405);
    expect(response.headers['allow']).toBe('GET, HEAD');
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
    // The last test of this service.
    service.container.resolve(PARTS.lifecycle).state = 'stopping';
    const response = await send(url, '/readyz');
    expect(response.status).toBe(503);
    expect(response.json()).toEqual({
      status: 'not_ready',
      checks: [
        { name: 'service', ready: false, reason: 'stopping', fix: expect.stringMatching(/^wait/) },
        { name: 'log', ready: true },
        { name: 'signing key', ready: true },
      ],
    });
    expect(total(readSamples((await send(url, '/metrics')).text), 'auth_ready')).toBe(0);
    expect((await send(url, '/readyz/verification')).status).toBe(503);
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
    const response = await send(url, '/readyz');
    expect(response.status).toBe(503);
    expect(response.json()).toMatchObject({
      status: 'not_ready',
      checks: expect.arrayContaining([
        {
          name: 'client repository',
          ready: false,
          reason: 'database unavailable: nothing listens there (ECONNREFUSED)',
          fix: expect.stringMatching(/^start PostgreSQL/),
        },
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
        ...SEALED_KEYS,
        DATABASE_URL: `postgresql://service:its-password@127.0.0.1:${await freePort()}/auth`,
        MANAGEMENT_PORT: String(managementPort),
      },
    });
    const response = await send(`http://127.0.0.1:${managementPort}`, '/readyz/verification');
    expect(response.status).toBe(503);
    expect(response.json()).toEqual({
      status: 'not_ready',
      checks: [
        { name: 'service', ready: true },
        { name: 'verification keys', ready: false, reason: 'no key of the ring is known', fix: expect.any(String) },
      ],
    });
  });
});
