/**
 * The BCrypt encoding of a secret, with a new random salt. Takes as long as a verification of the secret will.
 *
 * @param cost log2 of the rounds, 4 to 14.
 */
export type EncodeSecret = (secret: string, cost: number) => Promise<string>;

/** A new secret with 256 bits of randomness, in letters and digits, and within BCrypt's 72 bytes. Never fails. */
export type GenerateSecret = () => string;
