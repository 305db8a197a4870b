import type { StoredSecret } from '../../domain/stored-secret.ts';
import type { SecretCredentials } from './client-credentials.ts';

/** A presented secret. Two of one client with different ids do not evict each other from the cache. */
export interface PresentedSecret extends SecretCredentials {
  /** The id in front of the secret, if there is one. */
  readonly secretId?: string | undefined;
}

/** What the cache contains for one presented secret. */
export interface CachedVerification {
  /** The same for the same client id and secret, and worth nothing outside of this process. */
  readonly digest: string;

  /** Whether the presented secret was verified for this client id. Does not say yet that the stored secret is still the same. */
  isPresent(): boolean;

  /** Whether the secret was verified against exactly this stored secret. A new, locked or removed one misses. */
  isFor(stored: StoredSecret): boolean;

  /** Records that the secret was verified against this stored secret. */
  add(stored: StoredSecret): void;
}

/**
 * The cache of verified secrets: a client with a cache hit needs no verification. It contains no refusals. What was verified
 * stays verified as long as the stored secret is the same.
 */
export interface VerifiedSecrets {
  /** Looks up a presented secret. Needs no registration, so it can precede the look-up. Costs one digest. Never fails. */
  lookUp(presented: PresentedSecret): CachedVerification;
}
