import { createStateLog } from '../../adapters/log/state-log.ts';
import type { RequestTracing } from '../../adapters/tracing/request-tracing.ts';
import type { ObservedPorts } from '../../application/ports/observed-ports.ts';
import type { Feature } from '../feature.ts';
import { type Core, PARTS } from '../parts.ts';
import type { Configuration } from '../settings/configuration.ts';

/** What the core asks of it. */
export interface Traced {
  readonly requests: Pick<RequestTracing, 'around' | 'logMembers'>;
  readonly ports: ObservedPorts;
}

/** Spans of each request for a collector of OpenTelemetry. */
export async function tracing(
  { tracing: options }: Configuration,
  core: Core,
): Promise<(Feature & Traced) | undefined> {
  if (options === undefined) return undefined;
  // OpenTelemetry is loaded only where it is used.
  const { connectTracing } = await import('../../adapters/tracing/connect-tracing.ts');
  // The log has the members of a trace, so it comes later.
  const { requests, ports } = connectTracing(options, (change) => createStateLog(core.resolve(PARTS.log))(change));
  return {
    requests,
    ports,
    counter: { count: (line) => requests.describe(line) },
    checks: [requests],
    close: () => requests.close(),
    metrics(values) {
      const { waiting, waitingMax, lost } = requests.queue;
      values.gauge('auth_trace_spans_waiting', 'Spans of traces that wait to be sent.', waiting, waitingMax);
      const help =
        'Spans of traces that were lost because too many waited, or because the collector did not accept them.';
      values.total('auth_trace_spans_lost_total', help, lost);
    },
  };
}
