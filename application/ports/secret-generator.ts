/** Where new client secrets come from. */
export interface SecretGenerator {
  /** A new secret with 256 bits of randomness, in letters and digits, and within BCrypt's 72 bytes. Never fails. */
  secret(): string;
}
