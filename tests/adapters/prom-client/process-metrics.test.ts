import { monitorEventLoopDelay } from 'node:perf_hooks';
import { describe, expect, it } from '@jest/globals';
import { ProcessMetrics } from '../../../adapters/prom-client/process-metrics.ts';
import { blockEventLoop } from '../../support/block-event-loop.ts';
import { readSamples, total } from '../../support/read-samples.ts';
import { until } from '../../support/until.ts';

const TOKEN = { method: 'POST', route: '/oauth2/token', status: 200, duration_ms: 1.2 };

async function samplesOf(metrics: ProcessMetrics) {
  return readSamples((await metrics.exposition()).text);
}

describe('ProcessMetrics of requests', () => {
  it('counts by route, method, status and reason', async () => {
    const metrics = new ProcessMetrics();
    for (let time = 0; time < 3; time += 1) metrics.count(TOKEN);
    metrics.count({ ...TOKEN, status: 401, reason: 'secret_wrong' });
    const requests = (await samplesOf(metrics)).filter(({ name }) => name === 'auth_requests_total');
    expect(requests.map(({ labels, value }) => ({ ...labels, value }))).toEqual([
      { route: '/oauth2/token', method: 'POST', status: '200', reason: 'none', value: 3 },
      { route: '/oauth2/token', method: 'POST', status: '401', reason: 'secret_wrong', value: 1 },
    ]);
  });

  it('counts durations in buckets of seconds, by route and status class', async () => {
    const metrics = new ProcessMetrics();
    for (const duration_ms of [0.4, 0.6, 30, 9_000]) metrics.count({ ...TOKEN, duration_ms });
    metrics.count({ ...TOKEN, status: 503, reason: 'dependency_unavailable' });
    const samples = await samplesOf(metrics);
    const labels = { route: '/oauth2/token', status_class: '2xx' };
    const bucket = (le: string) => total(samples, 'auth_request_duration_seconds_bucket', { ...labels, le });
    expect(['0.0005', '0.001', '0.025', '0.05', '5', '+Inf'].map(bucket)).toEqual([1, 2, 2, 3, 3, 4]);
    expect(total(samples, 'auth_request_duration_seconds_sum', labels)).toBeCloseTo(9.031);
    expect(total(samples, 'auth_request_duration_seconds_count', { status_class: '5xx' })).toBe(1);
  });

  it('counts all unknown methods as one', async () => {
    const metrics = new ProcessMetrics();
    for (let time = 0; time < 100; time += 1) {
      metrics.count({ ...TOKEN, method: `METHOD${time}`, status: 405, reason: 'method_not_allowed' });
    }
    const requests = (await samplesOf(metrics)).filter(({ name }) => name === 'auth_requests_total');
    expect(requests).toEqual([
      expect.objectContaining({ value: 100, labels: expect.objectContaining({ method: 'other' }) }),
    ]);
  });

  it('counts a request that could not be parsed, without a duration', async () => {
    const metrics = new ProcessMetrics();
    metrics.count({ method: 'unparsed', route: 'none', status: 408, duration_ms: 0, reason: 'request_timeout' });
    const samples = await samplesOf(metrics);
    expect(total(samples, 'auth_requests_total', { method: 'unparsed', status: '408' })).toBe(1);
    expect(total(samples, 'auth_request_duration_seconds_count')).toBe(0);
  });
});

describe('ProcessMetrics of the process', () => {
  it('have the lines that its log lost, and the bytes that wait', async () => {
    const log = { linesLost: 0, bufferedBytes: 0, bufferedBytesMax: 1_000 };
    const metrics = new ProcessMetrics(log);
    Object.assign(log, { linesLost: 3, bufferedBytes: 700 });
    const samples = await samplesOf(metrics);
    expect(total(samples, 'auth_log_lines_lost_total', {})).toBe(3);
    expect(total(samples, 'auth_log_buffered_bytes')).toBe(700);
    expect(total(samples, 'auth_log_buffered_bytes_max')).toBe(1_000);
  });

  it('are in seconds and bytes', async () => {
    const samples = await samplesOf(new ProcessMetrics());
    expect(total(samples, 'auth_process_resident_memory_bytes')).toBeGreaterThan(10 * 2 ** 20);
    expect(total(samples, 'auth_process_cpu_seconds_total')).toBeCloseTo(
      process.resourceUsage().userCPUTime / 1e6 + process.resourceUsage().systemCPUTime / 1e6,
      -1,
    );
    expect(Date.now() / 1e3 - total(samples, 'auth_process_start_time_seconds')).toBeCloseTo(process.uptime(), -1);
    if (process.platform === 'linux') expect(total(samples, 'auth_process_open_fds')).toBeGreaterThan(2);
  });

  it('show the CPU seconds since startup, even when they are read twice', async () => {
    const metrics = new ProcessMetrics();
    const seconds = async () => total(await samplesOf(metrics), 'auth_process_cpu_seconds_total');
    const first = await seconds();
    expect(await seconds()).toBeLessThan(first * 1.5);
  });

  it('show for how long the event loop was blocked since the last scrape', async () => {
    const metrics = new ProcessMetrics();
    const worst = async () => total(await samplesOf(metrics), 'auth_event_loop_delay_seconds', { quantile: '1' });
    await blockEventLoop(300);
    const later = monitorEventLoopDelay();
    later.enable();
    await until(() => later.count > 0, 'another monitor measures');
    expect(await worst()).toBeGreaterThan(0.2);
    await blockEventLoop(50);
    expect(await worst()).toBeLessThanOrEqual(later.max / 1e9);
    later.disable();
  });
});
