import { generateKeyPair } from 'node:crypto';
import { promisify } from 'node:util';
import type { IdGenerator } from '../../application/ports/id-generator.ts';
import type { KeyFactory, KeyPair } from '../../application/ports/key-factory.ts';
import { MODULUS_BITS_MIN } from '../../application/ports/key-provider.ts';
import { keyPairOf, readPublicKey } from './key-pair.ts';
import type { PrivateKeys } from './private-keys.ts';

/** Makes RSA-2048 key pairs in memory. They are never written anywhere and end with the service. Key ids are UUIDs. */
export class InMemoryKeyFactory implements KeyFactory {
  readonly read = readPublicKey;
  readonly #ids: IdGenerator;
  readonly #privateKeys: Pick<PrivateKeys, 'add'> | undefined;

  /** @param privateKeys where to add each private key, if it has to be sent to workers. */
  constructor(ids: IdGenerator, privateKeys?: Pick<PrivateKeys, 'add'>) {
    this.#ids = ids;
    this.#privateKeys = privateKeys;
  }

  async make(): Promise<KeyPair> {
    const kid = this.#ids.uuid();
    const { privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: MODULUS_BITS_MIN });
    this.#privateKeys?.add(kid, privateKey);
    return keyPairOf(kid, privateKey);
  }
}
