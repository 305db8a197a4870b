import { Gauge, Registry } from '@prometheus-io/client';
import type { HealthCheck, Readiness } from '../../application/ports/health-check.ts';
import { addKeyGauges, type MeasuredKeys } from './key-metrics.ts';
import type { MetricsSnapshot } from './metrics-snapshot.ts';

type Verifications = 'running' | 'overflow' | 'shares' | 'paced' | 'unanswered';

/** The service as a whole, at one moment. */
export interface ServiceState {
  /** What `/readyz` asks. */
  readonly checks: readonly HealthCheck[];
  /** The number of processes that should answer requests, and of those that do. */
  readonly workers: number;
  readonly listening: number;
  /** The number of secret verifications that run, that wait in each queue, of shares of the overflow queue, and of requests without an answer. */
  readonly verifications: Readonly<Record<Verifications | 'fifo', number>>;
  /** What bounds them. */
  readonly verificationsMax: Readonly<Record<Verifications, number>>;
  /** The highest BCrypt cost of a refusal. */
  readonly refusalCost: number;
  /** The used assertions that are kept, and the most; undefined if no method needs them. */
  readonly usedAssertions: { readonly used: number; readonly max: number } | undefined;
  /** How many key sets of trusted issuers are as they should be, older than that, or missing; undefined if no method needs them. */
  readonly issuerKeySets: Readonly<Record<'current' | 'stale' | 'absent', number>> | undefined;
  /** By how many seconds the clock of day is ahead of the key directory's clock; undefined while nothing tells. */
  readonly clockOffsetSeconds: number | undefined;
  /** The offset from which on no key may sign. */
  readonly clockOffsetSecondsMax: number;
  readonly keys: MeasuredKeys;
  /** What the service may use. */
  readonly cores: number;
  readonly memoryBytes: number;
}

/** The metrics of the service as a whole. They belong to the process that has the verification queue. */
export function serviceMetrics(state: ServiceState): Promise<MetricsSnapshot> {
  const registry = new Registry();
  const gauge = (name: string, help: string, ...labelNames: readonly string[]) =>
    new Gauge<string>({ name, help, labelNames, registers: [registry] });

  const states = state.checks.map((check) => ({ name: check.name, ...check.readiness() }));
  gauge('auth_ready', '1 where /readyz answers 200, else 0.').set(states.every(({ ready }) => ready) ? 1 : 0);
  const severity = gauge(
    'auth_check_severity',
    'Checks of /readyz: 0 ready, 1 ready with a note, 2 not ready.',
    'check',
  );
  for (const { name, ...readiness } of states) severity.set({ check: name }, severityOf(readiness));
  gauge('auth_workers', 'Processes that should answer requests.').set(state.workers);
  gauge('auth_workers_listening', 'Processes that answer requests.').set(state.listening);
  const { running, fifo, overflow, shares, paced, unanswered } = state.verifications;
  const { verificationsMax: max } = state;
  const bounded = (name: string, help: string, value: number, most: number) => {
    gauge(name, help).set(value);
    gauge(`${name}_max`, `The bound of ${name}.`).set(most);
  };
  bounded('auth_secret_verifications_running', 'BCrypt verifications that run now.', running, max.running);
  bounded(
    'auth_secret_verifications_unanswered',
    'Requests that wait for a verification or for the time of its answer.',
    unanswered,
    max.unanswered,
  );
  const waiting = gauge(
    'auth_secret_verifications_waiting',
    'BCrypt verifications that wait: in the FIFO queue, in the overflow queue that is used when the FIFO queue is full, or for the pace of attempts beyond the limit.',
    'queue',
  );
  for (const [queue, size] of Object.entries({ fifo, overflow, paced })) waiting.set({ queue }, size);
  const waitingMax = gauge(
    'auth_secret_verifications_waiting_max',
    'The bound of auth_secret_verifications_waiting. The FIFO queue is bounded by the work in it.',
    'queue',
  );
  for (const [queue, most] of Object.entries({ overflow: max.overflow, paced: max.paced }))
    waitingMax.set({ queue }, most);
  bounded(
    'auth_secret_verification_shares',
    'Clients and addresses whose share of the overflow queue is remembered.',
    shares,
    max.shares,
  );
  if (state.issuerKeySets !== undefined) {
    const help = 'Key sets of trusted issuers: current, stale (the last attempt to fetch it failed), or absent.';
    const keySets = gauge('auth_issuer_key_sets', help, 'state');
    for (const [keySetState, count] of Object.entries(state.issuerKeySets)) keySets.set({ state: keySetState }, count);
  }
  gauge('auth_refusal_cost', 'The highest BCrypt cost of a refusal of invalid_client.').set(state.refusalCost);
  if (state.usedAssertions !== undefined) {
    const { used, max: most } = state.usedAssertions;
    const help = 'Used assertions of clients that are kept, so that none is used again.';
    bounded('auth_used_assertions', help, used, most);
  }
  if (state.clockOffsetSeconds !== undefined) {
    const help = 'Seconds by which the clock of this machine is ahead of that of the key directory.';
    gauge('auth_clock_offset_seconds', help).set(state.clockOffsetSeconds);
  }
  gauge('auth_clock_offset_seconds_max', 'Beyond this clock offset, in seconds, no key may sign.').set(
    state.clockOffsetSecondsMax,
  );
  addKeyGauges(registry, state.keys);
  gauge('auth_host_cores', 'Cores that the service can use.').set(state.cores);
  gauge('auth_host_memory_bytes', 'Bytes of memory that the container may use, or that the machine has.').set(
    state.memoryBytes,
  );
  return registry.getMetricsAsJSON();
}

function severityOf(readiness: Readiness): number {
  if (!readiness.ready) return 2;
  return readiness.note === undefined ? 0 : 1;
}
