import { exportJWK, generateKeyPair } from 'jose';
import type { IdGenerator } from '../../application/ports/id-generator.ts';
import type { KeyFactory, KeyPair } from '../../application/ports/key-factory.ts';
import type { KeyHandle, PublicKeyJwk } from '../../application/ports/key-provider.ts';
import { MODULUS_BITS_MIN, readPublicKey } from './read-public-key.ts';

/** Makes RSA-2048 key pairs in this process's memory, where each stays until the process ends. Key ids are UUIDs. */
export class InMemoryKeyFactory implements KeyFactory {
  readonly #ids: IdGenerator;

  constructor(ids: IdGenerator) {
    this.#ids = ids;
  }

  async make(): Promise<KeyPair> {
    const kid = this.#ids.uuid();
    const { privateKey, publicKey } = await generateKeyPair('RS256', { modulusLength: MODULUS_BITS_MIN });
    const { n, e } = await exportJWK(publicKey);
    if (n === undefined || e === undefined) throw new Error('the generated key is no RSA key');
    return { kid, privateKey, publicKey, jwk: { kty: 'RSA', use: 'sig', alg: 'RS256', kid, n, e } };
  }

  read(jwk: PublicKeyJwk): Promise<KeyHandle | undefined> {
    return readPublicKey(jwk);
  }
}
