import { generateKeyPair } from 'node:crypto';
import { promisify } from 'node:util';
import type { IdGenerator } from '../../application/ports/id-generator.ts';
import type { KeyFactory, KeyPair } from '../../application/ports/key-factory.ts';
import type { KeyHandle, PublicKeyJwk } from '../../application/ports/key-provider.ts';
import { keyPairOf } from './key-pair.ts';
import type { PrivateKeyListener } from './private-key-listener.ts';
import { MODULUS_BITS_MIN, readPublicKey } from './read-public-key.ts';

/** Makes RSA-2048 key pairs in this process's memory, where each stays until the process ends. Key ids are UUIDs. */
export class InMemoryKeyFactory implements KeyFactory {
  readonly #ids: IdGenerator;
  readonly #onMade: PrivateKeyListener;

  constructor(ids: IdGenerator, onMade: PrivateKeyListener = () => {}) {
    this.#ids = ids;
    this.#onMade = onMade;
  }

  async make(): Promise<KeyPair> {
    const kid = this.#ids.uuid();
    const { privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: MODULUS_BITS_MIN });
    this.#onMade(kid, privateKey);
    return keyPairOf(kid, privateKey);
  }

  read(jwk: PublicKeyJwk): Promise<KeyHandle | undefined> {
    return readPublicKey(jwk);
  }
}
