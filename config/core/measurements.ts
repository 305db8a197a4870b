import { IMPORTED_KEYS_MAX } from '../../adapters/jwt/node-crypto-assertion-verifier.ts';
import type { ServiceState } from '../../adapters/prom-client/service-metrics.ts';
import { AttemptLimiter } from '../../adapters/secrets/attempt-limiter.ts';
import { availableCores, memoryLimit } from '../../adapters/system/host-limits.ts';
import { usesAssertions } from '../../domain/authentication-method.ts';
import type { ExpiringCredentials } from '../../domain/client-details.ts';
import { CLOCK_OFFSET_SECONDS_MAX } from '../../domain/clock-offset.ts';
import { LISTS, PARTS } from '../parts.ts';
import type { Get } from '../registration.ts';
import type { Settings } from '../settings/settings.ts';

/** Measures what each process that answers requests holds, whatever its storage. */
export function measureProcess(get: Get, { CLIENT_AUTHENTICATION_METHODS }: Settings): void {
  const metrics = get(PARTS.processMetrics);
  metrics.measureCache(() => get(PARTS.verifiedSecrets));
  const limiter = () => {
    const slots = get(PARTS.verificationSlots);
    return slots instanceof AttemptLimiter ? slots : { pairs: 0, pairsMax: 0 };
  };
  metrics.measure(
    'auth_failed_attempt_counts',
    'Pairs of client id and address whose failed attempts are counted.',
    () => limiter().pairs,
    () => limiter().pairsMax,
  );
  const audit = () => get(PARTS.auditOutput).measured;
  metrics.countTotal(
    'auth_audit_lines_lost_total',
    'Audit events that were lost because they could not be written, or not fast enough.',
    () => audit().linesLost,
  );
  metrics.measure(
    'auth_audit_buffered_bytes',
    'Bytes of audit events that wait to be written to AUDIT_FILE.',
    () => audit().bufferedBytes,
    () => audit().bufferedBytesMax,
  );
  if (usesAssertions(CLIENT_AUTHENTICATION_METHODS)) {
    metrics.measure(
      'auth_assertion_keys',
      'Public keys that have verified an assertion and are kept ready for the next one.',
      () => get(PARTS.assertionVerifier).importedKeys,
      IMPORTED_KEYS_MAX,
    );
    const queue = () => get(PARTS.assertionQueue);
    metrics.measure(
      'auth_assertion_verifications_unanswered',
      'Requests that wait for the verification of an assertion or for the time of its answer.',
      () => queue().load.unanswered,
      () => queue().limits.unanswered,
    );
    metrics.measure(
      'auth_assertion_verifications_overflow',
      'Requests that wait in the overflow queue of assertions, which is used when the FIFO queue is full.',
      () => queue().load.overflow,
      () => queue().limits.overflow,
    );
    metrics.measure(
      'auth_assertion_verification_shares',
      'Clients and addresses whose share of the overflow queue of assertions is remembered.',
      () => queue().shares,
      () => queue().sharesMax,
    );
  }
}

/** Measures the credentials that expire soon, in a process that knows them. */
export function measureExpiring(get: Get): void {
  const expiring = get.optional(PARTS.storage)?.expiring;
  if (expiring === undefined) return;
  const measure = (kind: keyof ExpiringCredentials) =>
    get(PARTS.processMetrics).measure(
      `auth_client_${kind}_expiring`,
      `Valid ${kind} of clients that expire within 30 days.`,
      () => expiring()[kind],
    );
  measure('secrets');
  measure('keys');
}

/** The FIFO queue is bounded by its work: its bound is the number of verifications of the least cost of a refusal. */
export function verifications(
  get: Get,
  { CLIENT_SECRET_COST: cost }: Settings,
): Pick<ServiceState, 'verifications' | 'verificationsMax'> {
  const [{ load, limits, shares, sharesMax }, paced] = [get(PARTS.verificationQueue), get(PARTS.pacedAttempts)];
  const { concurrent: running, overflow, unanswered, fifoRounds } = limits;
  const fifo = Math.max(1, Math.floor((fifoRounds * running) / 2 ** cost));
  return {
    verifications: { ...load, shares, paced: paced.size },
    verificationsMax: { running, fifo, overflow, unanswered, shares: sharesMax, paced: paced.max },
  };
}

/** What is measured of the service as a whole, in the process that has the verification queue. */
export function serviceState(get: Get, settings: Settings): ServiceState {
  const keyRing = get(PARTS.keyRing);
  const workers = get.optional(PARTS.workers);
  return {
    checks: get(PARTS.healthChecks)(),
    workers: workers === undefined ? 1 : settings.WORKERS,
    listening: workers?.listening ?? Number(get(PARTS.httpServer).listening),
    ...verifications(get, settings),
    refusalCost: Math.max(...get(PARTS.bcryptVerifier).costs),
    clockOffsetSeconds: keyRing.clockOffsetSeconds(),
    clockOffsetSecondsMax: CLOCK_OFFSET_SECONDS_MAX,
    keys: { ...keyRing.times(), trusted: new Set(keyRing.state().trusted.map(({ jwk }) => jwk.kid)).size },
    cores: availableCores(),
    memoryBytes: memoryLimit(),
    ...Object.assign({}, ...get.all(LISTS.serviceState).map((read) => read())),
  };
}
