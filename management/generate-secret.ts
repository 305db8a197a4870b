import { randomInt } from 'node:crypto';

// Letters and digits alone: the same in a form, in Basic credentials, in a URL, a shell and a YAML file.
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** 43 characters of 62: the fewest that carry 256 bits (43 × log2 62 = 256.03), and well below BCrypt's 72 bytes. */
const LENGTH = 43;

/** A client secret of 256 bits of the system's randomness, every character equally likely. */
export function generateSecret(): string {
  return Array.from({ length: LENGTH }, () => ALPHABET.charAt(randomInt(ALPHABET.length))).join('');
}
