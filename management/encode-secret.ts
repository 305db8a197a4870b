import bcrypt from 'bcrypt';

/** The BCrypt cost of new secrets where none is asked for: the service's own default. */
export const DEFAULT_COST = 10;

/**
 * The BCrypt encoding of a secret, with a salt of its own.
 *
 * @param cost log2 of the rounds, 4 to 14: every check of the secret costs the service that much.
 */
export function encodeSecret(secret: string, cost: number): Promise<string> {
  return bcrypt.hash(secret, cost);
}
