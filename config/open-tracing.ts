import type { OpenedTracing } from '../adapters/tracing/connect-tracing.ts';
import type { TraceExportChange } from '../adapters/tracing/span-queue.ts';
import type { ObservedPorts } from '../adapters/tracing/traced-ports.ts';
import type { RequestCounter } from '../application/ports/telemetry.ts';
import type { ProcessRole } from './parts.ts';
import type { Configuration } from './settings/configuration.ts';

const same = <Port>(port: Port): Port => port;

/** The ports as they are. */
export const UNOBSERVED: ObservedPorts = {
  clients: same,
  clientKeys: same,
  clientResources: same,
  federatedClients: same,
  slots: same,
  secrets: same,
  assertions: same,
  tokens: same,
  signer: same,
};

/** Loads OpenTelemetry if the environment asks for it, in a process that answers requests. */
export async function openTracing(
  { tracing }: Configuration,
  role: ProcessRole,
  log: (change: TraceExportChange) => void,
): Promise<OpenedTracing | undefined> {
  if (tracing === undefined || role === 'primary') return undefined;
  const opentelemetry = await import('../adapters/tracing/connect-tracing.ts');
  return opentelemetry.connectTracing(tracing, log);
}

/** The counter. With tracing, each request is described in its span too. */
export function tracedCounter(counter: RequestCounter, tracing: OpenedTracing | undefined): RequestCounter {
  if (tracing === undefined) return counter;
  return {
    count(line) {
      counter.count(line);
      tracing.requests.describe(line);
    },
  };
}
