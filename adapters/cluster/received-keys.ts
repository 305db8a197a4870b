import type { KeyRingReplica } from '../../application/keys/key-ring-replica.ts';
import type { SigningKey } from '../../application/ports/key-provider.ts';
import type { SentKeys } from './protocol.ts';

/** Reads a private key from PKCS#8. */
export type ReadPrivateKey = (kid: string, pkcs8: Uint8Array) => Promise<SigningKey>;

/** Updates the worker's replica of the key ring with the keys that the primary sends, in the order of their arrival. */
export class ReceivedKeys {
  readonly #replica: KeyRingReplica;
  readonly #readPrivateKey: ReadPrivateKey;
  #signing: SigningKey | undefined;
  #last = Promise.resolve();

  constructor(replica: KeyRingReplica, readPrivateKey: ReadPrivateKey) {
    this.#replica = replica;
    this.#readPrivateKey = readPrivateKey;
  }

  /** Resolves when the replica has these keys. */
  take(sent: SentKeys): Promise<void> {
    this.#last = this.#last.catch(() => {}).then(() => this.#takeNext(sent));
    return this.#last;
  }

  async #takeNext({ state, privateKey }: SentKeys): Promise<void> {
    const kid = state.signing?.kid;
    if (kid !== undefined && privateKey !== undefined && this.#signing?.kid !== kid) {
      this.#signing = await this.#readPrivateKey(kid, privateKey);
    }
    await this.#replica.update(state, this.#signing);
  }
}
