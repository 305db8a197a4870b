import type { DependencyContainer } from 'tsyringe';
import { NodeCryptoAssertionVerifier } from '../../adapters/jwt/node-crypto-assertion-verifier.ts';
import { AttemptLimiter } from '../../adapters/secrets/attempt-limiter.ts';
import { BcryptSecretVerifier } from '../../adapters/secrets/bcrypt-secret-verifier.ts';
import { PacedAttempts } from '../../adapters/secrets/paced-attempts.ts';
import { PlainSecretVerifier } from '../../adapters/secrets/plain-secret-verifier.ts';
import {
  ASSERTION_QUEUE_LIMITS,
  VERIFICATION_QUEUE_LIMITS,
  VerificationQueue,
} from '../../adapters/secrets/verification-queue.ts';
import { VerifiedSecretCache } from '../../adapters/secrets/verified-secret-cache.ts';
import { AuthenticateBySecret } from '../../application/authenticate-by-secret.ts';
import { AuthenticateClient } from '../../application/authenticate-client.ts';
import { VerifyAssertion } from '../../application/verify-assertion.ts';
import { usesSecrets } from '../../domain/authentication-method.ts';
import { StoredSecret } from '../../domain/stored-secret.ts';
import type { Service } from '../capability.ts';
import { PARTS } from '../parts.ts';
import { type Get, part } from '../registration.ts';
import { NO_RESOURCES } from '../storages.ts';

/** Clients, their secrets, and the queues in which their credentials are verified. */
export function registerClientParts(parts: DependencyContainer, { configuration, settings }: Service): void {
  const { clients } = configuration;
  part(parts, PARTS.clientRepository, (get) => get(PARTS.storage).clients);
  part(parts, PARTS.clientResources, (get) => get(PARTS.storage).resources ?? NO_RESOURCES);

  part(parts, PARTS.verifiedSecrets, (get) => {
    const lifetimeSeconds = settings.CLIENT_SECRET_REMEMBERED_SECONDS;
    return new VerifiedSecretCache(get(PARTS.clock), { lifetimeSeconds });
  });
  part(parts, PARTS.verificationQueue, (get) => {
    const { runningMax: concurrent } = get(PARTS.poolWorks).bcrypt.load;
    return new VerificationQueue({ ...VERIFICATION_QUEUE_LIMITS, concurrent });
  });
  part(parts, PARTS.pacedAttempts, () => new PacedAttempts());
  part(parts, PARTS.verificationSlots, (get) => {
    const queue = get(PARTS.verificationQueue);
    const failuresPerMinute = settings.CLIENT_FAILURES_PER_MINUTE;
    if (failuresPerMinute === 0) return queue;
    return new AttemptLimiter(queue, { failuresPerMinute, paced: get(PARTS.pacedAttempts) });
  });
  part(parts, PARTS.bcryptVerifier, (get) => {
    const { CLIENT_SECRET_COST: cost, CLIENT_SECRET_COST_MAX: costMax } = settings;
    const onCostFound = (found: number) => get(PARTS.log).warn({ event: 'secret_cost_found', cost: found });
    const { run } = get(PARTS.poolWorks).bcrypt;
    const verifier = new BcryptSecretVerifier({ run, cost, costMax, onCostFound });
    for (const { clientSecret, details } of clients) {
      const encoded = [clientSecret, ...(details?.secrets ?? []).map((secret) => secret.encoded)];
      for (const text of encoded) verifier.includeCost(StoredSecret.parse(text).cost);
    }
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
      verifiedSecrets: get(PARTS.verifiedSecrets),
      slots: get(PARTS.loadLimit).withUncountedWaits(observe.slots(get(PARTS.verificationSlots))),
      secrets: observe.secrets(get(PARTS.secretVerifier)),
    });
  };

  part(parts, PARTS.assertionVerifier, (get) => {
    return new NodeCryptoAssertionVerifier({ run: get(PARTS.poolWorks).assertions.run });
  });
  part(parts, PARTS.assertionQueue, () => new VerificationQueue(ASSERTION_QUEUE_LIMITS, 'assertion verification'));
  part(parts, PARTS.verifyAssertion, (get) => {
    const observe = get(PARTS.observe);
    const slots = get(PARTS.loadLimit).withUncountedWaits(observe.slots(get(PARTS.assertionQueue)));
    return new VerifyAssertion(observe.assertions(get(PARTS.assertionVerifier)), slots);
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
