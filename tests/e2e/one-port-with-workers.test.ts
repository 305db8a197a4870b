import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { send } from '../support/http.ts';
import { readSamples } from '../support/read-samples.ts';
import { type ServiceWithWorkers, startServiceWithWorkers } from '../support/service-with-workers.ts';
import { asOperator, OPERATOR_TOKEN, readRefusal, readStatus } from '../support/status.ts';
import { until } from '../support/until.ts';

describe('the public port of workers with HEALTH_ON_PUBLIC_PORT', () => {
  let service: ServiceWithWorkers;
  beforeAll(async () => {
    service = await startServiceWithWorkers({
      HEALTH_ON_PUBLIC_PORT: 'true',
      MANAGEMENT_TOKEN: OPERATOR_TOKEN,
      MANAGEMENT_PORT: '0',
    });
  });
  afterAll(async () => service.program[Symbol.asyncDispose]());

  it('answers probes with the checks of the whole service', async () => {
    expect((await send(service.url, '/livez')).json()).toEqual({ status: 'alive' });
    const ready = await send(service.url, '/readyz');
    expect(ready.status).toBe(200);
    expect(ready.json()).toMatchObject({
      status: 'ready',
      checks: expect.arrayContaining([{ name: 'workers', ready: true }]),
    });
    expect((await send(service.url, '/readyz/verification')).status).toBe(200);
  });

  it('answers the operator with the metrics of all processes', async () => {
    expect((await send(service.url, '/metrics')).status).toBe(401);
    const answer = await asOperator(service.url, '/metrics');
    expect(answer.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
    const processes = new Set(readSamples(answer.text).flatMap(({ labels }) => labels['process'] ?? []));
    expect(processes).toEqual(new Set(['primary', 'worker-1', 'worker-2']));
  });

  it('answers the operator with the status page, its data and refusals', async () => {
    const page = await asOperator(service.url, '/status');
    expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(page.text).toContain('<!doctype html>');
    expect(page.headers['content-security-policy']).toContain("default-src 'none'");
    await until(async () => (await readStatus(service.url)).history.length > 0, 'a sample is taken');
    expect(await readStatus(service.url, '?since=9999999999')).toMatchObject({ history: [] });
    const refused = await send(service.url, '/oauth2/token', { method: 'POST' });
    const id = String(refused.headers['x-request-id']);
    expect(await readRefusal(service.url, id)).toMatchObject({ request_id: id });
    expect((await asOperator(service.url, '/status/refusals/unknown')).status).toBe(404);
  });

  it('answers many probes at once, each with the whole answer', async () => {
    const answers = await Promise.all(Array.from({ length: 200 }, () => send(service.url, '/readyz')));
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
  });
});

describe('the public port of workers whose primary does not run', () => {
  it('is alive, and not ready', async () => {
    const { url, program } = await startServiceWithWorkers({ HEALTH_ON_PUBLIC_PORT: 'true' });
    await using _program = program;
    expect((await send(url, '/readyz')).status).toBe(200);
    process.kill(program.process.pid ?? 0, 'SIGSTOP');
    try {
      expect((await send(url, '/readyz')).status).toBe(503);
      expect((await send(url, '/livez')).status).toBe(200);
    } finally {
      process.kill(program.process.pid ?? 0, 'SIGCONT');
    }
    await until(async () => (await send(url, '/readyz')).status === 200, 'the primary is heard again');
  });
});
