import type { StoredSecret } from '../../domain/stored-secret.ts';
import type { ClientCredentials } from './client-credentials.ts';

/** A secret that was presented for a registration, or for none. */
export interface PresentedSecret extends ClientCredentials {
  readonly stored: StoredSecret | undefined;
  /** The network address of the caller. */
  readonly address: string;
}

/** What the cache contains for one presented secret. */
export interface CachedVerification {
  /** `expiring`: verified, and due for another verification. `absent`: only a verification can tell. */
  state(): 'fresh' | 'expiring' | 'absent';

  /** Records that the secret was verified just now. */
  add(): void;

  /** Records that this caller failed too often. The cache is then used for this caller only if the client was verified at the same address. */
  distrustCaller(): void;
}

/** The cache of verified secrets: a client with a cache hit needs no verification. It contains no refusals. */
export interface VerifiedSecrets {
  /**
   * Looks up a presented secret. A cache hit is valid for exactly this stored secret: a new, locked or removed one misses.
   * Costs one digest, for an unknown client too. Never fails.
   */
  lookUp(presented: PresentedSecret): CachedVerification;
}
