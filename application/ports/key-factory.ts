import type { KeyHandle, PublicKeyJwk, SigningKey } from './key-provider.ts';

export interface KeyPair extends SigningKey {
  readonly publicKey: KeyHandle;
  readonly jwk: PublicKeyJwk;
}

/** Where key pairs come from. */
export interface KeyFactory {
  /** An RSA key pair of at least 2048 bits for RS256. May take half a second, off the event loop. */
  make(): Promise<KeyPair>;

  /** The handle of somebody else's public key, or undefined where it is no RSA key of at least 2048 bits. */
  read(jwk: PublicKeyJwk): Promise<KeyHandle | undefined>;
}
