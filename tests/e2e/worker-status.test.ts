import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { requestToken, send } from '../support/http.ts';
import { readSamples, total } from '../support/read-samples.ts';
import { DEMO_TOKEN_REQUEST } from '../support/replica.ts';
import { type ServiceWithWorkers, startServiceWithWorkers } from '../support/service-with-workers.ts';
import { asOperator, OPERATOR_TOKEN, readRefusal, readStatus } from '../support/status.ts';
import { until } from '../support/until.ts';

const WRONG = { ...DEMO_TOKEN_REQUEST, client_secret: 'wrong-secret' };

describe('the status of two workers', () => {
  let service: ServiceWithWorkers;
  let url: string;
  beforeAll(async () => {
    service = await startServiceWithWorkers({ MANAGEMENT_TOKEN: OPERATOR_TOKEN });
    url = service.managementUrl;
  });
  afterAll(async () => service.program[Symbol.asyncDispose]());

  /** Request ids of refusals that were answered by each of the workers, by its name. */
  async function refuseAtBoth(): Promise<ReadonlyMap<string, string>> {
    const ids = new Map<string, string>();
    await until(async () => {
      const refused = await requestToken(service.url, WRONG);
      const id = String(refused.headers['x-request-id']);
      if (refused.status === 401) ids.set((await readRefusal(url, id)).process, id);
      return ids.size === 2;
    }, 'both workers have refused a request');
    return ids;
  }

  it('finds a refused request, whichever of them answered it', async () => {
    const ids = await refuseAtBoth();
    expect([...ids.keys()].toSorted()).toEqual(['worker-1', 'worker-2']);
    for (const [process, id] of ids) {
      expect(await readRefusal(url, id)).toMatchObject({
        request_id: id,
        reason: 'secret_wrong',
        route: '/oauth2/token',
        client_id: DEMO_TOKEN_REQUEST.client_id,
        process,
      });
    }
  });

  it('has the refusals of a client at both of them', async () => {
    const ids = await refuseAtBoth();
    const { refusals } = await readStatus(url, `?client=${DEMO_TOKEN_REQUEST.client_id}`);
    const known = refusals.map(({ request_id: id }) => id);
    for (const id of ids.values()) expect(known).toContain(id);
    expect((await readStatus(url)).refusals).toHaveLength(1);
  });

  it('has the figures of /metrics, and each process', async () => {
    const { totals, workers, queue } = await readStatus(url);
    const samples = readSamples((await send(url, '/metrics')).text);
    expect(totals.requests).toBe(total(samples, 'auth_requests_total'));
    expect(totals.refusals['secret_wrong']).toBe(total(samples, 'auth_requests_total', { reason: 'secret_wrong' }));
    expect(queue.unanswered).toBe(total(samples, 'auth_secret_verifications_unanswered'));
    expect(workers.map(({ name, listening }) => [name, listening])).toEqual([
      ['primary', null],
      ['worker-1', true],
      ['worker-2', true],
    ]);
    for (const { cpu, memory_bytes: memory, event_loop_p99: late } of workers) {
      expect([cpu, memory, late]).toEqual([expect.any(Number), expect.any(Number), expect.any(Number)]);
    }
    expect(workers.map(({ connections }) => connections === null)).toEqual([true, false, false]);
  });

  it('does not wait for a worker that hangs: its last figures count, and an unknown request may be known later', async () => {
    const before = await readStatus(url);
    const pid = service.aWorkerPid();
    process.kill(pid, 'SIGSTOP');
    const unknown = '00000000-0000-4000-8000-000000000000';
    try {
      const answer = await asOperator(url, `/status/refusals/${unknown}`);
      expect(answer.status).toBe(503);
      expect(answer.headers['retry-after']).toBe('1');
      const { totals, workers } = await readStatus(url);
      expect(totals.requests).toBe(before.totals.requests);
      expect(workers.map(({ memory_bytes: memory }) => memory)).toEqual([
        expect.any(Number),
        expect.any(Number),
        expect.any(Number),
      ]);
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    await until(
      async () => (await asOperator(url, `/status/refusals/${unknown}`)).status === 404,
      'every worker answers',
    );
  });

  it('keeps its totals and loses the records when a worker is replaced', async () => {
    const ids = await refuseAtBoth();
    const before = await readStatus(url);
    process.kill(service.aWorkerPid(), 'SIGKILL');
    await service.program.printed(/"event":"worker_replaced"/);
    await until(
      async () => (await readStatus(url)).workers.every(({ listening }) => listening !== false),
      'it listens',
    );
    const after = await readStatus(url);
    expect(after.totals.requests).toBeGreaterThanOrEqual(before.totals.requests);
    expect(after.workers.map(({ name }) => name)).toContain('worker-3');
    const found = await Promise.all([...ids.values()].map((id) => asOperator(url, `/status/refusals/${id}`)));
    expect(found.map(({ status }) => status).toSorted()).toEqual([200, 404]);
  });

  it('takes a sample at the start, and more by and by', async () => {
    await until(async () => (await readStatus(url)).history.length > 1, 'another sample is taken');
    const [first, second] = (await readStatus(url)).history;
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(4);
  });

  it('is in no log, and neither is the token', () => {
    expect(service.program.stdout()).not.toMatch(/operator-token|status\/refusals/);
  });
});
