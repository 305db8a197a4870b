import type { RevocationState } from '../../domain/token-activity.ts';
import type { ClientChange } from './client-store.ts';

/** How many revoked tokens are kept: of one client, and of all. */
export const REVOCATIONS_LIMITS = { perClient: 1_000, total: 100_000 };

/** A token to revoke. */
export interface RevokedToken {
  readonly clientId: string;
  /** Claim `jti`. */
  readonly tokenId: string;
  /** Until then it is kept, in seconds since the epoch: nobody accepts the token any more. */
  readonly keptUntil: number;
}

/**
 * Tokens that were revoked before their end, as all replicas know them. Beyond its limit of tokens, all tokens of the
 * client that were issued until now are revoked instead: more, never less, and never those of another client. All
 * methods throw DependencyUnavailable.
 */
export interface Revocations {
  /** Resolves when no reading that begins later misses it. */
  revoke(token: RevokedToken): Promise<void>;

  /** The same for all tokens of these clients, each named once, issued until now, and AHEAD_SECONDS longer. */
  revokeAll(clientIds: readonly string[]): Promise<void>;
  find(token: Pick<RevokedToken, 'clientId' | 'tokenId'>): Promise<RevocationState>;

  /** How many are kept, as this process has counted last, and may be. */
  readonly load: { readonly revoked: number; readonly max: number };
}

/** What a program does to the tokens of clients. Throws DependencyUnavailable. */
export interface ClientTokens {
  /** Whether this database keeps revoked tokens. */
  areKept(): Promise<boolean>;

  /**
   * Revokes all that were issued until now, as in Revocations; does nothing where none are kept. @param change is
   * recorded first.
   */
  revokeAll(clientIds: readonly string[], change?: ClientChange): Promise<void>;

  /** Resolves when tokens that are issued from then on are not among those that were revoked before. */
  settled(): Promise<void>;
}

/** Seconds by which the time in tokens may be ahead of the clock that revokes. */
export const AHEAD_SECONDS = 2;

/** How long the revocation of all tokens of a client is kept: longer than the longest of them. */
export const KEPT_SECONDS = 86_400 + 3_600;
