import type { StoredSecret } from '../../domain/stored-secret.ts';
import type { Caller } from './caller.ts';
import type { ClientCredentials } from './client-credentials.ts';

/**
 * `unusable_*`: the one side is something that nothing can match. `attempts_exhausted`: not compared, since too many
 * attempts failed lately. All but `match` are refusals, and those that compare cost the same.
 */
export type SecretVerdict = 'match' | 'mismatch' | 'unusable_stored' | 'unusable_presented' | 'attempts_exhausted';

/** Compares a presented secret with a stored one. */
export interface SecretVerifier {
  /**
   * Whether the presented secret is the stored one. Every comparison that is no `match` takes as long as a
   * wrong secret does, whatever the reason and also where there is nothing to compare with (`undefined`: unknown client, verdict
   * `mismatch`), so that time tells nobody which clients exist.
   *
   * Costs a BCrypt check, tens of milliseconds of a core, and the wait for one; next to nothing where the match is
   * remembered. Throws DependencyUnavailable where no check is free in time.
   */
  verify(credentials: ClientCredentials, stored: StoredSecret | undefined, caller: Caller): Promise<SecretVerdict>;
}
