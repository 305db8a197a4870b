import { createPublicKey } from 'node:crypto';
import { calculateJwkThumbprint } from 'jose';
import type { KeyFactory, KeyPair } from '../../application/ports/key-factory.ts';
import type { KeyHandle, PublicKeyJwk } from '../../application/ports/key-provider.ts';
import { keyPairOf } from './key-pair.ts';
import type { PrivateKeyListener } from './private-key-listener.ts';
import type { KeyFile } from './read-key-file.ts';
import { readPublicKey } from './read-public-key.ts';

/** Gives the one key of a file, which outlives restarts. Its id is the file's or else its thumbprint (RFC 7638), so that it stays the same. */
export class FileKeyFactory implements KeyFactory {
  readonly #file: KeyFile;
  readonly #onMade: PrivateKeyListener;

  constructor(file: KeyFile, onMade: PrivateKeyListener = () => {}) {
    this.#file = file;
    this.#onMade = onMade;
  }

  async make(): Promise<KeyPair> {
    const { key, kid = await calculateJwkThumbprint(createPublicKey(key)) } = this.#file;
    this.#onMade(kid, key);
    return keyPairOf(kid, key);
  }

  read(jwk: PublicKeyJwk): Promise<KeyHandle | undefined> {
    return readPublicKey(jwk);
  }
}
