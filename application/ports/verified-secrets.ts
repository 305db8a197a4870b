import type { StoredSecret } from '../../domain/stored-secret.ts';
import type { ClientCredentials } from './client-credentials.ts';

/** A secret that was presented for a registration, or for none. */
export interface PresentedSecret extends ClientCredentials {
  readonly stored: StoredSecret | undefined;
  /** The network address of the caller. */
  readonly address: string;
}

/** What the cache holds on one presented secret. */
export interface CachedVerification {
  /** `expiring`: verified, and due for another verification. `absent`: only a verification can tell. */
  state(): 'fresh' | 'expiring' | 'absent';

  /** Records that the secret was verified just now. */
  store(): void;

  /** Records that this caller failed too often: the cache answers such a caller only where the client was verified at that address. */
  suspend(): void;
}

/** The cache of verified secrets, which spares a known client the cost of a verification. Holds no refusals. */
export interface VerifiedSecrets {
  /**
   * Looks a presented secret up. A cache hit holds for exactly this stored secret: a new, locked or removed one misses.
   * Costs one digest, for an unknown client too. Never fails.
   */
  lookUp(presented: PresentedSecret): CachedVerification;
}
