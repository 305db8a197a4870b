import { type Finding, fine, note } from '../../application/ports/inspection.ts';
import { exportSpans, type OtlpHttpExporterOptions } from './export-spans.ts';

/** The longest that the collector may take, in milliseconds. */
const WITHIN_MS = 5_000;

const HEADERS = 'correct OTEL_EXPORTER_OTLP_HEADERS';
const PATH = 'correct the path in OTEL_EXPORTER_OTLP_TRACES_ENDPOINT; for OTEL_EXPORTER_OTLP_ENDPOINT it is /v1/traces';
const FIXES: Readonly<Record<string, string>> = { 401: HEADERS, 403: HEADERS, 404: PATH, 405: PATH };

const UNREACHABLE =
  'start the collector, correct OTEL_EXPORTER_OTLP_ENDPOINT, or the network to it; requests are answered without it';

/**
 * Whether the collector answers, by one request without spans, as the service sends them. Without a collector, tokens are issued as
 * usual, so nothing here is a problem. Names only the origin of the URL: its path may contain a key.
 */
export async function inspectCollector(options: OtlpHttpExporterOptions): Promise<readonly Finding[]> {
  const { origin } = new URL(options.url);
  // No time for a second attempt.
  const once = { ...options, attemptMs: Math.min(options.attemptMs, WITHIN_MS), exportMs: 0 };
  try {
    await exportSpans(once, [], new AbortController().signal);
    return [fine(`the collector at ${origin} accepts spans`)];
  } catch (fault) {
    const code = fault instanceof Error ? fault.message : 'unknown';
    const fix = FIXES[code];
    if (fix !== undefined) return [note(`the collector at ${origin} refuses spans with status ${code}`, fix)];
    // Some refuse a request without spans.
    if (/^4\d\d$/.test(code) && code !== '429') return [fine(`the collector at ${origin} answers (status ${code})`)];
    return [note(`the collector at ${origin} takes no spans now (${code}): they are lost`, UNREACHABLE)];
  }
}
