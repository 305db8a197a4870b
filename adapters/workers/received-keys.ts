import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import type { SigningKey } from '../../application/ports/key-provider.ts';
import type { WorkerKeyRing } from '../../application/workers/worker-key-ring.ts';
import type { TokenAlgorithm } from '../../domain/token-key.ts';
import type { PrimaryFunctions, SentKeys } from './protocol.ts';

const NAME = 'key directory';

/** Reads a private key from PKCS#8. */
type ReadPrivateKey = (kid: string, alg: TokenAlgorithm, pkcs8: Uint8Array) => Promise<SigningKey>;

/** Updates the worker's replica of the key ring with the keys that the primary sends, never with older ones. */
export class ReceivedKeys {
  readonly #replica: WorkerKeyRing;
  readonly #readPrivateKey: ReadPrivateKey;
  readonly #findKey: PrimaryFunctions['findKey'];
  #signing: SigningKey | undefined;
  #last = Promise.resolve();
  #version = 0;

  /** @param findKey asks the primary. */
  constructor(replica: WorkerKeyRing, readPrivateKey: ReadPrivateKey, findKey: PrimaryFunctions['findKey']) {
    this.#replica = replica;
    this.#readPrivateKey = readPrivateKey;
    this.#findKey = findKey;
  }

  /** Makes the primary look up a key id, and takes the keys that it has then. Throws DependencyUnavailable. */
  async lookUp(kid: string): Promise<void> {
    const found = await this.#findKey(kid).catch((reason) => {
      throw new DependencyUnavailable(NAME, reason);
    });
    if (found === undefined) throw new DependencyUnavailable(NAME, new Error('out of reach'));
    await this.take(found);
  }

  /** Resolves when the replica has these keys. */
  take(sent: SentKeys): Promise<void> {
    this.#last = this.#last.catch(() => {}).then(() => this.#takeNext(sent));
    return this.#last;
  }

  async #takeNext({ version, state, privateKey }: SentKeys): Promise<void> {
    if (version < this.#version) return;
    this.#version = version;
    const { kid, alg } = state.signing ?? {};
    if (kid !== undefined && alg !== undefined && privateKey !== undefined && this.#signing?.kid !== kid) {
      this.#signing = await this.#readPrivateKey(kid, alg, privateKey);
    }
    await this.#replica.update(state, this.#signing);
  }
}
