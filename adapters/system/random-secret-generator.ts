import { randomInt } from 'node:crypto';
import type { SecretGenerator } from '../../application/ports/secret-generator.ts';

// Letters and digits need no escaping in a form, in Basic credentials, in a URL, in a shell or in a YAML file.
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** The fewest characters of 62 that have 256 bits: 43 × log2 62 = 256.03. */
const LENGTH = 43;

/** Secrets from the operating system's random source, in which every character is equally likely. */
export class RandomSecretGenerator implements SecretGenerator {
  secret(): string {
    return Array.from({ length: LENGTH }, () => ALPHABET.charAt(randomInt(ALPHABET.length))).join('');
  }
}
