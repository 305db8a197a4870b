import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { STATUS_PARTS } from '../../config/capabilities/status-page.ts';
import { PARTS } from '../../config/parts.ts';
import { blockEventLoop } from '../support/block-event-loop.ts';
import { requestToken, send } from '../support/http.ts';
import { readSamples, total } from '../support/read-samples.ts';
import { GOOD_CLIENT, GOOD_SECRET, ISSUER, type ServiceUnderTest } from '../support/running-service.ts';
import { asOperator, readRefusal, readStatus, startServiceForOperator } from '../support/status.ts';

const FORM = { grant_type: 'client_credentials', client_id: GOOD_CLIENT.client_id, client_secret: GOOD_SECRET };
const WRONG = { ...FORM, client_secret: 'wrong-secret' };

describe('the status of the service', () => {
  let service: ServiceUnderTest;
  let url: string;
  beforeAll(async () => {
    ({ service, url } = await startServiceForOperator());
  });
  afterAll(async () => service.stop());

  it('says what the service is, and that it is ready', async () => {
    const status = await readStatus(url);
    expect(status.service).toEqual({
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      started_at: expect.any(Number),
      base_url: ISSUER,
      issuer: ISSUER,
      replica: status.replicas[0]?.name,
      ready: true,
    });
    expect(Math.abs(status.at - Date.now() / 1_000)).toBeLessThan(60);
    expect(status.checks).toEqual((await send(url, '/readyz')).json()['checks']);
    expect(status.database).toBeNull();
  });

  it('has the figures of /metrics', async () => {
    for (let count = 0; count < 3; count += 1) await requestToken(service.url, FORM);
    await requestToken(service.url, WRONG);
    await requestToken(service.url, { ...FORM, scope: 'admin' });
    await send(service.url, '/nowhere');
    const samples = readSamples((await send(url, '/metrics')).text);
    const { totals, queue, process } = await readStatus(url);
    const requests = (labels = {}) => total(samples, 'auth_requests_total', labels);
    expect(totals).toMatchObject({
      tokens: requests({ route: '/oauth2/token', status: '200' }),
      requests: requests(),
      cache_hits: total(samples, 'auth_verified_secret_hits_total'),
      cache_misses:
        total(samples, 'auth_verified_secret_lookups_total') - total(samples, 'auth_verified_secret_hits_total'),
      connections_dropped: total(samples, 'auth_http_connections_dropped_total'),
      log_lines_lost: total(samples, 'auth_log_lines_lost_total'),
    });
    const reasons = new Set(samples.flatMap(({ labels }) => labels['reason'] ?? []));
    reasons.delete('none');
    expect(totals.refusals).toEqual(Object.fromEntries([...reasons].map((reason) => [reason, requests({ reason })])));
    expect(Object.keys(totals.refusals).toSorted()).toEqual(['scope_not_registered', 'secret_wrong', 'token_missing']);
    for (const name of ['running', 'unanswered'] as const) {
      expect(queue[name]).toBe(total(samples, `auth_secret_verifications_${name}`));
    }
    for (const name of ['fifo', 'overflow', 'paced'] as const) {
      expect(queue[name]).toBe(total(samples, 'auth_secret_verifications_waiting', { queue: name }));
    }
    const bound = (name: string, labels = {}) => total(samples, `auth_secret_verifications_${name}_max`, labels);
    expect(queue.bounds).toEqual({
      running: bound('running'),
      fifo: expect.any(Number),
      overflow: bound('waiting', { queue: 'overflow' }),
      paced: bound('waiting', { queue: 'paced' }),
      unanswered: bound('unanswered'),
      shares: total(samples, 'auth_secret_verification_shares_max'),
    });
    expect(queue.bounds.overflow).toBe(512);
    expect(process).toEqual({
      cpu: expect.any(Number),
      memory_bytes: expect.any(Number),
      event_loop_p99: expect.any(Number),
      connections: expect.any(Number),
    });
  });

  it('has the latency of tokens and refusals in the last minute, as the histogram tells it', async () => {
    await requestToken(service.url, FORM);
    await requestToken(service.url, WRONG);
    const { latency } = await readStatus(url);
    for (const { p50, p95, p99 } of [latency.token_issued, latency.token_refused]) {
      expect(p50).toBeGreaterThan(0);
      expect(p95).toBeGreaterThanOrEqual(p50 ?? Infinity);
      expect(p99).toBeGreaterThanOrEqual(p95 ?? Infinity);
      expect(p99).toBeLessThanOrEqual(5);
    }
  });

  it('says in one sentence what happens, and counts the last minute by itself', async () => {
    for (let count = 0; count < 3; count += 1) await requestToken(service.url, WRONG);
    await service.container.resolve(STATUS_PARTS.serviceStatus).sample();
    const { summary, last_minute: recent, totals } = await readStatus(url);
    expect(summary).toMatch(
      /^Ready\. \d+ % of the requests are refused, mostly secret_wrong for good-client, from 127\.0\.0\.1; /,
    );
    expect(recent.refusals['secret_wrong']).toBeGreaterThanOrEqual(3);
    expect(recent.requests).toBeLessThanOrEqual(totals.requests);
  });

  it('has a history, of which a reader can get only what is new', async () => {
    const status = service.container.resolve(STATUS_PARTS.serviceStatus);
    const before = (await readStatus(url)).history;
    await requestToken(service.url, FORM);
    await status.sample();
    const { history, totals } = await readStatus(url);
    // The service takes samples by itself too.
    const added = history.slice(before.length);
    expect(added).toContainEqual(
      expect.objectContaining({ tokens: totals.tokens, waiting: 0, p50: expect.any(Number) }),
    );
    await status.sample();
    expect((await readStatus(url)).history.at(-1)).toMatchObject({ tokens: totals.tokens, p50: null, p99: null });
    const first = history[0];
    expect((await readStatus(url, `?since=${(first?.at ?? 0) - 1}`)).history[0]).toEqual(first);
    expect((await readStatus(url, `?since=${(first?.at ?? 0) + 3_600}`)).history).toEqual([]);
    expect((await readStatus(url, '?since=yesterday')).history[0]).toEqual(first);
  });

  it('has the signing key with its time, and the next one', async () => {
    const { keys, replicas } = await readStatus(url);
    const now = Date.now() / 1_000;
    expect(keys.map(({ state }) => state)).toContain('signing');
    const signing = keys.find(({ state }) => state === 'signing');
    expect(Math.abs((signing?.from ?? 0) - now)).toBeLessThan(60);
    expect(signing?.until).toBe((signing?.from ?? 0) + 86_400);
    expect(replicas).toEqual([{ name: expect.stringMatching(/:\d+$/), clock_offset_seconds: null, seen_at: null }]);
  });

  it('answers why a request was refused', async () => {
    const refused = await requestToken(service.url, WRONG);
    const record = await readRefusal(url, String(refused.headers['x-request-id']));
    expect(record).toEqual({
      request_id: refused.headers['x-request-id'],
      at: expect.any(Number),
      status: 401,
      error: 'invalid_client',
      reason: 'secret_wrong',
      route: '/oauth2/token',
      method: 'POST',
      remote_address: '127.0.0.1',
      client_id: GOOD_CLIENT.client_id,
      duration_seconds: expect.any(Number),
    });
  });

  it.each([
    [
      'a request that was not refused',
      async () => String((await requestToken(service.url, FORM)).headers['x-request-id']),
    ],
    ['an id that no request had', async () => '00000000-0000-4000-8000-000000000000'],
    ['no id', async () => '%00'],
  ])('answers 404 for %s', async (_what, requestId) => {
    const answer = await asOperator(url, `/status/refusals/${await requestId()}`);
    expect(answer.status).toBe(404);
    expect(answer.json()).toEqual({ error: 'not_found' });
  });

  it('has the last refusals of registered clients, and of one', async () => {
    const refused = await requestToken(service.url, WRONG);
    const { refusals } = await readStatus(url);
    expect(refusals.map(({ client_id: id }) => id)).toEqual([GOOD_CLIENT.client_id]);
    expect(refusals[0]).toMatchObject({ reason: 'secret_wrong', request_id: refused.headers['x-request-id'] });
    const ofClient = (await readStatus(url, `?client=${GOOD_CLIENT.client_id}`)).refusals;
    expect(ofClient.length).toBeGreaterThan(1);
    expect(ofClient[0]).toEqual(refusals[0]);
    expect((await readStatus(url, '?client=nobody')).refusals).toEqual([]);
  });

  it('has the last refusals for one reason, of callers that are not registered too', async () => {
    const refused = await requestToken(service.url, { ...FORM, client_id: 'an-id-that-nobody-has' });
    const { refusals } = await readStatus(url, '?reason=client_unknown');
    expect(refusals[0]).toMatchObject({ request_id: refused.headers['x-request-id'], remote_address: '127.0.0.1' });
    expect(new Set(refusals.map(({ reason }) => reason))).toEqual(new Set(['client_unknown']));
    expect(JSON.stringify(refusals)).not.toContain('an-id-that-nobody-has');
    expect((await readStatus(url, '?reason=overloaded')).refusals).toEqual([]);
  });

  it('never has an id that is not registered, which may be a secret, nor a secret, a token or a path', async () => {
    const secret = 'a-secret-in-the-wrong-field';
    const answers = [
      await requestToken(service.url, { ...FORM, client_id: secret, client_secret: 'x' }),
      await requestToken(service.url, WRONG),
      await send(service.url, `/private-path/${secret}`, { headers: { Authorization: `Bearer ${secret}` } }),
    ];
    const texts = await Promise.all(
      answers.map(async ({ headers }) => JSON.stringify(await readRefusal(url, String(headers['x-request-id'])))),
    );
    texts.push(JSON.stringify(await readStatus(url)));
    expect(texts.join()).not.toMatch(/a-secret-in|wrong-secret|private-path|eyJ/);
  });

  it('resets nothing that a scrape resets', async () => {
    const metrics = service.container.resolve(PARTS.processMetrics);
    await metrics.exposition();
    await blockEventLoop(100);
    for (let count = 0; count < 2; count += 1) await readStatus(url);
    const samples = readSamples((await send(url, '/metrics')).text);
    expect(total(samples, 'auth_event_loop_delay_seconds', { quantile: '1' })).toBeGreaterThan(0.05);
  });
});
