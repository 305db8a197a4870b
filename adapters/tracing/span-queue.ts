import { AsyncLocalStorage } from 'node:async_hooks';
import { TraceFlags } from '@opentelemetry/api';
import type { ReadableSpan, SpanProcessor } from '@opentelemetry/sdk-trace';

export interface SpanQueueOptions {
  /** Spans that wait at most. One batch more may be on its way. */
  readonly spansMax: number;
  /** Spans of a batch at most. A full batch is sent at once. */
  readonly batchMax: number;
  /** Milliseconds after which a batch is sent that is not full. */
  readonly delayMs: number;
}

/** Sends spans. Rejects with an error whose message is one word. */
export type SendSpans = (spans: readonly ReadableSpan[], stopped: AbortSignal) => Promise<void>;

/** A change of whether spans can be sent. */
export type TraceExportChange =
  | { readonly event: 'trace_export_failed'; readonly code: string }
  | { readonly event: 'trace_export_recovered' };

/**
 * The ended spans that wait to be sent, one batch after the other. No request waits for them: a span that finds the queue
 * full is lost, and so are those of a batch that could not be sent. Both are counted.
 */
export class SpanQueue implements SpanProcessor {
  readonly #options: SpanQueueOptions;
  readonly #send: SendSpans;
  readonly #log: (change: TraceExportChange) => void;
  readonly #stopped = new AbortController();
  /** Batches are sent, and timers set, by no request: what is logged then must not have the trace of the one that came first. */
  readonly #outside = AsyncLocalStorage.snapshot();
  #waiting: ReadableSpan[] = [];
  #sending: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;
  #fault: string | undefined;
  #lost = 0;

  constructor(options: SpanQueueOptions, send: SendSpans, log: (change: TraceExportChange) => void) {
    this.#options = options;
    this.#send = send;
    this.#log = log;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  get waitingMax(): number {
    return this.#options.spansMax;
  }

  /** Spans that were lost since the process started. */
  get lost(): number {
    return this.#lost;
  }

  /** Why the last batch could not be sent; undefined if it was. */
  get fault(): string | undefined {
    return this.#fault;
  }

  onStart(): void {}

  onEnd(span: ReadableSpan): void {
    if ((span.spanContext().traceFlags & TraceFlags.SAMPLED) === 0) return;
    if (this.#closed || this.#waiting.length >= this.#options.spansMax) {
      this.#lost += 1;
      return;
    }
    this.#waiting.push(span);
    this.#outside(() => this.#plan());
  }

  async forceFlush(): Promise<void> {
    while (this.#waiting.length > 0 || this.#sending !== undefined) await (this.#sending ?? this.#sendBatch());
  }

  /** Takes no more spans, sends those that wait, and gives up after so many milliseconds. */
  async close(withinMs: number): Promise<void> {
    this.#closed = true;
    const timer = setTimeout(() => this.#stopped.abort(), withinMs);
    await this.forceFlush();
    clearTimeout(timer);
    clearTimeout(this.#timer);
  }

  shutdown(): Promise<void> {
    return this.close(0);
  }

  #plan(): void {
    if (this.#sending !== undefined || this.#waiting.length === 0) return;
    if (this.#waiting.length >= this.#options.batchMax) void this.#sendBatch();
    else this.#timer ??= setTimeout(() => this.#sendBatch(), this.#options.delayMs).unref();
  }

  #sendBatch(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const batch = this.#waiting.slice(0, this.#options.batchMax);
    this.#waiting = this.#waiting.slice(this.#options.batchMax);
    this.#sending ??= this.#send(batch, this.#stopped.signal)
      .then(
        () => {
          if (this.#fault !== undefined) this.#log({ event: 'trace_export_recovered' });
          this.#fault = undefined;
        },
        (fault: unknown) => {
          const code = fault instanceof Error ? fault.message : 'unknown';
          if (this.#fault === undefined) this.#log({ event: 'trace_export_failed', code });
          this.#fault = code;
          this.#lost += batch.length;
        },
      )
      .finally(() => {
        this.#sending = undefined;
        this.#plan();
      });
    return this.#sending;
  }
}
