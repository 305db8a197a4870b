import { NodeCryptoAssertionVerifier } from '../../adapters/jwt/node-crypto-assertion-verifier.ts';
import { AttemptLimiter } from '../../adapters/secrets/attempt-limiter.ts';
import { BcryptSecretVerifier } from '../../adapters/secrets/bcrypt-secret-verifier.ts';
import { PlainSecretVerifier } from '../../adapters/secrets/plain-secret-verifier.ts';
import {
  ASSERTION_QUEUE_LIMITS,
  VERIFICATION_QUEUE_LIMITS,
  VerificationQueue,
} from '../../adapters/secrets/verification-queue.ts';
import { VerifiedSecretCache } from '../../adapters/secrets/verified-secret-cache.ts';
import { AuthenticateBySecret } from '../../application/authenticate-by-secret.ts';
import { AuthenticateClient, type AuthenticateClientParts } from '../../application/authenticate-client.ts';
import { UNLIMITED_ATTEMPTS } from '../../application/ports/attempts.ts';
import { VerifyAssertion } from '../../application/verify-assertion.ts';
import { usesSecrets } from '../../domain/authentication-method.ts';
import { StoredSecret, unlock } from '../../domain/stored-secret.ts';
import { type Core, PARTS, part } from '../parts.ts';
import type { Configuration } from '../settings/configuration.ts';
import type { Settings } from '../settings/settings.ts';

/** Connections to the database that are left to requests whose secret is cached, while secrets are looked up. */
const CONNECTIONS_LEFT = 2;

/** Clients, their secrets, and the queues in which their credentials are verified. */
export function registerClientParts(core: Core, { settings, clients }: Configuration): void {
  part(core, PARTS.verifiedSecrets, () => new VerifiedSecretCache(settings.CLIENT_SECRET_CACHE_MAX));
  part(core, PARTS.verificationQueue, () => {
    const { runningMax: concurrent } = core.resolve(PARTS.poolWorks).bcrypt.load;
    const lookUps = Math.max(1, settings.DATABASE_POOL_SIZE - CONNECTIONS_LEFT);
    return new VerificationQueue({ ...VERIFICATION_QUEUE_LIMITS, concurrent, lookUps });
  });
  part(core, PARTS.attempts, () => {
    const failuresPerMinute = settings.CLIENT_FAILURES_PER_MINUTE;
    return failuresPerMinute === 0 ? UNLIMITED_ATTEMPTS : new AttemptLimiter({ failuresPerMinute });
  });
  part(core, PARTS.bcryptVerifier, () => {
    const { CLIENT_SECRET_COST: cost, CLIENT_SECRET_COST_MAX: costMax } = settings;
    const onCostFound = (found: number) => core.resolve(PARTS.log).warn({ event: 'secret_cost_found', cost: found });
    const { run } = core.resolve(PARTS.poolWorks).bcrypt;
    const verifier = new BcryptSecretVerifier({ run, cost, costMax, onCostFound });
    const encoded = clients.flatMap(({ clientSecret, details }) => [
      clientSecret,
      ...(details?.secrets ?? []).map((secret) => secret.encoded),
    ]);
    verifier.useCosts(encoded.map((text) => StoredSecret.parse(unlock(text)).cost));
    return verifier;
  });
  part(core, PARTS.secretVerifier, () => {
    const bcrypt = core.resolve(PARTS.bcryptVerifier);
    return core.resolve(PARTS.storage).hasPlainSecrets ? new PlainSecretVerifier(bcrypt) : bcrypt;
  });

  part(core, PARTS.assertionVerifier, () => {
    return new NodeCryptoAssertionVerifier({ run: core.resolve(PARTS.poolWorks).assertions.run });
  });
  part(core, PARTS.assertionQueue, () => new VerificationQueue(ASSERTION_QUEUE_LIMITS, 'assertion verification'));
  part(core, PARTS.verifyAssertion, () => {
    const { waitUncounted } = core.resolve(PARTS.loadLimit);
    return new VerifyAssertion(
      core.resolve(PARTS.assertionVerifier),
      core.resolve(PARTS.assertionQueue),
      waitUncounted,
    );
  });
}

/** The refusals of unknown clients cost what those of the stored secrets do, once these are known. */
export async function followStoredCosts(core: Core): Promise<void> {
  await core.resolve(PARTS.storage).readCosts?.((costs) => core.resolve(PARTS.bcryptVerifier).useCosts(costs));
}

/** Authentication by each of the methods that are switched on. */
export function registerAuthentication(
  core: Core,
  { CLIENT_AUTHENTICATION_METHODS: methods }: Settings,
  { byKey, byIdentity }: Omit<AuthenticateClientParts, 'bySecret'>,
): void {
  part(core, PARTS.authenticateClient, () => {
    const bySecret = usesSecrets(methods) ? authenticateBySecret(core) : undefined;
    if (bySecret !== undefined && byKey === undefined && byIdentity === undefined) return bySecret;
    return new AuthenticateClient({ bySecret, byKey, byIdentity });
  });
}

function authenticateBySecret(core: Core): AuthenticateBySecret {
  return new AuthenticateBySecret({
    clients: core.resolve(PARTS.clientRepository),
    attempts: core.resolve(PARTS.attempts),
    verifiedSecrets: core.resolve(PARTS.verifiedSecrets),
    slots: core.resolve(PARTS.verificationQueue),
    secrets: core.resolve(PARTS.secretVerifier),
    waitUncounted: core.resolve(PARTS.loadLimit).waitUncounted,
  });
}
