import type { TokenAlgorithm, TokenKey } from '../../domain/token-key.ts';

/** A public key. */
export interface VerificationKey {
  /** The one algorithm that it verifies by. */
  readonly alg: TokenAlgorithm;
  /** Whether this is a signature of this signing input, in base64url. Costs 0.03 ms by RS256. Never throws. */
  verify(input: string, signature: string): boolean | Promise<boolean>;
}

/** A private key. It gives out signatures and nothing else. */
export interface SigningKey {
  readonly kid: string;
  readonly alg: TokenAlgorithm;
  /**
   * The signature of a JWS over this signing input by `alg`, in base64url (RFC 7515 section 5.1). Costs 0.3 ms of a
   * core by RS256 and PS256, off the event loop, and 0.02 ms by ES256 and EdDSA, on it. Throws DependencyUnavailable if
   * too many signatures wait.
   */
  sign(input: string): Promise<string>;
}

/** The keys that tokens are verified with, each usable for its algorithm. All that a resource server needs. */
export interface VerificationKeys {
  /**
   * The public key with this id, or undefined if no such key is trusted. A look-up in memory; an unknown id may cause a
   * query to the key directory or the issuer. Throws DependencyUnavailable if that query fails.
   */
  verificationKey(kid: string): Promise<VerificationKey | undefined>;
}

/** The keys that sign and verify tokens. */
export interface KeyProvider extends VerificationKeys {
  /**
   * The key that new tokens are signed with. Its public half is in `publicKeys` and found by `verificationKey`.
   * Throws DependencyUnavailable if there is no key that may sign.
   */
  signingKey(): Promise<SigningKey>;

  /** Every public key that a token may be verified with now. Throws DependencyUnavailable if no key is known yet. */
  publicKeys(): Promise<readonly TokenKey[]>;

  /** How long a reader may cache the current `publicKeys` without missing a key that signs, in whole seconds. */
  maxAgeSeconds(): number;
}

export interface KeyPair extends SigningKey {
  readonly publicKey: VerificationKey;
  readonly jwk: TokenKey;
}

/** The source of key pairs. */
export interface KeyFactory {
  /** A key pair for this algorithm. May take half a second, off the event loop. */
  make(algorithm: TokenAlgorithm): Promise<KeyPair>;
}
