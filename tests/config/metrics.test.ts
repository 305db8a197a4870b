import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { PARTS } from '../../config/parts.ts';
import { heldVerification, settled, slotRequest, verifyInSlot } from '../contracts/verification-slots.ts';
import { documentedMetrics, METRICS_OF_CONNECTIONS, METRICS_OF_POSTGRES } from '../support/documented-metrics.ts';
import { getAccessToken, type HttpAnswer, requestToken, send, sendRaw } from '../support/http.ts';
import { readSamples, type Sample, total } from '../support/read-samples.ts';
import { GOOD_CLIENT, GOOD_SECRET, type ServiceUnderTest } from '../support/running-service.ts';
import { startServiceForOperator } from '../support/status.ts';
import { until } from '../support/until.ts';

const REQUESTS = 'auth_requests_total';
/** With the methods that have metrics of their own. */
const METHODS = 'client_secret_post,private_key_jwt';
/** Traces have metrics of their own too. No collector is needed for them. */
const TRACING = { OTEL_TRACES_EXPORTER: 'otlp', OTEL_TRACES_SAMPLER: 'always_off' };
const FORM = { grant_type: 'client_credentials', client_id: GOOD_CLIENT.client_id, client_secret: GOOD_SECRET };

describe('the metrics of the management port', () => {
  let service: ServiceUnderTest;
  let url: string;
  beforeAll(async () => {
    ({ service, url } = await startServiceForOperator({ CLIENT_AUTHENTICATION_METHODS: METHODS, ...TRACING }));
  });
  afterAll(async () => service.stop());

  const scrape = (): Promise<HttpAnswer> => send(url, '/metrics');
  const samples = async (): Promise<readonly Sample[]> => readSamples((await scrape()).text);

  /** By how much the action increases the count of requests with these labels. */
  async function growth(labels: Readonly<Record<string, string>>, act: () => Promise<unknown>): Promise<number> {
    const before = total(await samples(), REQUESTS, labels);
    await act();
    return total(await samples(), REQUESTS, labels) - before;
  }

  it('are text in the Prometheus format, which no cache may store', async () => {
    const answer = await scrape();
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(readSamples(answer.text).length).toBeGreaterThan(10);
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

  it('show the connections to the public port, and which of their requests wait', async () => {
    const http = async (name: string) => total(await samples(), `auth_http_${name}`);
    const connections = await http('connections');
    const socket = connect(service.port, '127.0.0.1');
    socket.on('error', () => {});
    // Refusals on one connection: 20 are sent at once, the next one waits until the second is over, the others behind it.
    socket.write('GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(12));
    await until(async () => (await http('connections')) === connections + 1, 'the connection is counted');
    await until(async () => {
      socket.write('GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(4));
      return (await http('rejections_delayed')) === 1 && (await http('pipelined_requests_waiting')) > 0;
    }, 'one refusal is delayed, and further requests wait');
    expect(await http('requests_in_progress')).toBe(0);
    socket.destroy();
    await until(async () => (await http('connections')) === connections, 'the connection is closed');
    expect(await http('pipelined_requests_waiting_bytes')).toBe(0);
    expect(total(await samples(), 'auth_http_connections_dropped_total')).toBe(0);
  });

  it('are all in the table of docs/monitoring.md, and no others', async () => {
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
    expect(total(now, 'auth_signing_key_lease_seconds')).toBeGreaterThan(3_500);
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

  it('show the same readiness as /readyz', async () => {
    expect(total(await samples(), 'auth_ready')).toBe(1);
    service.container.resolve(PARTS.lifecycle).state = 'stopping';
    expect(total(await samples(), 'auth_ready')).toBe(0);
    expect((await send(url, '/readyz')).status).toBe(503);
  });

  it('are not on the public port', async () => {
    expect((await send(service.url, '/metrics')).status).toBe(401);
  });
});
