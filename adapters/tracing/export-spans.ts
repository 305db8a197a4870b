import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { JsonTraceSerializer, ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';

/** The pause before the second attempt, in milliseconds. Each further pause is longer by half. */
const FIRST_PAUSE_MS = 1_000;

/** The statuses that the OTLP specification calls retryable. */
const RETRYABLE = [429, 502, 503, 504];

export interface OtlpHttpExporterOptions {
  /** Where spans are sent to, such as `http://localhost:4318/v1/traces`. */
  readonly url: string;
  readonly protocol: 'http/protobuf' | 'http/json';
  /** A function, since they may contain secrets, which must not be printed with the options. */
  readonly headers: () => Readonly<Record<string, string>>;
  readonly compression: 'none' | 'gzip';
  /** Milliseconds for one attempt. */
  readonly attemptMs: number;
  /** Milliseconds for all attempts to send a batch. */
  readonly exportMs: number;
}

/**
 * Sends spans to a collector (OTLP over HTTP). Unlike the SDK's exporter, it can be stopped at once, and reads no environment.
 *
 * Resolves when the collector has accepted the spans. Rejects when the signal is aborted, or with an error whose message is one
 * word: the status, or the code of the system's error.
 */
export async function exportSpans(
  options: OtlpHttpExporterOptions,
  spans: readonly ReadableSpan[],
  stopped: AbortSignal,
): Promise<void> {
  const { protocol, compression, exportMs } = options;
  const serializer = protocol === 'http/json' ? JsonTraceSerializer : ProtobufTraceSerializer;
  const serialized = serializer.serializeRequest([...spans]) ?? new Uint8Array();
  const body = compression === 'gzip' ? await promisify(gzip)(serialized) : Buffer.from(serialized);
  const giveUpAt = performance.now() + exportMs;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs *= 1.5) {
    const problem = await attempt(options, body, stopped);
    if (problem === undefined) return;
    if (!problem.retryable || performance.now() + pauseMs > giveUpAt) throw new Error(problem.code);
    await delay(pauseMs, undefined, { signal: stopped, ref: false });
  }
}

/** The problem, or undefined for an accepted batch. */
async function attempt(
  { url, protocol, headers, compression, attemptMs }: OtlpHttpExporterOptions,
  body: Buffer<ArrayBuffer>,
  stopped: AbortSignal,
): Promise<{ readonly code: string; readonly retryable: boolean } | undefined> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      redirect: 'error',
      headers: {
        ...headers(),
        'content-type': protocol === 'http/json' ? 'application/json' : 'application/x-protobuf',
        ...(compression === 'gzip' && { 'content-encoding': 'gzip' }),
      },
      body,
      signal: AbortSignal.any([stopped, AbortSignal.timeout(attemptMs)]),
    });
    await response.body?.cancel();
    if (response.ok) return undefined;
    return { code: String(response.status), retryable: RETRYABLE.includes(response.status) };
  } catch (fault) {
    stopped.throwIfAborted();
    return { code: codeOf(fault), retryable: true };
  }
}

/** Such as ECONNREFUSED or TimeoutError. No message: it may contain the URL. */
function codeOf(fault: unknown): string {
  const { name, cause } = fault as { readonly name?: string; readonly cause?: { readonly code?: string } };
  return cause?.code ?? name ?? 'unknown';
}
