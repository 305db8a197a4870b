import type { KeyHandle, PublicKeyJwk, SigningKey } from './key-provider.ts';

export interface KeyPair extends SigningKey {
  readonly publicKey: KeyHandle;
  readonly jwk: PublicKeyJwk;
}

/** The source of key pairs. */
export interface KeyFactory {
  /** An RSA key pair of at least 2048 bits for RS256. May take half a second, off the event loop. */
  make(): Promise<KeyPair>;

  /** The handle of a public key of another process, or undefined unless `isUsableKey`. */
  read(jwk: PublicKeyJwk): Promise<KeyHandle | undefined>;
}
