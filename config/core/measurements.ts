import { IMPORTED_KEYS_MAX } from '../../adapters/jwt/node-crypto-assertion-verifier.ts';
import { SIGNATURES_MAX } from '../../adapters/jwt/signing-threads.ts';
import type { Measure, MetricValues } from '../../adapters/prom-client/metric-values.ts';
import { AttemptLimiter } from '../../adapters/secrets/attempt-limiter.ts';
import { SHARES_MAX } from '../../adapters/secrets/fair-queue.ts';
import { availableCores, memoryLimit } from '../../adapters/system/host-limits.ts';
import { severityOf } from '../../application/ports/health-check.ts';
import type { Verifications } from '../../application/ports/telemetry.ts';
import { usesAssertions } from '../../domain/authentication-method.ts';
import { CLOCK_OFFSET_SECONDS_MAX } from '../../domain/clock-offset.ts';
import { type Core, PARTS } from '../parts.ts';
import type { Settings } from '../settings/settings.ts';

/** Measures what the service holds and uses, whatever its storage. */
export function measureService(core: Core, settings: Settings): Measure {
  return (values) => {
    measureHealth(core, values);
    measureVerifications(core, settings, values);
    measureKeys(core, values);
    values.gauge('auth_host_cores', 'Cores that the service can use.', availableCores());
    const memoryHelp = 'Bytes of memory that the container may use, or that the machine has.';
    values.gauge('auth_host_memory_bytes', memoryHelp, memoryLimit());
    const attempts = core.resolve(PARTS.attempts);
    const { pairs, pairsMax } = attempts instanceof AttemptLimiter ? attempts : { pairs: 0, pairsMax: 0 };
    const countedHelp = 'Pairs of client id and address whose failed attempts are counted.';
    values.gauge('auth_failed_attempt_counts', countedHelp, pairs, pairsMax);
    const { inProgress } = core.resolve(PARTS.signingThreads);
    const signaturesHelp = 'Signatures by RSA that wait for a thread, or that one makes.';
    values.gauge('auth_signatures_in_progress', signaturesHelp, inProgress, SIGNATURES_MAX);
    const { linesLost, bufferedBytes, bufferedBytesMax } = core.resolve(PARTS.auditOutput).measured;
    const lostHelp = 'Audit events that were lost because they could not be written, or not fast enough.';
    values.total('auth_audit_lines_lost_total', lostHelp, linesLost);
    const bufferedHelp = 'Bytes of audit events that wait to be written to AUDIT_FILE.';
    values.gauge('auth_audit_buffered_bytes', bufferedHelp, bufferedBytes, bufferedBytesMax);
    if (usesAssertions(settings.CLIENT_AUTHENTICATION_METHODS)) measureAssertions(core, values);
  };
}

function measureAssertions(core: Core, values: MetricValues): void {
  const keysHelp = 'Public keys that have verified an assertion and are kept ready for the next one.';
  values.gauge('auth_assertion_keys', keysHelp, core.resolve(PARTS.assertionVerifier).importedKeys, IMPORTED_KEYS_MAX);
  const { load, limits, shares } = core.resolve(PARTS.assertionQueue);
  const unansweredHelp = 'Requests that wait for the verification of an assertion or for the time of its answer.';
  values.gauge('auth_assertion_verifications_unanswered', unansweredHelp, load.unanswered, limits.unanswered);
  const overflowHelp =
    'Requests that wait in the overflow queue of assertions, which is used when the FIFO queue is full.';
  values.gauge('auth_assertion_verifications_overflow', overflowHelp, load.overflow, limits.unanswered);
  const rememberedHelp = 'Clients and addresses whose share of the overflow queue of assertions is remembered.';
  values.gauge('auth_assertion_verification_shares', rememberedHelp, shares, SHARES_MAX);
}

/** The FIFO queue is bounded by its work: its bound is the number of verifications of the least cost of a refusal. */
export function verifications(
  core: Core,
  { CLIENT_SECRET_COST: cost }: Settings,
): { readonly now: Verifications; readonly bounds: Verifications } {
  const { load, limits, shares } = core.resolve(PARTS.verificationQueue);
  const { concurrent: running, unanswered, fifoRounds } = limits;
  const fifo = Math.max(1, Math.floor((fifoRounds * running) / 2 ** cost));
  return {
    now: { ...load, shares },
    bounds: { running, fifo, overflow: unanswered, unanswered, shares: SHARES_MAX },
  };
}

function measureHealth(core: Core, values: MetricValues): void {
  const states = core
    .resolve(PARTS.healthChecks)()
    .map((check) => [check.name, check.readiness()] as const);
  const isReady = states.every(([, { ready }]) => ready);
  values.gauge('auth_ready', '1 where /readyz answers 200, else 0.', isReady ? 1 : 0);
  const severities = states.map(([name, readiness]) => [name, severityOf(readiness)]);
  const severityHelp = 'Checks of /readyz: 0 ready, 1 ready with a note, 2 not ready.';
  values.gauges('check', 'auth_check_severity', severityHelp, Object.fromEntries(severities));
}

function measureVerifications(core: Core, settings: Settings, values: MetricValues): void {
  const { now, bounds } = verifications(core, settings);
  const runningHelp = 'BCrypt verifications that run now.';
  values.gauge('auth_secret_verifications_running', runningHelp, now.running, bounds.running);
  const unansweredHelp = 'Requests that wait for a verification or for the time of its answer.';
  values.gauge('auth_secret_verifications_unanswered', unansweredHelp, now.unanswered, bounds.unanswered);
  values.gauges(
    'queue',
    'auth_secret_verifications_waiting',
    'BCrypt verifications that wait: in the FIFO queue, or in the overflow queue that is used when the FIFO queue is full.',
    { fifo: now.fifo, overflow: now.overflow },
  );
  values.gauges(
    'queue',
    'auth_secret_verifications_waiting_max',
    'The bound of auth_secret_verifications_waiting. The FIFO queue is bounded by the work in it.',
    { overflow: bounds.overflow },
  );
  const sharesHelp = 'Clients and addresses whose share of the overflow queue is remembered.';
  values.gauge('auth_secret_verification_shares', sharesHelp, now.shares, bounds.shares);
  const cost = Math.max(...core.resolve(PARTS.bcryptVerifier).costs);
  values.gauge('auth_refusal_cost', 'The highest BCrypt cost of a refusal of invalid_client.', cost);
}

function measureKeys(core: Core, values: MetricValues): void {
  const keyRing = core.resolve(PARTS.keyRing);
  const offsetHelp = 'Seconds by which the clock of this machine is ahead of that of the key directory.';
  values.gauge('auth_clock_offset_seconds', offsetHelp, keyRing.clockOffsetSeconds());
  const offsetMaxHelp = 'Beyond this clock offset, in seconds, no key may sign.';
  values.gauge('auth_clock_offset_seconds_max', offsetMaxHelp, CLOCK_OFFSET_SECONDS_MAX);
  values.gauge('auth_trusted_keys', 'Public keys that tokens are verified with.', keyRing.size);
  const { age, end, rotation, directoryAge } = keyRing.times();
  values.gauge('auth_signing_key_age_seconds', 'Seconds since the key began to sign.', age);
  const endHelp = 'Seconds until no key may sign any more, if the key directory does not answer.';
  values.gauge('auth_signing_keys_end_seconds', endHelp, end);
  const rotationHelp = 'Seconds until the next key signs.';
  values.gauge('auth_signing_key_rotation_seconds', rotationHelp, rotation);
  values.gauge('auth_key_directory_age_seconds', 'Seconds since the key directory was read.', directoryAge);
}
