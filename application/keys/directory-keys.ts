import { type ClockWindow, clockWindow } from '../../domain/clock-offset.ts';
import type { KeySchedule } from '../../domain/key-schedule.ts';
import { onceAtATime } from '../once-at-a-time.ts';
import type { MonotonicClock } from '../ports/clock.ts';
import { DependencyUnavailable } from '../ports/dependency-unavailable.ts';
import type { DirectoryAnswer, KeyDirectory } from '../ports/key-directory.ts';
import type { KeyFactory, KeyHandle } from '../ports/key-provider.ts';
import { type TrustedKey, TrustedKeys } from './trusted-keys.ts';

export interface DirectoryKeysParts {
  readonly directory: KeyDirectory;
  readonly factory: Pick<KeyFactory, 'read'>;
  readonly schedule: KeySchedule;
  readonly clock: MonotonicClock;
}

/** What the directory answered to a publication. */
export interface Publication {
  /** The number of keys of other processes. */
  readonly others: number;
  /** The ids of our own keys that are revoked. */
  readonly revoked: readonly string[];
  /** By how many seconds more the directory's clock has advanced than ours since the last publication: a suspended machine. */
  readonly missedSeconds: number;
}

/** The keys of the directory, as this process last read them. They stay usable while the directory is unavailable. */
export class DirectoryKeys {
  readonly #parts: DirectoryKeysParts;
  readonly #keys: TrustedKeys;
  #readAt = -Infinity;
  #hasOlderPeers = false;
  #clockWindow: ClockWindow | undefined;
  /** As it was at the last publication. */
  #publicationWindow: ClockWindow | undefined;
  /** Never rejects: `find` reports the failure. */
  readonly #readOnce = onceAtATime<void, void>(() => this.read().catch(() => {}));
  /** The last query that failed, if none has succeeded since. */
  #failure: { readonly at: number; readonly fault: unknown } | undefined;
  /** The number of queries so far, and the number of the one whose answer is in use. */
  #lastQuery = 0;
  #usedQuery = 0;

  constructor(parts: DirectoryKeysParts) {
    this.#parts = parts;
    this.#keys = new TrustedKeys(parts.factory, parts.clock);
  }

  /** When the query for the keys that are in use was sent; -Infinity before the first answer. */
  get readAt(): number {
    return this.#readAt;
  }

  /** Whether one of the keys in use is of a replica that verifies only RS256. */
  get hasOlderPeers(): boolean {
    return this.#hasOlderPeers;
  }

  /** How the clock of day is to compare with the monotonic clock; undefined if the directory has no clock, or before it answers. */
  get clockWindow(): ClockWindow | undefined {
    return this.#clockWindow;
  }

  /** Publishes these keys and reads all others. Throws DependencyUnavailable. */
  async publish(keys: readonly TrustedKey[]): Promise<Publication> {
    // Durations are rounded up here, by the directory, and when they are received: a key is never trusted too short.
    const now = this.#parts.clock.seconds();
    const shared = keys.map(({ jwk, trustedUntil }) => ({ jwk, trustedSeconds: Math.ceil(trustedUntil - now) }));
    const { keys: all, revoked } = await this.#query(() => this.#parts.directory.publish(shared));
    const own = new Set(keys.map(({ jwk }) => jwk.kid));
    const others = all.filter(({ jwk }) => !own.has(jwk.kid)).length;
    const [before, after] = [this.#publicationWindow, this.#clockWindow];
    this.#publicationWindow = after;
    return { others, revoked, missedSeconds: before && after ? after.exact - before.exact : 0 };
  }

  /** Reads the keys of the directory, and compares the clocks. Throws DependencyUnavailable. */
  async read(): Promise<void> {
    await this.#query(() => this.#parts.directory.read());
  }

  /**
   * The key with this id. Reads the directory for an unknown id: once for all requests that wait, and not again while
   * the last answer is recent. Throws DependencyUnavailable if the id is unknown and the directory could not be read:
   * the token may be valid.
   */
  async find(kid: string): Promise<KeyHandle | undefined> {
    const known = this.#keys.find(kid);
    if (known !== undefined || this.#isRecent(this.#readAt)) return known;
    if (!this.#isRecent(this.#failure?.at)) await this.#readOnce();
    const found = this.#keys.find(kid);
    if (found === undefined && this.#failure) throw new DependencyUnavailable('key directory', this.#failure.fault);
    return found;
  }

  /** Every key that is trusted now. */
  trusted(): readonly TrustedKey[] {
    return this.#keys.list();
  }

  #isRecent(queriedAt = -Infinity): boolean {
    return this.#parts.schedule.isRecent(queriedAt, this.#parts.clock.now());
  }

  async #query(send: () => Promise<DirectoryAnswer>) {
    const { clock } = this.#parts;
    const sentAt = clock.seconds();
    const at = Math.floor(sentAt);
    this.#lastQuery += 1;
    const query = this.#lastQuery;
    try {
      const { time, revoked, ofOlderVersions, ...answer } = await send();
      const receivedAt = clock.seconds();
      const trusted = answer.keys.map(({ jwk, trustedSeconds }) => ({
        jwk,
        trustedUntil: Math.ceil(receivedAt) + trustedSeconds,
      }));
      const keys = await this.#keys.read(trusted);
      // An answer that arrives after the answer to a later query may lack keys.
      if (query > this.#usedQuery) {
        this.#usedQuery = query;
        this.#readAt = at;
        this.#keys.replace(keys);
        this.#hasOlderPeers = keys.some(({ jwk }) => ofOlderVersions.includes(jwk.kid));
        this.#clockWindow = time === undefined ? undefined : clockWindow(time, sentAt, receivedAt);
        this.#failure = undefined;
      }
      return { keys, revoked };
    } catch (fault) {
      this.#failure = { at, fault };
      throw fault;
    }
  }
}
