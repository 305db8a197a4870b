import { calculateJwkThumbprint, exportJWK, importJWK } from 'jose';
import type { KeyFactory, KeyPair } from '../../application/ports/key-factory.ts';
import type { KeyHandle, PublicKeyJwk } from '../../application/ports/key-provider.ts';
import type { KeyFile } from './read-key-file.ts';
import { readPublicKey } from './read-public-key.ts';

/** Gives the one key of a file, which outlives restarts. Its id is the file's or else its thumbprint (RFC 7638), so that it stays the same. */
export class FileKeyFactory implements KeyFactory {
  readonly #file: KeyFile;

  constructor(file: KeyFile) {
    this.#file = file;
  }

  async make(): Promise<KeyPair> {
    const privateJwk = await exportJWK(this.#file.key);
    const { n, e } = privateJwk;
    if (n === undefined || e === undefined) throw new Error('the key of the file is no RSA key');
    const kid = this.#file.kid ?? (await calculateJwkThumbprint({ kty: 'RSA', n, e }));
    const jwk: PublicKeyJwk = { kty: 'RSA', use: 'sig', alg: 'RS256', kid, n, e };

    const privateKey = await importJWK({ ...privateJwk, alg: 'RS256' }, 'RS256', { extractable: false });
    const publicKey = await readPublicKey(jwk);
    if (privateKey instanceof Uint8Array || publicKey === undefined)
      throw new Error('the key of the file is no RSA key');
    return { kid, privateKey, publicKey, jwk };
  }

  read(jwk: PublicKeyJwk): Promise<KeyHandle | undefined> {
    return readPublicKey(jwk);
  }
}
