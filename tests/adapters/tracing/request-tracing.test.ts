import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { createSampler, type SamplerName } from '../../../adapters/tracing/connect-tracing.ts';
import { RequestTracing } from '../../../adapters/tracing/request-tracing.ts';
import { SpanQueue } from '../../../adapters/tracing/span-queue.ts';

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';

/** Tracing whose spans are kept. `request` handles one, whose caller has sent this `traceparent`. */
function keptTracing(sampler: SamplerName, ratio = 1) {
  const spans: ReadableSpan[] = [];
  const queue = new SpanQueue(
    { spansMax: 100, batchMax: 100, delayMs: 600_000 },
    async (batch) => void spans.push(...batch),
    () => {},
  );
  const tracing = new RequestTracing({ queue, sampler: createSampler(sampler, ratio), resource: {} });
  const request = (handle: () => Promise<void>, traceparent?: string) =>
    tracing.around(handle)(
      { headers: { traceparent }, method: 'GET' } as unknown as IncomingMessage,
      {} as ServerResponse,
    );
  const names = async () => {
    await queue.forceFlush();
    return spans.map(({ name }) => name);
  };
  return { tracing, request, names };
}

const parent = (flags: '00' | '01') => `00-${TRACE_ID}-b7ad6b7169203331-${flags}`;

describe('the tracing of requests', () => {
  it.each<[SamplerName, recorded: boolean, ifSampled: boolean, ifNot: boolean]>([
    ['always_on', true, true, true],
    ['always_off', false, false, false],
    ['traceidratio', false, false, false],
    ['parentbased_always_on', true, true, false],
    ['parentbased_always_off', false, true, false],
    ['parentbased_traceidratio', false, true, false],
  ])(
    '%s (ratio 0) records a request: %s; of a caller that records: %s; of one that does not: %s',
    async (name, ...expected) => {
      const recorded = [];
      for (const traceparent of [undefined, parent('01'), parent('00')]) {
        const { request, names } = keptTracing(name, 0);
        await request(async () => {}, traceparent);
        recorded.push((await names()).length === 1);
      }
      expect(recorded).toEqual(expected);
    },
  );

  it('names the trace in the log also if it is not recorded, and none outside of requests', async () => {
    const { tracing, request, names } = keptTracing('always_off');
    let members = {};
    await request(async () => {
      members = tracing.logMembers();
    }, parent('01'));
    expect(members).toEqual({ trace_id: TRACE_ID, span_id: expect.stringMatching(/^[\da-f]{16}$/) });
    expect(tracing.logMembers()).toEqual({});
    expect(await names()).toEqual([]);
  });

  it('does a step outside of requests, or after its request, without a span', async () => {
    const { tracing, request, names } = keptTracing('always_on');
    expect(await tracing.step('a step', async () => 1)).toBe(1);
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    let late: Promise<number> | undefined;
    await request(async () => {
      late = held.then(() => tracing.step('a late step', async () => 2));
    });
    release();
    expect(await late).toBe(2);
    expect(await names()).toEqual(['GET']);
  });

  it('ends the span of a handler that throws', async () => {
    const { request, names } = keptTracing('always_on');
    await expect(request(() => Promise.reject(new Error('a fault')))).rejects.toThrow('a fault');
    expect(await names()).toEqual(['GET']);
  });
});
