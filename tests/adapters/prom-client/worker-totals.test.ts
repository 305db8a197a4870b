import { describe, expect, it } from '@jest/globals';
import { exposition, type MetricsSnapshot } from '../../../adapters/prom-client/metrics-snapshot.ts';
import { ProcessMetrics } from '../../../adapters/prom-client/process-metrics.ts';
import { WorkerTotals } from '../../../adapters/prom-client/worker-totals.ts';
import { readSamples, total } from '../../support/read-samples.ts';

const REQUEST = { method: 'POST', route: '/oauth2/token', status: 200, duration_ms: 1 };

/** The metrics of a worker after a number of requests. */
async function snapshotOf(worker: number, requests: number): Promise<MetricsSnapshot> {
  const metrics = new ProcessMetrics(`worker-${worker}`);
  for (let time = 0; time < requests; time += 1) metrics.count(REQUEST);
  // As the primary receives it over the pipe.
  return structuredClone(await metrics.snapshot());
}

async function read(snapshots: readonly MetricsSnapshot[]) {
  return readSamples((await exposition(snapshots)).text);
}

describe('WorkerTotals', () => {
  it('add up what the workers counted, and keep the metrics of their processes apart', async () => {
    const totals = new WorkerTotals();
    const processes = [totals.take(1, await snapshotOf(1, 3), 1), totals.take(2, await snapshotOf(2, 4), 2)];
    const samples = await read([...processes, ...(await totals.all(new Set([1, 2])))]);
    expect(total(samples, 'auth_requests_total')).toBe(7);
    expect(total(samples, 'auth_request_duration_seconds_count')).toBe(7);
    expect(total(samples, 'auth_request_duration_seconds_sum')).toBeCloseTo(0.007);
    const memory = samples.filter(({ name }) => name === 'auth_process_resident_memory_bytes');
    expect(memory.map(({ labels }) => labels['process'])).toEqual(['worker-1', 'worker-2']);
  });

  it('keep the last totals of a worker that does not answer, but not the metrics of its process', async () => {
    const totals = new WorkerTotals();
    totals.take(1, await snapshotOf(1, 3), 3);
    const samples = await read(await totals.all(new Set([1])));
    expect(total(samples, 'auth_requests_total')).toBe(3);
    expect(samples.filter(({ labels }) => 'process' in labels)).toEqual([]);
  });

  it('replace the totals of a worker by its newer ones', async () => {
    const totals = new WorkerTotals();
    totals.take(1, await snapshotOf(1, 3), 4);
    totals.take(1, await snapshotOf(1, 5), 5);
    expect(total(await read(await totals.all(new Set([1]))), 'auth_requests_total')).toBe(5);
  });

  it('do not fall when the answer to an earlier reading arrives after that to a later one', async () => {
    const totals = new WorkerTotals();
    totals.take(1, await snapshotOf(1, 5), 2);
    totals.take(1, await snapshotOf(1, 3), 1);
    expect(total(await read(await totals.all(new Set([1]))), 'auth_requests_total')).toBe(5);
  });

  it('never fall when workers end, and do not grow with the number of ended workers', async () => {
    const totals = new WorkerTotals();
    for (let worker = 1; worker <= 20; worker += 1) {
      totals.take(worker, await snapshotOf(worker, 2), worker);
      const all = await totals.all(new Set([worker]));
      expect(total(await read(all), 'auth_requests_total')).toBe(2 * worker);
      expect(all).toHaveLength(2);
    }
    const [one, other] = await Promise.all([totals.all(new Set()), totals.all(new Set())]);
    expect(total(await read(one), 'auth_requests_total')).toBe(40);
    expect(total(await read(other), 'auth_requests_total')).toBe(40);
  });
});
