import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { emptyResource } from '@opentelemetry/resources';
import {
  AlwaysOnSampler,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import bcrypt from 'bcrypt';
import { joseTokenVerifier } from '../../../adapters/jwt/jose-token-verifier.ts';
import { NodeCryptoAssertionVerifier } from '../../../adapters/jwt/node-crypto-assertion-verifier.ts';
import { NodeCryptoTokenSigner } from '../../../adapters/jwt/node-crypto-token-signer.ts';
import { BcryptSecretVerifier } from '../../../adapters/secrets/bcrypt-secret-verifier.ts';
import { VERIFICATION_QUEUE_LIMITS, VerificationQueue } from '../../../adapters/secrets/verification-queue.ts';
import { createSampler, type SamplerName } from '../../../adapters/tracing/connect-tracing.ts';
import { exportSpans, type OtlpHttpExporterOptions } from '../../../adapters/tracing/export-spans.ts';
import { inspectCollector } from '../../../adapters/tracing/inspect-collector.ts';
import { parseTraceParent, RequestTracing } from '../../../adapters/tracing/request-tracing.ts';
import { type SendSpans, SpanQueue, type TraceExportChange } from '../../../adapters/tracing/span-queue.ts';
import { tracedPorts } from '../../../adapters/tracing/traced-ports.ts';
import { StoredSecret } from '../../../domain/stored-secret.ts';
import { describeAssertionVerifier } from '../../contracts/assertion-verifier.ts';
import { describeSecretVerifier } from '../../contracts/secret-verifier.ts';
import { describeTokenSigner } from '../../contracts/token-signer.ts';
import { describeTokenVerifier } from '../../contracts/token-verifier.ts';
import { describeVerificationSlots } from '../../contracts/verification-slots.ts';
import { atOnce } from '../../support/at-once.ts';
import { freePort } from '../../support/free-port.ts';
import { freshKeyRing } from '../../support/fresh-key-ring.ts';
import { OtlpReceiver } from '../../support/otlp-receiver.ts';
import { until } from '../../support/until.ts';

describe('the exporter of spans', () => {
  const NEVER = new AbortController().signal;

  function aSpan(): readonly ReadableSpan[] {
    const exporter = new InMemorySpanExporter();
    const spanProcessors = [new SimpleSpanProcessor({ exporter })];
    new TracerProvider({ spanProcessors, resource: emptyResource() }).getTracer('test').startSpan('a-span').end();
    return exporter.getFinishedSpans();
  }

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

describe('inspectCollector', () => {
  const OPTIONS = {
    protocol: 'http/protobuf',
    headers: () => ({ 'api-key': 'canary' }),
    compression: 'gzip',
    attemptMs: 10_000,
    exportMs: 30_000,
  } as const;

  let receiver: OtlpReceiver;
  beforeAll(async () => {
    receiver = await OtlpReceiver.start();
  });
  afterAll(() => receiver[Symbol.asyncDispose]());

  it.each([
    [200, 'ok', /accepts spans$/, undefined],
    [400, 'ok', /answers \(status 400\)$/, undefined],
    [401, 'note', /refuses spans with status 401$/, /OTEL_EXPORTER_OTLP_HEADERS/],
    [404, 'note', /refuses spans with status 404$/, /the path in OTEL_EXPORTER_OTLP_TRACES_ENDPOINT/],
    [429, 'note', /takes no spans now \(429\): they are lost$/, /start the collector/],
    [503, 'note', /takes no spans now \(503\): they are lost$/, /start the collector/],
  ])('asks once, without spans: status %i', async (answer, state, text, cure) => {
    receiver.answer = answer;
    receiver.bodies.length = 0;
    const findings = await inspectCollector({ ...OPTIONS, url: `${receiver.url}/canary/v1/traces` });
    expect(findings).toEqual([
      { state, text: expect.stringMatching(text), ...(cure && { cure: expect.stringMatching(cure) }) },
    ]);
    expect(receiver.bodies).toEqual([Buffer.alloc(0)]);
    expect(receiver.headers.at(-1)).toMatchObject({ 'api-key': 'canary', 'content-encoding': 'gzip' });
    expect(JSON.stringify(findings)).not.toContain('canary');
  });

  it('says that nothing listens there', async () => {
    const url = `http://127.0.0.1:${await freePort()}/v1/traces`;
    expect(await inspectCollector({ ...OPTIONS, url })).toMatchObject([
      { state: 'note', text: expect.stringContaining('(ECONNREFUSED)') },
    ]);
  });

  it('waits for one attempt only, which OTEL_EXPORTER_OTLP_TIMEOUT bounds', async () => {
    receiver.answer = 'hang';
    const url = `${receiver.url}/v1/traces`;
    expect(await inspectCollector({ ...OPTIONS, url, attemptMs: 50 })).toMatchObject([
      { state: 'note', text: expect.stringContaining('(TimeoutError)') },
    ]);
  });
});

describe('the tracing of requests', () => {
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

describe('the queue of spans', () => {
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

describe('traceparent', () => {
  const TRACE = '0af7651916cd43dd8448eb211c80319c';
  const SPAN = 'b7ad6b7169203331';

  it.each([
    [`00-${TRACE}-${SPAN}-00`, 0],
    [`00-${TRACE}-${SPAN}-01`, 1],
    // Only one flag has a meaning for us.
    [`00-${TRACE}-${SPAN}-ff`, 1],
    [`00-${TRACE}-${SPAN}-fe`, 0],
    [`cc-${TRACE}-${SPAN}-01`, 1],
    [`cc-${TRACE}-${SPAN}-01-what-follows`, 1],
  ])('%s: is read', (header, traceFlags) => {
    expect(parseTraceParent(header)).toEqual({ traceId: TRACE, spanId: SPAN, traceFlags, isRemote: true });
  });

  it.each([
    undefined,
    '',
    `ff-${TRACE}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-01-more`,
    `00-${TRACE}-${SPAN}-01-`,
    `cc-${TRACE}-${SPAN}-01more`,
    `00-${TRACE}-${SPAN}-1`,
    `00-${TRACE}-${SPAN}`,
    `0-${TRACE}-${SPAN}-01`,
    `00-${'0'.repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${TRACE.slice(1)}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}0-01`,
    `00-${TRACE.replace('0', 'g')}-${SPAN}-01`,
    ` 00-${TRACE}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-01\n`,
    `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`,
    [`00-${TRACE}-${SPAN}-01`],
  ])('%j: is ignored', (header) => {
    expect(parseTraceParent(header)).toBeUndefined();
  });
});

describe('traced ports', () => {
  const ended: ReadableSpan[] = [];
  const queue = new SpanQueue(
    { spansMax: 100_000, batchMax: 1, delayMs: 1 },
    async (spans) => void ended.push(...spans),
    () => {},
  );
  const tracing = new RequestTracing({ queue, sampler: new AlwaysOnSampler(), resource: {} });
  const ports = tracedPorts(tracing);

  /** Does this in a request. */
  async function inRequest<Outcome>(work: () => Promise<Outcome>): Promise<Outcome> {
    let outcome: { readonly value: Outcome } | undefined;
    const handle = tracing.around(async () => {
      outcome = { value: await work() };
    });
    await handle({ headers: {} } as IncomingMessage, {} as ServerResponse);
    if (outcome === undefined) throw new Error('the request was not handled');
    return outcome.value;
  }

  /** The port, with each call in a request of its own. */
  function requested<Port extends object>(port: Port, ...methods: readonly (keyof Port)[]): Port {
    const calls = methods.map((name) => {
      const call = port[name] as (...args: unknown[]) => Promise<unknown>;
      return [name, (...args: unknown[]) => inRequest(() => call.apply(port, args))];
    });
    return { ...port, ...Object.fromEntries(calls) };
  }

  describeSecretVerifier('BcryptSecretVerifier, traced,', () => ({
    verifier: requested(ports.secrets(new BcryptSecretVerifier({ run: atOnce, cost: 4, costMax: 6 })), 'verify'),
    store: async (secret) => StoredSecret.parse(await bcrypt.hash(secret, 4)),
  }));
  describeAssertionVerifier('NodeCryptoAssertionVerifier, traced,', () =>
    requested(ports.assertions(new NodeCryptoAssertionVerifier({ run: atOnce })), 'verify'),
  );
  describeTokenSigner('NodeCryptoTokenSigner, traced,', async () => {
    const keys = await freshKeyRing();
    return { signer: requested(ports.signer(new NodeCryptoTokenSigner(keys)), 'sign'), keys };
  });
  describeTokenVerifier('joseTokenVerifier, traced,', async () => {
    const keys = await freshKeyRing();
    return {
      signer: new NodeCryptoTokenSigner(keys),
      verifier: requested(ports.tokens(joseTokenVerifier(keys)), 'verify'),
    };
  });
  describeVerificationSlots('VerificationQueue, traced,', () => {
    const slots = new VerificationQueue({ ...VERIFICATION_QUEUE_LIMITS, fifoRounds: 8 * 2 ** 4 });
    return { ...requested(ports.slots(slots), 'acquire'), close: () => slots.close() };
  });

  it('each traced port has recorded its steps', async () => {
    await queue.forceFlush();
    const names = new Set(ended.map(({ name }) => name));
    expect([...names].toSorted()).toEqual(
      ['HTTP', 'sign token', 'verify assertion', 'verify secret', 'verify token', 'wait for slot'].toSorted(),
    );
  });
});
