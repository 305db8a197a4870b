/** Makes the encodings of client secrets that are stored. */
export interface SecretEncoder {
  /**
   * The BCrypt encoding of a secret, with a new random salt. Takes as long as a verification of the secret will.
   *
   * @param cost log2 of the rounds, 4 to 14.
   */
  encode(secret: string, cost: number): Promise<string>;
}
