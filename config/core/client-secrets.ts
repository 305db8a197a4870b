import { AttemptLimiter } from '../../adapters/secrets/attempt-limiter.ts';
import { SHARES_MAX } from '../../adapters/secrets/fair-queue.ts';
import { VerifiedSecretCache } from '../../adapters/secrets/verified-secret-cache.ts';
import { AuthenticateBySecret } from '../../application/authenticate-by-secret.ts';
import { UNLIMITED_ATTEMPTS } from '../../application/ports/attempts.ts';
import type { NewClient } from '../../domain/client-registration.ts';
import { StoredSecret, unlock } from '../../domain/stored-secret.ts';
import { type Core, PARTS } from '../container.ts';
import type { Feature } from '../feature.ts';
import type { Configuration } from '../settings/configuration.ts';

interface ClientSecrets extends Feature {
  readonly method: AuthenticateBySecret;
}

/**
 * `client_secret_post` and `client_secret_basic`: the secrets of clients, the queue in which they are verified, and
 * what slows guesses down.
 */
export async function clientSecrets({ settings, clients }: Configuration, core: Core): Promise<ClientSecrets> {
  const { CLIENT_FAILURES_PER_MINUTE: failuresPerMinute } = settings;
  const limiter = failuresPerMinute === 0 ? undefined : new AttemptLimiter({ failuresPerMinute });
  const cache = new VerifiedSecretCache(settings.CLIENT_SECRET_CACHE_MAX);
  const [bcrypt, queue] = [core.resolve(PARTS.bcrypt), core.resolve(PARTS.verificationQueue)];
  bcrypt.useCosts(clients.flatMap(costsOf));
  await core.resolve(PARTS.storage).readCosts?.((costs) => bcrypt.useCosts(costs));
  const method = new AuthenticateBySecret({
    clients: core.resolve(PARTS.clientRepository),
    attempts: limiter ?? UNLIMITED_ATTEMPTS,
    verifiedSecrets: cache,
    slots: queue,
    secrets: core.resolve(PARTS.secretVerifier),
  });
  return {
    method,
    endWaits: () => queue.close(),
    metrics(values) {
      values.gauge('auth_verified_secrets', cache.size, cache.max);
      values.total('auth_verified_secret_lookups_total', cache.lookUps);
      values.total('auth_verified_secret_hits_total', cache.hits);
      const { load, limits, shares } = queue;
      values.gauge('auth_secret_verifications_running', load.running, limits.concurrent);
      values.gauge('auth_secret_verifications_unanswered', load.unanswered, limits.unanswered);
      values.gauges('queue', 'auth_secret_verifications_waiting', { fifo: load.fifo, overflow: load.overflow });
      values.gauges('queue', 'auth_secret_verifications_waiting_max', { overflow: limits.unanswered });
      values.gauge('auth_secret_verification_shares', shares, SHARES_MAX);
      values.gauge('auth_refusal_cost', Math.max(...bcrypt.costs));
      values.gauge('auth_failed_attempt_counts', limiter?.pairs ?? 0, limiter?.pairsMax ?? 0);
    },
  };
}

function costsOf({ clientSecret, details }: NewClient) {
  const encoded = [clientSecret, ...(details?.secrets ?? []).map((secret) => secret.client_secret)];
  return encoded.map((text) => StoredSecret.parse(unlock(text)).cost);
}
