import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { emptyResource } from '@opentelemetry/resources';
import { InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { exportSpans, type OtlpHttpExporterOptions } from '../../../adapters/tracing/export-spans.ts';
import { freePort } from '../../support/free-port.ts';
import { OtlpReceiver } from '../../support/otlp-receiver.ts';
import { until } from '../../support/until.ts';

const NEVER = new AbortController().signal;

function aSpan(): readonly ReadableSpan[] {
  const exporter = new InMemorySpanExporter();
  const spanProcessors = [new SimpleSpanProcessor({ exporter })];
  new TracerProvider({ spanProcessors, resource: emptyResource() }).getTracer('test').startSpan('a-span').end();
  return exporter.getFinishedSpans();
}

describe('the exporter of spans', () => {
  let receiver: OtlpReceiver;
  beforeAll(async () => {
    receiver = await OtlpReceiver.start();
  });
  afterAll(() => receiver[Symbol.asyncDispose]());
  beforeEach(() => {
    receiver.answer = 200;
    receiver.bodies.length = 0;
    receiver.headers.length = 0;
  });

  const exporter = (options: Partial<OtlpHttpExporterOptions> = {}) => {
    const all = {
      url: `${receiver.url}/v1/traces`,
      protocol: 'http/json',
      headers: () => ({ 'api-key': 'x' }),
      compression: 'none',
      attemptMs: 5_000,
      exportMs: 0,
      ...options,
    } as const;
    return { send: (...to: readonly [readonly ReadableSpan[], AbortSignal]) => exportSpans(all, ...to) };
  };

  it.each(['none', 'gzip'] as const)('sends JSON with its header fields, compression %s', async (compression) => {
    await exporter({ compression }).send(aSpan(), NEVER);
    expect(receiver.spans()).toEqual([expect.objectContaining({ name: 'a-span' })]);
    expect(receiver.headers[0]).toMatchObject({ 'content-type': 'application/json', 'api-key': 'x' });
    expect(receiver.headers[0]?.['content-encoding']).toBe(compression === 'gzip' ? 'gzip' : undefined);
  });

  it('sends Protocol Buffers', async () => {
    await exporter({ protocol: 'http/protobuf' }).send(aSpan(), NEVER);
    expect(receiver.headers[0]?.['content-type']).toBe('application/x-protobuf');
    // TracesData: field 1, a message of this length; somewhere in it field 5 of the span, its name.
    expect(receiver.bodies[0]?.[0]).toBe(0x0a);
    expect(receiver.bodies[0]?.includes(Buffer.from([0x2a, 6, ...Buffer.from('a-span')]))).toBe(true);
  });

  it.each([
    [400, '400'],
    [503, '503'],
    [301, 'TypeError'],
  ])('rejects with one word if the collector answers %i', async (answer, word) => {
    receiver.answer = answer;
    await expect(exporter().send(aSpan(), NEVER)).rejects.toThrow(new RegExp(`^${word}$`));
  });

  it('rejects in time if the collector does not answer, or does not listen', async () => {
    receiver.answer = 'hang';
    await expect(exporter({ attemptMs: 50 }).send(aSpan(), NEVER)).rejects.toThrow(/^TimeoutError$/);
    const url = `http://127.0.0.1:${await freePort()}`;
    await expect(exporter({ url }).send(aSpan(), NEVER)).rejects.toThrow(/^ECONNREFUSED$/);
  });

  it('tries again after a moment, but only what may succeed', async () => {
    receiver.answer = 503;
    const sent = exporter({ exportMs: 60_000 }).send(aSpan(), NEVER);
    await until(() => receiver.bodies.length === 1, 'the first attempt arrives');
    receiver.answer = 200;
    await sent;
    expect(receiver.bodies).toHaveLength(2);
    receiver.answer = 400;
    await expect(exporter({ exportMs: 60_000 }).send(aSpan(), NEVER)).rejects.toThrow();
    expect(receiver.bodies).toHaveLength(3);
  });

  it.each([503, 'hang'] as const)(
    'stops at once when it is told, also while the collector answers %s',
    async (answer) => {
      receiver.answer = answer;
      const stop = new AbortController();
      const sent = exporter({ exportMs: 60_000, attemptMs: 60_000 }).send(aSpan(), stop.signal);
      await until(() => receiver.bodies.length === 1, 'the first attempt arrives');
      stop.abort();
      await expect(sent).rejects.toThrow();
    },
  );
});
