import type { KeyRing } from '../../application/keys/key-ring.ts';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import type { PrivateKeys } from '../jwt/private-keys.ts';
import type { SentKeys } from './protocol.ts';

/** The key ring of the service, as its workers are told of it. */
export class KeysForWorkers {
  readonly #ring: KeyRing;
  readonly #privateKeys: PrivateKeys;

  constructor(ring: KeyRing, privateKeys: PrivateKeys) {
    this.#ring = ring;
    this.#privateKeys = privateKeys;
  }

  now(): SentKeys {
    const state = this.#ring.state();
    return { state, privateKey: state.signing && this.#privateKeys.signing(state.signing.kid) };
  }

  /** What is known once that key id was looked for, without the private key; undefined where the key directory is out of reach. */
  async find(kid: string): Promise<SentKeys | undefined> {
    try {
      await this.#ring.verificationKey(kid);
      return { state: this.#ring.state(), privateKey: undefined };
    } catch (fault) {
      if (fault instanceof DependencyUnavailable) return undefined;
      throw fault;
    }
  }
}
