import type { StoredSecret } from '../../domain/stored-secret.ts';
import type { SecretCredentials } from './client-credentials.ts';

/**
 * The cache of verified secrets: a client with a cache hit needs no verification. It contains no refusals. What was
 * verified stays verified as long as the stored secret is the same. No method fails.
 */
export interface VerifiedSecrets {
  /** Identifies a client id with a presented secret. Worth nothing outside of this process. Costs one HMAC. */
  digestOf(presented: SecretCredentials): string;

  /** Whether this secret was verified for this client id. Does not say yet that the stored secret is still the same. */
  has(digest: string): boolean;

  /** Whether it was verified against exactly this stored secret. A new, locked or removed one misses. */
  isVerified(digest: string, stored: StoredSecret): boolean;

  /** Records that it was verified against this stored secret. */
  add(digest: string, stored: StoredSecret): void;
}
