import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import type { KeyPair } from '../../application/ports/key-provider.ts';
import type { KeyRingStore, KeyRow, KeyRows, SealedKey } from '../../application/ports/key-ring-store.ts';
import type { KeySealer, NewKey, OpenedSeal } from '../../application/ports/key-sealer.ts';
import type { KeyPlan } from '../../domain/key-chain.ts';
import type { TokenAlgorithm } from '../../domain/token-key.ts';
import type { FixedClock } from './fixed-clock.ts';
import { pooledKeyFactory } from './pooled-key-factory.ts';

/** A ring that replicas share as they share a database: with its own clock, operators, and faults. */
export class SharedRing implements KeyRingStore, KeySealer {
  readonly #clock: FixedClock;
  readonly #factory = pooledKeyFactory();
  readonly #sealed = new Map<string, { readonly plan: KeyPlan; readonly pair: KeyPair }>();
  /** By how much the clock of this ring is ahead of the monotonic clock of the replicas. */
  aheadSeconds = 0;
  rows: readonly KeyRow[] = [];
  fault: 'none' | 'away' | 'read-only' | 'acknowledges nothing' = 'none';
  /** Called before each key is added, as another replica may act meanwhile. */
  beforeAdd = async () => {};
  /**
   * What is wrong with the secrets of the replicas, whether they are those with which the keys were sealed, and those
   * of which keys they lack.
   */
  secrets: { readonly problem?: string; readonly areOthers?: boolean; readonly lack?: readonly string[] } = {};
  reads = 0;
  made = 0;

  constructor(clock: FixedClock) {
    this.#clock = clock;
  }

  get now(): number {
    return this.#clock.seconds() + this.aheadSeconds;
  }

  async read(): Promise<KeyRows> {
    this.reads += 1;
    if (this.fault === 'away') throw unavailable();
    return { rows: this.rows, time: this.now };
  }

  async add({ publicationSeconds, addedBefore, ...key }: SealedKey): Promise<void> {
    await this.beforeAdd();
    if (this.fault === 'away' || this.fault === 'read-only') throw unavailable();
    const now = Math.floor(this.now);
    const isTaken = this.rows.some(({ kid, algorithm, step }) => {
      return kid === key.kid || (algorithm === key.algorithm && step === key.step);
    });
    const times = { createdAt: now, knownAt: now + publicationSeconds, endedAt: undefined, revokedAt: undefined };
    if (!isTaken && now < addedBefore) this.rows = [...this.rows, { ...key, ...times }];
    if (this.fault === 'acknowledges nothing') throw unavailable();
  }

  async restore(rows: readonly KeyRow[]): Promise<void> {
    if (this.fault === 'away' || this.fault === 'read-only') throw unavailable();
    const isTaken = (row: KeyRow) => this.rows.some(({ kid }) => kid === row.kid);
    this.rows = [...this.rows, ...rows.filter((row) => !isTaken(row))];
  }

  async make(algorithm: TokenAlgorithm): Promise<NewKey> {
    const pair = { ...(await this.#factory.make('RS256')), alg: algorithm };
    this.made += 1;
    const { kid } = pair;
    return {
      kid,
      seal: async (plan) => {
        this.#sealed.set(kid, { plan, pair });
        return kid;
      },
    };
  }

  problem(): string | undefined {
    return this.secrets.problem;
  }

  async open(sealed: string): Promise<OpenedSeal> {
    const found = this.#sealed.get(sealed);
    if (sealed.startsWith('locked') || this.secrets.areOthers || this.secrets.lack?.includes(sealed))
      return { state: 'locked', reason: 'its secret is missing, whose id is abc' };
    return found === undefined ? { state: 'damaged' } : { state: 'opened', ...found };
  }

  /** Changes the rows of these keys; without a key, all of them. */
  change(more: Partial<KeyRow>, kid?: string): void {
    this.rows = this.rows.map((row) => (kid === undefined || row.kid === kid ? { ...row, ...more } : row));
  }

  revoke(kid?: string): void {
    this.change({ revokedAt: Math.floor(this.now), sealed: undefined }, kid);
  }
}

function unavailable(): DependencyUnavailable {
  return new DependencyUnavailable('key directory', new Error('the database is away'));
}
