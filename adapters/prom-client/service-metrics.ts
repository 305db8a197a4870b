import { Gauge, Registry } from '@prometheus-io/client';
import type { KeyRingTimes } from '../../application/keys/key-ring.ts';
import { type HealthCheck, severityOf, statesOf } from '../../application/ports/health-check.ts';
import type { MetricsSnapshot, Verifications } from '../../application/ports/telemetry.ts';
import type { UsedAssertionsLoad } from '../../application/ports/used-assertions.ts';

/** The service as a whole, at one moment. */
export interface ServiceState {
  /** What `/readyz` asks. */
  readonly checks: readonly HealthCheck[];
  /** The number of processes that should answer requests, and of those that do. */
  readonly workers: number;
  readonly listening: number;
  readonly verifications: Verifications;
  readonly verificationsMax: Verifications;
  /** The highest BCrypt cost of a refusal. */
  readonly refusalCost: number;
  /** Undefined if no method needs them. */
  readonly usedAssertions?: UsedAssertionsLoad;
  /** How many key sets of trusted issuers are as they should be, older than that, or missing; undefined if no method needs them. */
  readonly issuerKeySets?: Readonly<Record<'current' | 'stale' | 'absent', number>>;
  /** By how many seconds the clock of day is ahead of the key directory's clock; undefined while nothing tells. */
  readonly clockOffsetSeconds: number | undefined;
  /** The offset from which on no key may sign. */
  readonly clockOffsetSecondsMax: number;
  readonly keys: KeyRingTimes & {
    /** Keys of this service, and of other replicas, with which a token may have been signed that is valid. */
    readonly trusted: number;
  };
  /** What the service may use. */
  readonly cores: number;
  readonly memoryBytes: number;
}

/** The metrics of the service as a whole. They belong to the process that has the verification queue. */
export function serviceMetrics(state: ServiceState): Promise<MetricsSnapshot> {
  const registry = new Registry();
  /** None while the value is not known. */
  const gauge = (name: string, help: string, value: number | undefined, max?: number) => {
    if (value !== undefined) new Gauge({ name, help, registers: [registry] }).set(value);
    if (max !== undefined) gauge(`${name}_max`, `The bound of ${name}.`, max);
  };
  const gauges = (label: string, name: string, help: string, values: Readonly<Record<string, number>>) => {
    const gauge = new Gauge<string>({ name, help, labelNames: [label], registers: [registry] });
    for (const [key, value] of Object.entries(values)) gauge.set({ [label]: key }, value);
  };

  const { verifications, verificationsMax: max, issuerKeySets, usedAssertions, keys } = state;
  const states = statesOf(state.checks);
  const isReady = states.every(({ ready }) => ready);
  gauge('auth_ready', '1 where /readyz answers 200, else 0.', isReady ? 1 : 0);
  const severities = states.map((check) => [check.name, severityOf(check)]);
  const severity = 'Checks of /readyz: 0 ready, 1 ready with a note, 2 not ready.';
  gauges('check', 'auth_check_severity', severity, Object.fromEntries(severities));
  gauge('auth_workers', 'Processes that should answer requests.', state.workers);
  gauge('auth_workers_listening', 'Processes that answer requests.', state.listening);
  const running = 'BCrypt verifications that run now.';
  gauge('auth_secret_verifications_running', running, verifications.running, max.running);
  const unanswered = 'Requests that wait for a verification or for the time of its answer.';
  gauge('auth_secret_verifications_unanswered', unanswered, verifications.unanswered, max.unanswered);
  const { fifo, overflow, paced } = verifications;
  gauges(
    'queue',
    'auth_secret_verifications_waiting',
    'BCrypt verifications that wait: in the FIFO queue, in the overflow queue that is used when the FIFO queue is full, or for the pace of attempts beyond the limit.',
    { fifo, overflow, paced },
  );
  gauges(
    'queue',
    'auth_secret_verifications_waiting_max',
    'The bound of auth_secret_verifications_waiting. The FIFO queue is bounded by the work in it.',
    { overflow: max.overflow, paced: max.paced },
  );
  const shares = 'Clients and addresses whose share of the overflow queue is remembered.';
  gauge('auth_secret_verification_shares', shares, verifications.shares, max.shares);
  if (issuerKeySets !== undefined) {
    const help = 'Key sets of trusted issuers: current, stale (the last attempt to fetch it failed), or absent.';
    gauges('state', 'auth_issuer_key_sets', help, issuerKeySets);
  }
  gauge('auth_refusal_cost', 'The highest BCrypt cost of a refusal of invalid_client.', state.refusalCost);
  const used = 'Used assertions of clients that are kept, so that none is used again.';
  gauge('auth_used_assertions', used, usedAssertions?.used, usedAssertions?.max);
  const offset = 'Seconds by which the clock of this machine is ahead of that of the key directory.';
  gauge('auth_clock_offset_seconds', offset, state.clockOffsetSeconds);
  const offsetMax = 'Beyond this clock offset, in seconds, no key may sign.';
  gauge('auth_clock_offset_seconds_max', offsetMax, state.clockOffsetSecondsMax);
  gauge('auth_trusted_keys', 'Public keys that tokens are verified with, of all replicas.', keys.trusted);
  gauge('auth_signing_key_age_seconds', 'Seconds since the key began to sign; negative until it does.', keys.age);
  const lease = 'Seconds until the key may not sign any more, if the key directory does not answer.';
  gauge('auth_signing_key_lease_seconds', lease, keys.lease);
  const rotation = 'Seconds until the next key is due to sign; negative if it is late.';
  gauge('auth_signing_key_rotation_seconds', rotation, keys.rotation);
  gauge('auth_key_directory_age_seconds', 'Seconds since the key directory was read.', keys.directoryAge);
  gauge('auth_host_cores', 'Cores that the service can use.', state.cores);
  const memory = 'Bytes of memory that the container may use, or that the machine has.';
  gauge('auth_host_memory_bytes', memory, state.memoryBytes);
  return registry.getMetricsAsJSON();
}
