import { Gauge, Registry } from '@prometheus-io/client';
import type { MetricsSnapshot } from './metrics-snapshot.ts';

/** The service as a whole, at one moment. */
export interface ServiceState {
  /** As `/readyz` answers. */
  readonly ready: boolean;
  /** The number of processes that should answer requests, and of those that do. */
  readonly workers: number;
  readonly listening: number;
  /** The number of secret verifications that run, that wait in each queue, of shares of the overflow queue, and of requests without an answer. */
  readonly verifications: Readonly<Record<'running' | 'fifo' | 'overflow' | 'shares' | 'paced' | 'unanswered', number>>;
  /** The highest BCrypt cost of a refusal. */
  readonly refusalCost: number;
  /** The used assertions that are kept, and the most; undefined if no method needs them. */
  readonly usedAssertions: { readonly used: number; readonly max: number } | undefined;
  /** How many key sets of trusted issuers are as they should be, older than that, or missing. */
  readonly issuerKeySets: Readonly<Record<'current' | 'stale' | 'absent', number>>;
  /** By how many seconds the clock of day is ahead of the key directory's clock; undefined while nothing tells. */
  readonly clockOffsetSeconds: number | undefined;
}

/** The metrics of the service as a whole. They belong to the process that has the verification queue. */
export function serviceMetrics(state: ServiceState): Promise<MetricsSnapshot> {
  const registry = new Registry();
  const gauge = (name: string, help: string, ...labelNames: readonly string[]) =>
    new Gauge<string>({ name, help, labelNames, registers: [registry] });

  gauge('auth_ready', '1 where /readyz answers 200, else 0.').set(state.ready ? 1 : 0);
  gauge('auth_workers', 'Processes that should answer requests.').set(state.workers);
  gauge('auth_workers_listening', 'Processes that answer requests.').set(state.listening);
  const { running, fifo, overflow, shares, paced, unanswered } = state.verifications;
  gauge('auth_secret_verifications_running', 'BCrypt verifications that run now.').set(running);
  gauge(
    'auth_secret_verifications_unanswered',
    'Requests that wait for a verification or for the time of its answer.',
  ).set(unanswered);
  const waiting = gauge(
    'auth_secret_verifications_waiting',
    'BCrypt verifications that wait: in the FIFO queue, in the overflow queue that is used when the FIFO queue is full, or for the pace of attempts beyond the limit.',
    'queue',
  );
  for (const [queue, size] of Object.entries({ fifo, overflow, paced })) waiting.set({ queue }, size);
  gauge(
    'auth_secret_verification_shares',
    'Clients and addresses whose share of the overflow queue is remembered.',
  ).set(shares);
  const keySets = gauge(
    'auth_issuer_key_sets',
    'Key sets of trusted issuers: current, stale (the last attempt to fetch it failed), or absent.',
    'state',
  );
  for (const [keySetState, count] of Object.entries(state.issuerKeySets)) keySets.set({ state: keySetState }, count);
  gauge('auth_refusal_cost', 'The highest BCrypt cost of a refusal of invalid_client.').set(state.refusalCost);
  if (state.usedAssertions !== undefined) {
    const { used, max } = state.usedAssertions;
    gauge('auth_used_assertions', 'Used assertions of clients that are kept, so that none is used again.').set(used);
    gauge('auth_used_assertions_max', 'The most used assertions that are kept.').set(max);
  }
  if (state.clockOffsetSeconds !== undefined) {
    const help = 'Seconds by which the clock of this machine is ahead of that of the key directory.';
    gauge('auth_clock_offset_seconds', help).set(state.clockOffsetSeconds);
  }
  return registry.getMetricsAsJSON();
}
