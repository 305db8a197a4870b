/** A public key of the Web Cryptography API. */
export type KeyHandle = InstanceType<typeof CryptoKey>;

/** The smallest modulus of an RSA key for RS256, in bits (RFC 7518 section 3.3). */
export const MODULUS_BITS_MIN = 2048;

/** What a key for RS256 has to be, for people: the rule of `isUsableKey`. */
export const KEY_RULE = `an RSA key of at least ${MODULUS_BITS_MIN} bits with an odd public exponent of at least 3`;

/**
 * Whether a public key may verify tokens: RSA with a large enough modulus and a valid public exponent (RFC 8017 section 3.1).
 * With the exponent 1, every padded hash is its own signature, so anyone could forge tokens.
 */
export function isUsableKey({ algorithm }: KeyHandle): boolean {
  if (!('modulusLength' in algorithm && 'publicExponent' in algorithm)) return false;
  const exponent = algorithm.publicExponent as Uint8Array;
  const last = exponent.at(-1) ?? 0;
  const isOddAndAtLeast3 = last % 2 === 1 && (exponent.length > 1 || last >= 3);
  return Number(algorithm.modulusLength) >= MODULUS_BITS_MIN && isOddAndAtLeast3;
}

/** A private RSA key of at least 2048 bits. It gives out signatures and nothing else. */
export interface SigningKey {
  readonly kid: string;
  /** RSASSA-PKCS1-v1_5 with SHA-256 over these bytes (RFC 8017 section 8.2, `RS256`). Takes 0.3 ms of the calling thread. */
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
   * The public key with this id, or undefined if no such key is trusted. A look-up in memory; an unknown id may cause a
   * query to the key directory or the issuer. Throws DependencyUnavailable if that query fails.
   */
  verificationKey(kid: string): Promise<KeyHandle | undefined>;
}

/** The keys that sign and verify tokens. */
export interface KeyProvider extends VerificationKeys {
  /**
   * The key that new tokens are signed with. Its public half is in `publicKeys` and found by `verificationKey`.
   * Throws DependencyUnavailable if there is no key, or none yet that every verifier can know.
   */
  signingKey(): Promise<SigningKey>;

  /** Every public key that a token may be verified with now. */
  publicKeys(): Promise<readonly PublicKeyJwk[]>;

  /** How long a reader may cache the current `publicKeys` without missing a key that signs, in whole seconds. */
  maxAgeSeconds(): number;
}
