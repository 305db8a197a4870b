import type { Ring, RingKey } from '../../domain/key-chain.ts';
import type { KeyPair } from '../ports/key-provider.ts';
import { KEY_ROWS_MAX, type KeyRow } from '../ports/key-ring-store.ts';
import type { KeySealer, OpenedSeal } from '../ports/key-sealer.ts';

/** A key of the ring that this process can use. */
export interface OpenedKey extends RingKey {
  readonly pair: KeyPair;
  readonly sealed: string;
  readonly createdAt: number;
}

/** Why a key of the ring cannot be used, although it is not revoked. */
export interface UnusableKey {
  readonly kid: string;
  /** As its row says. */
  readonly algorithm: string | undefined;
  readonly state: 'locked' | 'damaged';
  /** In words for an operator. */
  readonly reason: string;
}

/** The most revoked keys that are known beyond the rows. Each was usable here: nobody can make them up. */
const REVOKED_MAX = KEY_ROWS_MAX;

/**
 * The keys of the ring whose seals this process has opened. Nothing else in a row is believed, but that the key is
 * revoked or ends early. A revoked key stays revoked here, also if its row comes back.
 */
export class OpenedKeys {
  readonly #sealer: Pick<KeySealer, 'open'>;
  /** Keys that were usable here. The oldest is evicted. */
  readonly #revoked = new Set<string>();
  #revokedRows: ReadonlySet<string> = new Set();
  #opened: ReadonlyMap<string, OpenedSeal> = new Map();
  #rows: readonly KeyRow[] = [];
  ring: Ring<OpenedKey> = { keys: [], rows: [], locked: [] };
  unusable: readonly UnusableKey[] = [];
  /**
   * Rows that the last reading lacks, of keys that were usable until then and have not ended, unless another row has
   * their place. They stay in the ring here.
   */
  lost: readonly KeyRow[] = [];

  constructor(sealer: Pick<KeySealer, 'open'>) {
    this.#sealer = sealer;
  }

  isRevoked(kid: string): boolean {
    return this.#revoked.has(kid) || this.#revokedRows.has(kid);
  }

  /**
   * Opens what is new in these rows, and uses them in place of the previous ones. A lost row ends no key. Returns the
   * ids of keys that were usable and are revoked now.
   */
  async replace(read: readonly KeyRow[], time: number): Promise<readonly string[]> {
    const usable = new Set(this.ring.keys.map(({ kid }) => kid));
    this.lost = this.#rows.filter((row) => {
      const isReplaced = read.some((other) => other.kid === row.kid || isSameStep(other, row));
      return usable.has(row.kid) && !isReplaced && row.verifiesUntil > time;
    });
    const rows = [...read, ...this.lost];
    const opened = new Map<string, OpenedSeal>();
    for (const { sealed } of rows) {
      if (sealed !== undefined) opened.set(sealed, this.#opened.get(sealed) ?? (await this.#sealer.open(sealed)));
    }
    // The secret of a locked one may be there the next time.
    this.#opened = new Map([...opened].filter(([, { state }]) => state !== 'locked'));
    this.#revokedRows = new Set(rows.filter(({ revokedAt }) => revokedAt !== undefined).map(({ kid }) => kid));
    const revoked = [...usable].filter((kid) => this.isRevoked(kid));
    for (const kid of revoked) this.#revoked.add(kid);
    for (const kid of this.#revoked) if (this.#revoked.size > REVOKED_MAX) this.#revoked.delete(kid);

    const keys: OpenedKey[] = [];
    const unusable: UnusableKey[] = [];
    for (const row of rows) {
      if (this.isRevoked(row.kid) || row.verifiesUntil < time) continue;
      const { kid, algorithm, sealed = '', createdAt, endedAt } = row;
      const seal = opened.get(sealed);
      if (seal?.state === 'opened' && isOf(row, seal)) {
        keys.push({ ...seal.plan, kid, pair: seal.pair, sealed, createdAt, endedAt });
      } else if (seal?.state === 'locked') {
        unusable.push({ kid, algorithm, state: 'locked', reason: seal.reason });
      } else {
        unusable.push({ kid, algorithm, state: 'damaged', reason: 'its row was damaged or changed' });
      }
    }
    const locked = new Set(unusable.filter(({ state }) => state === 'locked').map(({ kid }) => kid));
    this.#rows = rows;
    this.ring = { keys, rows, locked: rows.filter(({ kid }) => locked.has(kid)) };
    this.unusable = unusable;
    return revoked;
  }
}

function isSameStep(one: KeyRow, other: KeyRow): boolean {
  return one.algorithm === other.algorithm && one.step === other.step;
}

/** Whether the seal belongs to this row: it could have been copied from another one. */
function isOf({ kid, algorithm, step }: KeyRow, { plan, pair }: OpenedSeal & { readonly state: 'opened' }): boolean {
  return pair.kid === kid && plan.algorithm === algorithm && plan.step === step;
}
