import { IMPORTED_KEYS_MAX, NodeCryptoAssertionVerifier } from '../../adapters/jwt/node-crypto-assertion-verifier.ts';
import { SHARES_MAX } from '../../adapters/secrets/fair-queue.ts';
import { ASSERTION_QUEUE_LIMITS, VerificationQueue } from '../../adapters/secrets/verification-queue.ts';
import { VerifyAssertion } from '../../application/verify-assertion.ts';
import { sendOnlySecrets } from '../../domain/authentication-method.ts';
import type { Feature } from '../feature.ts';
import { type Core, PARTS, part } from '../parts.ts';
import { boundsOfPool } from '../pool-work.ts';
import type { Settings } from '../settings/settings.ts';
import { verifiedMethods } from '../settings/verified-methods.ts';

/** What the methods with a signed assertion share: the verification of signatures, and its queue. */
export function clientAssertions(settings: Settings, core: Core): Feature | undefined {
  if (sendOnlySecrets(verifiedMethods(settings))) return undefined;
  const verifier = new NodeCryptoAssertionVerifier();
  part(core, PARTS.assertionQueue, () => {
    const limits = { ...ASSERTION_QUEUE_LIMITS, concurrent: boundsOfPool().assertions };
    return new VerificationQueue(limits, 'assertion verification');
  });
  const queue = core.resolve(PARTS.assertionQueue);
  part(core, PARTS.verifyAssertion, () => new VerifyAssertion(verifier, queue));
  return {
    endWaits: () => queue.close(),
    metrics(values) {
      values.gauge('auth_assertion_keys', verifier.importedKeys, IMPORTED_KEYS_MAX);
      const { load, limits, shares } = queue;
      values.gauge('auth_assertion_verifications_unanswered', load.unanswered, limits.unanswered);
      values.gauge('auth_assertion_verifications_overflow', load.overflow, limits.unanswered);
      values.gauge('auth_assertion_verification_shares', shares, SHARES_MAX);
    },
  };
}
