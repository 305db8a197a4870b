import { AsyncLocalStorage } from 'node:async_hooks';
import { describe, expect, it } from '@jest/globals';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { type SendSpans, SpanQueue, type TraceExportChange } from '../../../adapters/tracing/span-queue.ts';
import { until } from '../../support/until.ts';

const span = (traceFlags = 1) => ({ spanContext: () => ({ traceFlags }) }) as unknown as ReadableSpan;

/** A queue whose batches are settled by the test. */
function heldQueue({ spansMax = 5, batchMax = 2, delayMs = 600_000 } = {}) {
  const batches: { size: number; resolve(): void; reject(fault: Error): void; stopped: AbortSignal }[] = [];
  const changes: TraceExportChange[] = [];
  const send: SendSpans = (spans, stopped) =>
    new Promise((resolve, reject) => {
      if (stopped.aborted) reject(new Error('aborted'));
      stopped.addEventListener('abort', () => reject(new Error('aborted')));
      batches.push({ size: spans.length, resolve, reject, stopped });
    });
  const queue = new SpanQueue({ spansMax, batchMax, delayMs }, send, (change) => changes.push(change));
  const add = (count: number) => {
    for (let number = 0; number < count; number += 1) queue.onEnd(span());
  };
  return { queue, batches, changes, add };
}

describe('the queue of spans', () => {
  it('sends a full batch at once, and the next one when that is sent', async () => {
    const { queue, batches, add } = heldQueue();
    add(4);
    expect([batches.map(({ size }) => size), queue.waiting]).toEqual([[2], 2]);
    batches[0]?.resolve();
    await until(() => batches.length === 2, 'the next batch is sent');
    expect(queue.waiting).toBe(0);
  });

  it('sends a batch that is not full after its delay', async () => {
    const { batches, add } = heldQueue({ delayMs: 1 });
    add(1);
    expect(batches).toEqual([]);
    await until(() => batches.length === 1, 'the batch is sent');
  });

  it('holds no more than its bound while a batch hangs, and counts what it loses', () => {
    const { queue, add } = heldQueue();
    add(100);
    expect([queue.waiting, queue.waitingMax, queue.lost]).toEqual([5, 5, 93]);
  });

  it('ignores a span that is not sampled', () => {
    const { queue } = heldQueue();
    queue.onEnd(span(0));
    expect([queue.waiting, queue.lost]).toEqual([0, 0]);
  });

  it('counts the spans of a batch that was not accepted, and reports the first failure and the recovery', async () => {
    const { queue, batches, changes, add } = heldQueue();
    add(6);
    for (const settle of ['reject', 'reject', 'resolve'] as const) {
      const number = batches.length;
      batches.at(-1)?.[settle](new Error('503'));
      if (settle === 'reject') await until(() => batches.length > number, 'the next batch is sent');
      else await until(() => queue.fault === undefined, 'the batch is accepted');
    }
    expect(queue.lost).toBe(4);
    expect(changes).toEqual([{ event: 'trace_export_failed', code: '503' }, { event: 'trace_export_recovered' }]);
  });

  it('sends what waits when it is closed, and takes no more', async () => {
    const { queue, batches, add } = heldQueue();
    add(3);
    const closed = queue.close(60_000);
    add(1);
    for (const number of [0, 1]) {
      await until(() => batches.length > number, 'a batch is sent');
      batches[number]?.resolve();
    }
    await closed;
    expect([queue.waiting, queue.lost, batches.map(({ size }) => size)]).toEqual([0, 1, [2, 1]]);
  });

  it('gives up in time when it is closed while a batch hangs', async () => {
    const { queue, batches, add } = heldQueue();
    add(5);
    await queue.close(10);
    expect(batches.every(({ stopped }) => stopped.aborted)).toBe(true);
    expect([queue.waiting, queue.lost]).toEqual([0, 5]);
  });

  it.each([
    ['a full batch', { batchMax: 1 }],
    ['a delay', { delayMs: 1 }],
  ])('reports outside of the request that ended a span, after %s', async (_case, options) => {
    const request = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    const queue = new SpanQueue(
      { spansMax: 5, batchMax: 2, delayMs: 600_000, ...options },
      () => Promise.reject(new Error('503')),
      () => seen.push(request.getStore()),
    );
    request.run('a request', () => queue.onEnd(span()));
    await until(() => seen.length > 0, 'the failure is reported');
    expect(seen).toEqual([undefined]);
  });
});
