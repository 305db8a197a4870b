import type { Clock } from '../../application/ports/clock.ts';
import type { KeyFactory, KeyPair } from '../../application/ports/key-provider.ts';
import type { KeyRingStore, KeyRow, KeyRows, SealedKey } from '../../application/ports/key-ring-store.ts';
import type { KeySealer, NewKey, OpenedSeal } from '../../application/ports/key-sealer.ts';
import type { KeyPlan } from '../../domain/key-chain.ts';
import type { TokenAlgorithm } from '../../domain/token-key.ts';

/**
 * The key ring of a single process. Its keys never leave the process, so they need no seal: the sealed text is their
 * id. Nobody else can reach it, so no key in it is ever revoked.
 */
export class InMemoryKeyRing implements KeyRingStore, KeySealer {
  readonly #factory: Pick<KeyFactory, 'make'>;
  readonly #clock: Clock;
  readonly #sealed = new Map<string, { readonly pair: KeyPair; readonly plan: KeyPlan }>();
  #rows: readonly KeyRow[] = [];

  /** @param clock a clock that only passes. */
  constructor(factory: Pick<KeyFactory, 'make'>, clock: Clock) {
    this.#factory = factory;
    this.#clock = clock;
  }

  async make(algorithm: TokenAlgorithm): Promise<NewKey> {
    const pair = await this.#factory.make(algorithm);
    const { kid } = pair;
    return {
      kid,
      seal: async (plan) => {
        this.#sealed.set(kid, { pair, plan });
        return kid;
      },
    };
  }

  problem(): undefined {
    return undefined;
  }

  async open(sealed: string): Promise<OpenedSeal> {
    const key = this.#sealed.get(sealed);
    return key === undefined ? { state: 'damaged' } : { state: 'opened', ...key };
  }

  async read(): Promise<KeyRows> {
    return { rows: this.#rows, time: undefined };
  }

  async restore(rows: readonly KeyRow[]): Promise<void> {
    const isFree = (row: KeyRow) => this.#rows.every((known) => known.kid !== row.kid && !isSameStep(known, row));
    for (const row of rows) if (isFree(row)) this.#rows = [...this.#rows, row];
  }

  async add({ publicationSeconds, addedBefore, ...key }: SealedKey): Promise<void> {
    const now = this.#clock.now();
    const isTaken = this.#rows.some((row) => isSameStep(row, key));
    const times = { createdAt: now, knownAt: now + publicationSeconds, endedAt: undefined, revokedAt: undefined };
    const added = isTaken || now >= addedBefore ? [] : [{ ...key, ...times }];
    this.#rows = [...this.#rows.filter(({ verifiesUntil }) => now < verifiesUntil), ...added];
    for (const kid of this.#sealed.keys()) if (this.#rows.every((row) => row.kid !== kid)) this.#sealed.delete(kid);
  }
}

function isSameStep(one: Pick<KeyRow, 'algorithm' | 'step'>, other: Pick<KeyRow, 'algorithm' | 'step'>): boolean {
  return one.algorithm === other.algorithm && one.step === other.step;
}
