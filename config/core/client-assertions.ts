import { IMPORTED_KEYS_MAX } from '../../adapters/jwt/node-crypto-assertion-verifier.ts';
import { SHARES_MAX } from '../../adapters/secrets/fair-queue.ts';
import { sendOnlySecrets } from '../../domain/authentication-method.ts';
import { type Core, PARTS } from '../container.ts';
import type { Feature } from '../feature.ts';
import type { Settings } from '../settings/settings.ts';
import { verifiedMethods } from '../settings/verified-methods.ts';

/** What the methods with a signed assertion share: the verification of signatures, and its queue. */
export function clientAssertions(settings: Settings, core: Core): Feature | undefined {
  if (sendOnlySecrets(verifiedMethods(settings))) return undefined;
  const [verifier, queue] = [core.resolve(PARTS.assertionVerifier), core.resolve(PARTS.assertionQueue)];
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
