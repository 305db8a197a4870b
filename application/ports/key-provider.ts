/** A public key of the Web Cryptography API. */
export type KeyHandle = InstanceType<typeof CryptoKey>;

/** A private RSA key of at least 2048 bits, of which nothing can be had but signatures. */
export interface SigningKey {
  readonly kid: string;
  /** RSASSA-PKCS1-v1_5 with SHA-256 over these bytes (RFC 8017 section 8.2, `RS256`). Costs 0.3 ms of the calling thread. */
  sign(data: Uint8Array): Uint8Array;
}

/** A public RSA key as a JSON Web Key (RFC 7517 section 4, RFC 7518 section 6.3.1); members in base64url. */
export interface PublicKeyJwk {
  readonly kty: 'RSA';
  readonly use: 'sig';
  readonly alg: 'RS256';
  readonly kid: string;
  readonly n: string;
  readonly e: string;
}

/** The keys that tokens are verified with: RSA of at least 2048 bits, for RS256 (RFC 7518 section 3.3). All that a resource server needs. */
export interface VerificationKeys {
  /**
   * The public key of that id, or undefined where no such key is trusted. Costs a look-up in memory, and for an unknown
   * id at times a question to somebody else. Throws DependencyUnavailable where that question cannot be asked.
   */
  verificationKey(kid: string): Promise<KeyHandle | undefined>;
}

/** The keys that sign and verify tokens. */
export interface KeyProvider extends VerificationKeys {
  /**
   * The key that new tokens are signed with. Its public half is among `publicKeys` and found by `verificationKey`.
   * Throws DependencyUnavailable where there is none, or none yet that every verifier can know.
   */
  signingKey(): Promise<SigningKey>;

  /** Every public key that a token may be verified with now. */
  publicKeys(): Promise<readonly PublicKeyJwk[]>;

  /** How long a reader may keep what `publicKeys` answers now without missing a key, in whole seconds. */
  maxAgeSeconds(): number;
}
