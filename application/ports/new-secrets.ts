import type { StoredSecret } from '../../domain/stored-secret.ts';

/**
 * The BCrypt encoding of a secret, with a new random salt. Takes as long as a verification of the secret will.
 *
 * @param cost log2 of the rounds, 4 to 14.
 */
export type EncodeSecret = (secret: string, cost: number) => Promise<string>;

/** Whether a presented secret is the stored one, which is a BCrypt encoding. Takes as long as encoding it did. */
export type MatchSecret = (presented: string, stored: StoredSecret) => Promise<boolean>;

/** A new secret with 256 bits of randomness, in letters and digits, and within BCrypt's 72 bytes. Never fails. */
export type GenerateSecret = () => string;
