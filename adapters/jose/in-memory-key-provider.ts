import { exportJWK, generateKeyPair } from 'jose';
import type { IdGenerator } from '../../application/ports/id-generator.ts';
import type { KeyHandle, KeyProvider, PublicKeyJwk, SigningKey } from '../../application/ports/key-provider.ts';

const MODULUS_BITS = 2048;

interface KeyPair extends SigningKey {
  readonly publicKey: KeyHandle;
  readonly jwk: PublicKeyJwk;
}

/** One RSA-2048 key pair, made when the service starts and gone when it stops. The private key cannot be exported. */
export class InMemoryKeyProvider implements KeyProvider {
  readonly #pair: KeyPair;

  private constructor(pair: KeyPair) {
    this.#pair = pair;
  }

  /** Takes 50 to 500 ms of a core, on libuv's pool. */
  static async generate(ids: IdGenerator): Promise<InMemoryKeyProvider> {
    const kid = ids.uuid();
    const { privateKey, publicKey } = await generateKeyPair('RS256', { modulusLength: MODULUS_BITS });
    const { n, e } = await exportJWK(publicKey);
    if (n === undefined || e === undefined) throw new Error('the generated key is no RSA key');
    return new InMemoryKeyProvider({
      kid,
      privateKey,
      publicKey,
      jwk: { kty: 'RSA', use: 'sig', alg: 'RS256', kid, n, e },
    });
  }

  async signingKey(): Promise<SigningKey> {
    const { kid, privateKey } = this.#pair;
    return { kid, privateKey };
  }

  async verificationKey(kid: string): Promise<KeyHandle | undefined> {
    return kid === this.#pair.kid ? this.#pair.publicKey : undefined;
  }

  async publicKeys(): Promise<readonly PublicKeyJwk[]> {
    return [{ ...this.#pair.jwk }];
  }
}
