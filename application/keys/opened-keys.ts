import type { Ring, RingKey } from '../../domain/key-chain.ts';
import type { KeyPair } from '../ports/key-provider.ts';
import type { KeyRow } from '../ports/key-ring-store.ts';
import type { KeySealer, OpenedSeal } from '../ports/key-sealer.ts';

/** A key of the ring that this process can use. */
export interface OpenedKey extends RingKey {
  readonly pair: KeyPair;
  readonly createdAt: number;
}

/** Why a key of the ring cannot be used, although it is not revoked. */
export interface UnusableKey {
  readonly kid: string;
  readonly state: 'locked' | 'damaged';
  /** In words for an operator. */
  readonly reason: string;
}

/** The most revoked keys that are kept beyond the rows of the ring; as many again that were usable here. */
const REVOKED_MAX = 10_000;

/**
 * The keys of the ring whose seals this process has opened. Nothing else in a row is believed, but that the key is revoked or
 * ends early. A revoked key stays revoked here, also if its row comes back.
 */
export class OpenedKeys {
  readonly #sealer: Pick<KeySealer, 'open'>;
  /** Those that were usable here have had a seal: ids that somebody makes up and revokes evict none of them. */
  readonly #revokedUsable = new Set<string>();
  readonly #revokedOthers = new Set<string>();
  #opened: ReadonlyMap<string, OpenedSeal> = new Map();
  ring: Ring<OpenedKey> = { keys: [], rows: [], unreadable: [] };
  unusable: readonly UnusableKey[] = [];

  constructor(sealer: Pick<KeySealer, 'open'>) {
    this.#sealer = sealer;
  }

  isRevoked(kid: string): boolean {
    return this.#revokedUsable.has(kid) || this.#revokedOthers.has(kid);
  }

  /** Opens what is new in these rows, and uses them in place of the previous ones. Returns the ids of keys that were usable and are revoked now. */
  async replace(rows: readonly KeyRow[], time: number): Promise<readonly string[]> {
    const opened = new Map<string, OpenedSeal>();
    for (const { sealed } of rows) {
      if (sealed !== undefined) opened.set(sealed, this.#opened.get(sealed) ?? (await this.#sealer.open(sealed)));
    }
    // The secret of a locked one may be there the next time.
    this.#opened = new Map([...opened].filter(([, { state }]) => state !== 'locked'));
    const usable = new Set(this.ring.keys.map(({ kid }) => kid));
    for (const { kid, revokedAt } of rows) {
      if (revokedAt === undefined || this.#revokedUsable.has(kid)) continue;
      remember(usable.has(kid) ? this.#revokedUsable : this.#revokedOthers, kid);
    }
    const revoked = [...usable].filter((kid) => this.isRevoked(kid));

    const keys: OpenedKey[] = [];
    const unusable: UnusableKey[] = [];
    for (const row of rows) {
      if (this.isRevoked(row.kid) || row.verifiesUntil < time) continue;
      const seal = opened.get(row.sealed ?? '') ?? { state: 'damaged' };
      if (seal.state === 'opened' && isOf(row, seal)) {
        keys.push({ ...seal.plan, kid: row.kid, pair: seal.pair, createdAt: row.createdAt, endedAt: row.endedAt });
      } else {
        const reason = seal.state === 'locked' ? seal.reason : 'its row was damaged or changed';
        unusable.push({ kid: row.kid, state: seal.state === 'locked' ? 'locked' : 'damaged', reason });
      }
    }
    const locked = new Set(unusable.filter(({ state }) => state === 'locked').map(({ kid }) => kid));
    const unreadable = rows.filter(({ kid }) => locked.has(kid)).map(({ algorithm = '' }) => algorithm);
    this.ring = { keys, rows, unreadable };
    this.unusable = unusable;
    return revoked;
  }
}

/** The oldest is evicted. */
function remember(revoked: Set<string>, kid: string): void {
  revoked.delete(kid);
  revoked.add(kid);
  const [oldest] = revoked;
  if (revoked.size > REVOKED_MAX && oldest !== undefined) revoked.delete(oldest);
}

/** Whether the seal belongs to this row: it could have been copied from another one. */
function isOf({ kid, algorithm, step }: KeyRow, { plan, pair }: OpenedSeal & { readonly state: 'opened' }): boolean {
  return pair.kid === kid && plan.algorithm === algorithm && plan.step === step;
}
