import { hash } from 'node:crypto';
import type { MonotonicClock } from '../../../application/ports/clock.ts';
import {
  type AssertionUse,
  USED_ASSERTIONS_LIMITS,
  type UsedAssertions,
  type UsedAssertionsLoad,
  type UseOutcome,
} from '../../../application/ports/used-assertions.ts';

/** How many entries a use looks at, to remove ended ones: at most one in a hundred is kept beyond its end. */
const LOOKED_AT_PER_USE = 100;

/** The same where the number of entries matters: less than a millisecond. */
const LOOKED_AT_ONCE = 1_000;

interface Entry {
  /** The second at which it ends. */
  readonly end: number;
  readonly client: { readonly clientId: string; entries: number };
}

/**
 * Used assertions in this process's memory, by digests, so that each costs the same, 150 bytes of the heap. Only the
 * clock for durations matters. Each use goes on with a walk through all entries, which removes those that have ended.
 */
export class InMemoryUsedAssertions implements UsedAssertions {
  readonly #clock: Pick<MonotonicClock, 'now'>;
  readonly #limits: typeof USED_ASSERTIONS_LIMITS;
  readonly #entries = new Map<string, Entry>();
  readonly #clients = new Map<string, Entry['client']>();
  #walk = this.#entries.entries();

  constructor(clock: Pick<MonotonicClock, 'now'>, limits = USED_ASSERTIONS_LIMITS) {
    this.#clock = clock;
    this.#limits = limits;
  }

  get load(): UsedAssertionsLoad {
    this.#removeEnded(LOOKED_AT_ONCE);
    return { used: this.#entries.size, max: this.#limits.total };
  }

  async use(uses: readonly AssertionUse[]): Promise<readonly UseOutcome[]> {
    return uses.map((use) => this.#use(use));
  }

  #use({ clientId, assertionId, keptSeconds }: AssertionUse): UseOutcome {
    this.#removeEnded(LOOKED_AT_PER_USE);
    const digest = hash('sha256', `${clientId}\0${assertionId}`, 'base64url');
    const now = this.#clock.now();
    const known = this.#entries.get(digest);
    if (known !== undefined && known.end > now) return 'replayed';
    if (known !== undefined) this.#remove(digest, known);
    if (this.#entries.size >= this.#limits.total && this.load.used >= this.#limits.total) return 'full';
    const client = this.#clients.get(clientId) ?? { clientId, entries: 0 };
    if (client.entries >= this.#limits.perClient) this.#removeEnded(LOOKED_AT_ONCE);
    if (client.entries >= this.#limits.perClient) return 'client_full';
    client.entries += 1;
    this.#clients.set(clientId, client);
    this.#entries.set(digest, { end: now + keptSeconds, client });
    return 'first';
  }

  /** @param count how many entries are looked at. Behind the last one, the walk begins again. */
  #removeEnded(count: number): void {
    const now = this.#clock.now();
    let left = Math.min(count, this.#entries.size);
    while (left > 0 && this.#entries.size > 0) {
      const { done, value } = this.#walk.next();
      if (done) {
        this.#walk = this.#entries.entries();
        continue;
      }
      left -= 1;
      const [digest, entry] = value;
      if (entry.end <= now) this.#remove(digest, entry);
    }
  }

  #remove(digest: string, { client }: Entry): void {
    this.#entries.delete(digest);
    client.entries -= 1;
    if (client.entries === 0) this.#clients.delete(client.clientId);
  }
}
