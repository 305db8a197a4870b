import type { TokenAlgorithm, TokenKey } from '../../domain/token-key.ts';
import type { KeyHandle, SigningKey } from './key-provider.ts';

export interface KeyPair extends SigningKey {
  readonly publicKey: KeyHandle;
  readonly jwk: TokenKey;
}

/** The source of key pairs. */
export interface KeyFactory {
  /** What to sign with, and what to sign with while a peer verifies only RS256 (decision 0123). The key of a file has one algorithm. */
  readonly algorithms: { readonly preferred: TokenAlgorithm; readonly withOlderPeers: TokenAlgorithm };

  /** A key pair for one of these algorithms. May take half a second, off the event loop. */
  make(algorithm: TokenAlgorithm): Promise<KeyPair>;

  /** The handle of a public key of another process, or undefined if it breaks the rule of its algorithm. */
  read(jwk: TokenKey): Promise<KeyHandle | undefined>;
}
