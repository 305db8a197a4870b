import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { requestToken, send } from '../support/http.ts';
import { readSamples, type Sample, total } from '../support/read-samples.ts';
import { DEMO_TOKEN_REQUEST } from '../support/replica.ts';
import { type ServiceWithWorkers, startServiceWithWorkers } from '../support/service-with-workers.ts';
import { until } from '../support/until.ts';

const REQUESTS = 'auth_requests_total';

describe('the metrics of two workers', () => {
  let service: ServiceWithWorkers;
  beforeAll(async () => {
    service = await startServiceWithWorkers();
  });
  afterAll(async () => service.program[Symbol.asyncDispose]());

  async function samples(): Promise<readonly Sample[]> {
    const answer = await send(service.managementUrl, '/metrics');
    expect(answer.status).toBe(200);
    return readSamples(answer.text);
  }

  /** The first samples for which the condition holds. On a busy machine a worker may be late, which leaves out its newest counts. */
  async function samplesOf(condition: (sampled: readonly Sample[]) => boolean): Promise<readonly Sample[]> {
    let sampled: readonly Sample[] = [];
    await until(async () => {
      sampled = await samples();
      return condition(sampled);
    }, 'every worker reports its metrics');
    return sampled;
  }

  /** On a new connection each, so that both workers get some. */
  const requestTokens = (number: number) =>
    Promise.all(Array.from({ length: number }, () => requestToken(service.url, DEMO_TOKEN_REQUEST)));

  const processesOf = (now: readonly Sample[]) =>
    now.flatMap(({ name, labels }) => (name === 'auth_process_cpu_seconds_total' ? (labels['process'] ?? []) : []));

  /** The ids of the workers that have logged a request. */
  const answering = () =>
    new Set([...service.program.stdout().matchAll(/"worker":(\d+),"request_id"/g)].map(([, id]) => id));

  it('cover all processes, and add up the requests of both workers', async () => {
    await requestTokens(40);
    const wrong = { ...DEMO_TOKEN_REQUEST, client_secret: 'wrong' };
    // One after the other, so that none waits in the verification queue for too long.
    for (let count = 0; count < 4; count += 1) await requestToken(service.url, wrong);
    await until(() => answering().size === 2, 'both workers have answered');
    const now = await samplesOf((sampled) => total(sampled, 'auth_request_duration_seconds_count') === 44);
    expect(total(now, REQUESTS, { route: '/oauth2/token', status: '200' })).toBe(40);
    expect(total(now, REQUESTS, { status: '401', reason: 'secret_wrong' })).toBe(4);
    expect(processesOf(now)).toEqual(['primary', 'worker-1', 'worker-2']);
    expect([total(now, 'auth_workers'), total(now, 'auth_workers_listening'), total(now, 'auth_ready')]).toEqual([
      2, 2, 1,
    ]);
    expect(now.filter(({ name }) => name === 'auth_secret_verifications_running')).toHaveLength(1);
  });

  it('do not wait for a worker that hangs, and keep what it had counted', async () => {
    const before = total(await samples(), REQUESTS);
    const pid = service.aWorkerPid();
    process.kill(pid, 'SIGSTOP');
    const now = await samples().finally(() => process.kill(pid, 'SIGCONT'));
    // A scrape that waited for the worker would have ended only with the worker, which is killed after ten seconds.
    expect(service.program.stdout()).not.toContain('"event":"worker_hangs"');
    expect(total(now, REQUESTS)).toBe(before);
    expect(processesOf(now)).toHaveLength(2);
    await samplesOf((sampled) => processesOf(sampled).length === 3);
  });

  it('continue when a worker is killed and replaced, and never decrease', async () => {
    const before = total(await samples(), REQUESTS);
    process.kill(service.aWorkerPid(), 'SIGKILL');
    // Some of these scrapes begin before the primary knows that the worker has ended.
    await Promise.all(Array.from({ length: 50 }, samples));
    let last = before;
    await until(async () => {
      const now = total(await samples(), REQUESTS);
      expect(now).toBeGreaterThanOrEqual(last);
      last = now;
      return service.program.stdout().includes('"event":"worker_replaced"');
    }, 'the worker is replaced');
    await requestTokens(20);
    const now = await samplesOf((sampled) => processesOf(sampled).length === 3);
    expect(total(now, REQUESTS)).toBe(before + 20);
    expect(processesOf(now)).toContain('worker-3');
    expect(total(now, 'auth_workers_listening')).toBe(2);
  });

  it('contain no secret, no token and no client id', async () => {
    expect((await send(service.managementUrl, '/metrics')).text).not.toMatch(/-secret|eyJ|demo-client/);
  });
});
