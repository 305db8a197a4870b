import type { StoredSecret } from '../../domain/stored-secret.ts';
import type { ClientCredentials } from './client-credentials.ts';

/** `unusable_*`: the one side is something that nothing can match. All but `match` are refusals and cost the same. */
export type SecretVerdict = 'match' | 'mismatch' | 'unusable_stored' | 'unusable_presented';

/** Compares a presented secret with a stored one. */
export interface SecretVerifier {
  /**
   * Whether the presented secret is the stored one. Every verdict but `match` takes as long as a wrong secret does,
   * whatever the reason and also where there is nothing to compare with (`undefined`: unknown client, verdict
   * `mismatch`), so that time tells nobody which clients exist.
   *
   * Costs a BCrypt check, tens of milliseconds of a core; next to nothing where the match is remembered.
   */
  verify(credentials: ClientCredentials, stored: StoredSecret | undefined): Promise<SecretVerdict>;
}
