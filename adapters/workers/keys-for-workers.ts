import type { KeyRing } from '../../application/keys/key-ring.ts';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import type { SentKeys } from './protocol.ts';

/** The key ring of the service, as the primary sends it to its workers. */
export class KeysForWorkers {
  readonly #ring: KeyRing;
  readonly #privateKey: (kid: string) => Uint8Array | undefined;
  #version = 0;

  /** @param privateKey returns the private key with that id in PKCS#8. */
  constructor(ring: KeyRing, privateKey: (kid: string) => Uint8Array | undefined) {
    this.#ring = ring;
    this.#privateKey = privateKey;
  }

  now(): SentKeys {
    const state = this.#ring.state();
    return { version: this.#next(), state, privateKey: state.signing && this.#privateKey(state.signing.kid) };
  }

  /** The public keys after a look-up of that key id, without the private key; undefined if the key directory is unavailable. */
  async find(kid: string): Promise<SentKeys | undefined> {
    try {
      await this.#ring.verificationKey(kid);
      return { version: this.#next(), state: this.#ring.state(), privateKey: undefined };
    } catch (fault) {
      if (fault instanceof DependencyUnavailable) return undefined;
      throw fault;
    }
  }

  #next(): number {
    this.#version += 1;
    return this.#version;
  }
}
