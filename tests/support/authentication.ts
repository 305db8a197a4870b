import { BcryptSecretVerifier } from '../../adapters/secrets/bcrypt-secret-verifier.ts';
import { VerificationQueue } from '../../adapters/secrets/verification-queue.ts';
import { VerifiedSecretCache } from '../../adapters/secrets/verified-secret-cache.ts';
import { AuthenticateBySecret, type AuthenticateBySecretParts } from '../../application/authenticate-by-secret.ts';
import { UNLIMITED_ATTEMPTS } from '../../application/ports/attempts.ts';
import type { SecretVerifier } from '../../application/ports/secret-verifier.ts';

/** BCrypt at the lowest cost. Calls `onVerify` with the stored secret that it compares with. */
export function watchedBcrypt(onVerify: (stored: Parameters<SecretVerifier['verify']>[1]) => void): SecretVerifier {
  const bcrypt = new BcryptSecretVerifier({ cost: 4, costMax: 14 });
  return {
    cost: bcrypt.cost,
    verify(presented, stored) {
      onVerify(stored);
      return bcrypt.verify(presented, stored);
    },
  };
}

/** The use case with the service's own cache and queue. Each call creates new ones. */
export function authenticateBySecretWith(
  parts: Pick<AuthenticateBySecretParts, 'clients' | 'secrets'> & Partial<AuthenticateBySecretParts>,
): AuthenticateBySecret {
  return new AuthenticateBySecret({
    verifiedSecrets: new VerifiedSecretCache(1_000),
    slots: new VerificationQueue(),
    attempts: UNLIMITED_ATTEMPTS,
    ...parts,
  });
}
