import { hash } from 'node:crypto';
import type { MonotonicClock } from '../../../application/ports/clock.ts';
import {
  type AssertionUse,
  USED_ASSERTIONS_LIMITS,
  type UsedAssertions,
  type UsedAssertionsLoad,
  type UseOutcome,
} from '../../../application/ports/used-assertions.ts';

/** Entries that end within the same so many seconds are removed together. */
const BUCKET_SECONDS = 10;

/** The most entries that one use removes: less than a millisecond. It adds at most one. */
const REMOVED_AT_ONCE = 1_000;

/** How many entries a client has. */
interface ClientCount {
  readonly clientId: string;
  entries: number;
}

interface Entry {
  readonly digest: string;
  readonly count: ClientCount;
}

/**
 * Used assertions in this process's memory: digests, so that each costs the same, 150 bytes of the heap. Only the clock for
 * durations matters.
 */
export class InMemoryUsedAssertions implements UsedAssertions {
  readonly #clock: Pick<MonotonicClock, 'now'>;
  readonly #limits: typeof USED_ASSERTIONS_LIMITS;
  /** The second at which each entry ends. */
  readonly #ends = new Map<string, number>();
  /** The entries by their end, in steps of BUCKET_SECONDS, rounded up. */
  readonly #buckets = new Map<number, Entry[]>();
  readonly #counts = new Map<string, ClientCount>();
  /** The last bucket that was found to be over, or that was empty. */
  #removedUntil: number;

  constructor(clock: Pick<MonotonicClock, 'now'>, limits = USED_ASSERTIONS_LIMITS) {
    this.#clock = clock;
    this.#limits = limits;
    this.#removedUntil = Math.floor(clock.now() / BUCKET_SECONDS);
  }

  get load(): UsedAssertionsLoad {
    this.#removeEnded();
    return { used: this.#ends.size, max: this.#limits.total };
  }

  async use(uses: readonly AssertionUse[]): Promise<readonly UseOutcome[]> {
    return uses.map((use) => this.#use(use));
  }

  #use({ clientId, assertionId, keptSeconds }: AssertionUse): UseOutcome {
    this.#removeEnded();
    const digest = hash('sha256', `${clientId}\0${assertionId}`, 'base64url');
    const now = this.#clock.now();
    const end = this.#ends.get(digest);
    if (end !== undefined && end > now) return 'replayed';
    if (end === undefined && this.#ends.size >= this.#limits.total) return 'full';
    const count = this.#counts.get(clientId) ?? { clientId, entries: 0 };
    if (count.entries >= this.#limits.perClient) return 'client_full';
    this.#add({ digest, count }, now + keptSeconds);
    return 'first';
  }

  #add(entry: Entry, end: number): void {
    const { digest, count } = entry;
    count.entries += 1;
    this.#counts.set(count.clientId, count);
    this.#ends.set(digest, end);
    const position = Math.ceil(end / BUCKET_SECONDS);
    const bucket = this.#buckets.get(position);
    if (bucket === undefined) this.#buckets.set(position, [entry]);
    else bucket.push(entry);
  }

  /** Removes entries that have ended, up to REMOVED_AT_ONCE. */
  #removeEnded(): void {
    const current = Math.floor(this.#clock.now() / BUCKET_SECONDS);
    let removed = 0;
    while (this.#removedUntil <= current && removed < REMOVED_AT_ONCE) {
      const bucket = this.#buckets.get(this.#removedUntil) ?? [];
      for (; bucket.length > 0 && removed < REMOVED_AT_ONCE; removed += 1) this.#remove(bucket.pop());
      if (bucket.length > 0) return;
      this.#buckets.delete(this.#removedUntil);
      this.#removedUntil += 1;
    }
  }

  #remove(entry: Entry | undefined): void {
    if (entry === undefined) return;
    const { digest, count } = entry;
    // The same id may have been used again after its end, and then has an entry in a later bucket too.
    if ((this.#ends.get(digest) ?? 0) <= this.#clock.now()) this.#ends.delete(digest);
    count.entries -= 1;
    if (count.entries === 0) this.#counts.delete(count.clientId);
  }
}
