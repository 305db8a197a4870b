import { randomBytes } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { AttemptLimiter } from '../adapters/secrets/attempt-limiter.ts';
import { BcryptSecretVerifier } from '../adapters/secrets/bcrypt-secret-verifier.ts';
import { PlainSecretVerifier } from '../adapters/secrets/plain-secret-verifier.ts';
import { VERIFICATION_QUEUE_LIMITS, VerificationQueue } from '../adapters/secrets/verification-queue.ts';
import { VerifiedSecretCache, type VerifiedSecretCacheOptions } from '../adapters/secrets/verified-secret-cache.ts';
import type { Clock } from '../application/ports/clock.ts';
import type { SecretVerifier } from '../application/ports/secret-verifier.ts';
import type { ClosableVerificationSlots } from '../application/ports/verification-slots.ts';
import { StoredSecret } from '../domain/stored-secret.ts';
import type { Configuration } from './settings/configuration.ts';
import type { Settings } from './settings/settings.ts';

/** Threads of libuv's pool in each process that verifies, one of which stays free for other work. */
const POOL_THREADS = 4;

/** One core stays free for requests that need no verification. */
export function createVerificationQueue({ WORKERS }: Settings): VerificationQueue {
  const concurrent = Math.min(Math.max(1, availableParallelism() - 1), WORKERS * (POOL_THREADS - 1));
  return new VerificationQueue({ ...VERIFICATION_QUEUE_LIMITS, concurrent });
}

export function limitAttempts(
  slots: ClosableVerificationSlots,
  { CLIENT_FAILURES_PER_MINUTE }: Settings,
): ClosableVerificationSlots {
  return CLIENT_FAILURES_PER_MINUTE === 0 ? slots : new AttemptLimiter(slots, CLIENT_FAILURES_PER_MINUTE);
}

/** By default under a key of its own; the workers of one service share a key. */
export function createVerifiedSecretCache(
  settings: Settings,
  clock: Clock,
  shared: Partial<VerifiedSecretCacheOptions> = {},
): VerifiedSecretCache {
  const lifetimeSeconds = settings.CLIENT_SECRET_REMEMBERED_SECONDS;
  return new VerifiedSecretCache(clock, { key: randomBytes(32), lifetimeSeconds, ...shared });
}

/** BCrypt; and `{noop}` for registrations in memory, whose costs are known from the start. */
export function createSecretVerifier({ settings, clients }: Configuration): SecretVerifier {
  const costs = clients
    .map(({ clientSecret }) => StoredSecret.parse(clientSecret))
    .flatMap(({ kind, cost }) => (kind === 'bcrypt' ? [cost] : []));
  const bcrypt = new BcryptSecretVerifier(Math.max(settings.CLIENT_SECRET_COST, ...costs), costs);
  return settings.CLIENT_REPOSITORY === 'memory' ? new PlainSecretVerifier(bcrypt) : bcrypt;
}
