import { createPublicKey } from 'node:crypto';
import { calculateJwkThumbprint } from 'jose';
import type { KeyFactory, KeyPair } from '../../application/ports/key-factory.ts';
import { keyPairOf, readPublicKey } from './key-pair.ts';
import type { PrivateKeys } from './private-keys.ts';
import type { KeyFile } from './read-key-file.ts';

/** Returns the one key of a file, which survives restarts. Its id is the `kid` of the file, or else its thumbprint (RFC 7638): it never changes. */
export class FileKeyFactory implements KeyFactory {
  readonly read = readPublicKey;
  readonly #file: KeyFile;
  readonly #privateKeys: Pick<PrivateKeys, 'add'> | undefined;

  /** @param privateKeys where to add the private key, if it has to be sent to workers. */
  constructor(file: KeyFile, privateKeys?: Pick<PrivateKeys, 'add'>) {
    this.#file = file;
    this.#privateKeys = privateKeys;
  }

  async make(): Promise<KeyPair> {
    const { key, kid = await calculateJwkThumbprint(createPublicKey(key)) } = this.#file;
    this.#privateKeys?.add(kid, key);
    return keyPairOf(kid, key);
  }
}
