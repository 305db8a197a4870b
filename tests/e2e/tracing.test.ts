import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { requestToken, send } from '../support/http.ts';
import { OtlpReceiver } from '../support/otlp-receiver.ts';
import { DEMO_TOKEN_REQUEST } from '../support/replica.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import { until } from '../support/until.ts';

/** Makes a process print the files of tracing that it loads. The metrics library loads the API of OpenTelemetry anyway. */
const PRINT_LOADED = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module';
  import { writeSync } from 'node:fs';
  registerHooks({ load(url, context, next) {
    if (/@opentelemetry\\/(?!api)|adapters\\/tracing/.test(url)) writeSync(2, 'loaded ' + url.split('/').slice(-2).join('/') + '\\n');
    return next(url, context);
  } });
`)}`;

const linesOf = ({ program }: ServiceProcess): readonly Record<string, unknown>[] =>
  program
    .stdout()
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));

describe('traces of a service', () => {
  let receiver: OtlpReceiver;
  let service: ServiceProcess;
  beforeAll(async () => {
    receiver = await OtlpReceiver.start();
    service = await startServiceProcess(receiver.environment, ['--import', PRINT_LOADED]);
  });
  afterAll(async () => {
    await service.program[Symbol.asyncDispose]();
    await receiver[Symbol.asyncDispose]();
  });

  it('have the id of the process', async () => {
    const answer = await requestToken(service.url, DEMO_TOKEN_REQUEST);
    const [root] = await receiver.traceOf(answer.headers['x-request-id']);
    expect(Number(root.resource['process.pid'])).toBe(service.program.process.pid);
  });

  it('are named in the line of the request', async () => {
    const traceId = 'abcdef0123456789abcdef0123456789';
    const traceparent = `00-${traceId}-00000000000000ff-01`;
    const answer = await requestToken(service.url, DEMO_TOKEN_REQUEST, { traceparent });
    const [root] = await receiver.traceOf(answer.headers['x-request-id']);
    const lines = () => linesOf(service).filter((line) => line['trace_id'] === traceId);
    await until(() => lines().length > 0, 'the request is logged');
    expect(lines()).toEqual([
      expect.objectContaining({
        request_id: answer.headers['x-request-id'],
        span_id: root.spanId,
      }),
    ]);
    // Outside of requests there is no trace.
    expect(linesOf(service).find(({ event }) => event === 'started')).not.toHaveProperty('trace_id');
  });

  it('are sent to the end when the service stops', async () => {
    const stopped = await startServiceProcess({ ...receiver.environment, OTEL_BSP_SCHEDULE_DELAY: '600000' });
    await using program = stopped.program;
    const answer = await requestToken(stopped.url, DEMO_TOKEN_REQUEST);
    program.process.kill('SIGTERM');
    expect(await program.ended()).toBe(0);
    expect(await receiver.traceOf(answer.headers['x-request-id'])).not.toEqual([]);
  });

  it('do not keep the service from ending if the collector hangs', async () => {
    await using hanging = await OtlpReceiver.start();
    hanging.answer = 'hang';
    const stopped = await startServiceProcess({ ...hanging.environment, SHUTDOWN_DRAIN_MS: '60000' });
    await using program = stopped.program;
    await requestToken(stopped.url, DEMO_TOKEN_REQUEST);
    await until(() => hanging.bodies.length > 0, 'spans are on their way');
    const begin = performance.now();
    program.process.kill('SIGTERM');
    expect(await program.ended()).toBe(0);
    // A process that does not end by itself is killed after the drain time.
    expect(performance.now() - begin).toBeLessThan(30_000);
  });

  it('need OpenTelemetry only if they are asked for', async () => {
    expect(service.program.stderr()).toContain('loaded tracing/request-tracing.ts');
    const plain = await startServiceProcess({}, ['--import', PRINT_LOADED]);
    await using program = plain.program;
    const answer = await requestToken(plain.url, DEMO_TOKEN_REQUEST, {
      traceparent: '00-abcdef0123456789abcdef0123456789-00000000000000ff-01',
    });
    expect(answer.status).toBe(200);
    expect(program.stderr()).not.toContain('loaded ');
    expect((await send(plain.managementUrl, '/metrics')).text).not.toContain('auth_trace_');
    expect(program.stdout()).not.toContain('trace_id');
  });
});
