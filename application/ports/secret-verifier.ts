import type { StoredSecret } from '../../domain/stored-secret.ts';

/**
 * `unusable_*`: the stored or the presented secret cannot match anything. All verdicts except `match` are refusals, and
 * cost the same.
 */
export type SecretVerdict = 'match' | 'mismatch' | 'unusable_stored' | 'unusable_presented';

/** Compares a presented secret with a stored one. */
export interface SecretVerifier {
  /** What a verification costs at most: log2 of its BCrypt rounds, whatever the stored secret is. */
  readonly cost: number;

  /**
   * Whether the presented secret is the stored one. Every refusal does the same work, whatever its reason, and also if
   * the stored secret is that of another client, since this one is unknown: otherwise the time of a response would
   * reveal which clients exist.
   *
   * Costs tens of milliseconds of a core. Call it in a slot of `VerificationSlots`.
   *
   * @param isRegistered false for the secret of another client, which matches nothing.
   */
  verify(presented: string, stored: StoredSecret, isRegistered: boolean): Promise<SecretVerdict>;
}
