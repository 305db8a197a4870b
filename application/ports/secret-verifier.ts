import type { StoredSecret } from '../../domain/stored-secret.ts';

/** `unusable_*`: that side is something that nothing can match. All but `match` are refusals, and all refusals cost the same. */
export type SecretVerdict = 'match' | 'mismatch' | 'unusable_stored' | 'unusable_presented';

/** Compares a presented secret with a stored one. */
export interface SecretVerifier {
  /** What a verification costs at most: log2 of its BCrypt rounds. Costs nothing and never fails. */
  costOf(stored: StoredSecret | undefined): number;

  /**
   * Whether the presented secret is the stored one. Every refusal does the same work, whatever its reason, and also
   * where there is no registration (`stored` is undefined, the verdict is `mismatch`): otherwise the time of an answer
   * would tell which clients exist.
   *
   * Costs tens of milliseconds of a core. Call it in a slot of `VerificationSlots`.
   */
  verify(presented: string, stored: StoredSecret | undefined): Promise<SecretVerdict>;
}
