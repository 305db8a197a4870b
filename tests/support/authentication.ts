import { BcryptSecretVerifier } from '../../adapters/secrets/bcrypt-secret-verifier.ts';
import { VerificationQueue } from '../../adapters/secrets/verification-queue.ts';
import { VerifiedSecretCache } from '../../adapters/secrets/verified-secret-cache.ts';
import { AuthenticateBySecret, type AuthenticateBySecretParts } from '../../application/authenticate-by-secret.ts';
import { UNLIMITED_ATTEMPTS } from '../../application/ports/attempts.ts';
import type { SecretVerifier } from '../../application/ports/secret-verifier.ts';

/** BCrypt at the lowest cost. Calls `onVerify` with whether it compares with the secret of the client itself. */
export function watchedBcrypt(onVerify: (isRegistered: boolean) => void): SecretVerifier {
  const bcrypt = new BcryptSecretVerifier({ cost: 4, costMax: 14 });
  return {
    cost: bcrypt.cost,
    verify(presented, stored, isRegistered) {
      onVerify(isRegistered);
      return bcrypt.verify(presented, stored, isRegistered);
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
