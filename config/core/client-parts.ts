import type { DependencyContainer } from 'tsyringe';
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
import { AuthenticateClient } from '../../application/authenticate-client.ts';
import { UNLIMITED_ATTEMPTS } from '../../application/ports/attempts.ts';
import { VerifyAssertion } from '../../application/verify-assertion.ts';
import { usesSecrets } from '../../domain/authentication-method.ts';
import { StoredSecret, unlock } from '../../domain/stored-secret.ts';
import type { Service } from '../capability.ts';
import { PARTS } from '../parts.ts';
import { type Get, part } from '../registration.ts';

/** Connections to the database that are left to requests whose secret is cached, while secrets are looked up. */
const CONNECTIONS_LEFT = 2;

/** Clients, their secrets, and the queues in which their credentials are verified. */
export function registerClientParts(parts: DependencyContainer, { configuration, settings }: Service): void {
  const { clients } = configuration;
  part(parts, PARTS.clientRepository, (get) => get(PARTS.storage).clients);

  part(parts, PARTS.verifiedSecrets, () => new VerifiedSecretCache(settings.CLIENT_SECRET_CACHE_MAX));
  part(parts, PARTS.verificationQueue, (get) => {
    const { runningMax: concurrent } = get(PARTS.poolWorks).bcrypt.load;
    const lookUps = Math.max(1, settings.DATABASE_POOL_SIZE - CONNECTIONS_LEFT);
    return new VerificationQueue({ ...VERIFICATION_QUEUE_LIMITS, concurrent, lookUps });
  });
  part(parts, PARTS.attempts, () => {
    const failuresPerMinute = settings.CLIENT_FAILURES_PER_MINUTE;
    return failuresPerMinute === 0 ? UNLIMITED_ATTEMPTS : new AttemptLimiter({ failuresPerMinute });
  });
  part(parts, PARTS.bcryptVerifier, (get) => {
    const { CLIENT_SECRET_COST: cost, CLIENT_SECRET_COST_MAX: costMax } = settings;
    const onCostFound = (found: number) => get(PARTS.log).warn({ event: 'secret_cost_found', cost: found });
    const { run } = get(PARTS.poolWorks).bcrypt;
    const verifier = new BcryptSecretVerifier({ run, cost, costMax, onCostFound });
    const encoded = clients.flatMap(({ clientSecret, details }) => [
      clientSecret,
      ...(details?.secrets ?? []).map((secret) => secret.encoded),
    ]);
    verifier.useCosts(encoded.map((text) => StoredSecret.parse(unlock(text)).cost));
    return verifier;
  });
  part(parts, PARTS.secretVerifier, (get) => {
    const bcrypt = get(PARTS.bcryptVerifier);
    return get(PARTS.storage).hasPlainSecrets ? new PlainSecretVerifier(bcrypt) : bcrypt;
  });
  const authenticateBySecret = (get: Get) => {
    const observe = get(PARTS.observe);
    return new AuthenticateBySecret({
      clients: observe.clients(get(PARTS.clientRepository)),
      attempts: get(PARTS.attempts),
      verifiedSecrets: get(PARTS.verifiedSecrets),
      slots: observe.slots(get(PARTS.verificationQueue)),
      secrets: observe.secrets(get(PARTS.secretVerifier)),
      waitUncounted: get(PARTS.loadLimit).waitUncounted,
    });
  };

  part(parts, PARTS.assertionVerifier, (get) => {
    return new NodeCryptoAssertionVerifier({ run: get(PARTS.poolWorks).assertions.run });
  });
  part(parts, PARTS.assertionQueue, () => new VerificationQueue(ASSERTION_QUEUE_LIMITS, 'assertion verification'));
  part(parts, PARTS.verifyAssertion, (get) => {
    const observe = get(PARTS.observe);
    const [verifier, slots] = [
      observe.assertions(get(PARTS.assertionVerifier)),
      observe.slots(get(PARTS.assertionQueue)),
    ];
    return new VerifyAssertion(verifier, slots, get(PARTS.loadLimit).waitUncounted);
  });
  part(parts, PARTS.authenticateClient, (get) => {
    const methods = settings.CLIENT_AUTHENTICATION_METHODS;
    const bySecret = usesSecrets(methods) ? authenticateBySecret(get) : undefined;
    const byKey = get.optional(PARTS.authenticateByKey);
    const byIdentity = get.optional(PARTS.authenticateByIdentity);
    if (bySecret !== undefined && byKey === undefined && byIdentity === undefined) return bySecret;
    return new AuthenticateClient({ bySecret, byKey, byIdentity });
  });
}
