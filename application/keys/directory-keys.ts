import type { KeySchedule } from '../../domain/key-schedule.ts';
import type { Clock } from '../ports/clock.ts';
import { DependencyUnavailable } from '../ports/dependency-unavailable.ts';
import type { KeyDirectory, TrustedKey } from '../ports/key-directory.ts';
import type { KeyFactory } from '../ports/key-factory.ts';
import type { KeyHandle } from '../ports/key-provider.ts';
import { TrustedKeys } from './trusted-keys.ts';

export interface DirectoryKeysParts {
  readonly directory: KeyDirectory;
  readonly factory: Pick<KeyFactory, 'read'>;
  readonly schedule: KeySchedule;
  readonly clock: Clock;
}

/** The keys of the directory, as this process last read them. They stay usable while the directory is unavailable. */
export class DirectoryKeys {
  readonly #parts: DirectoryKeysParts;
  readonly #keys: TrustedKeys;
  #readAt = -Infinity;
  #reading: Promise<void> | undefined;
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

  /** Publishes these keys and reads all others. Returns the number of others. Throws DependencyUnavailable. */
  async publish(keys: readonly TrustedKey[]): Promise<number> {
    const all = await this.#query((now) => this.#parts.directory.publish(keys, now));
    const own = new Set(keys.map(({ jwk }) => jwk.kid));
    return all.filter(({ jwk }) => !own.has(jwk.kid)).length;
  }

  /**
   * The key with this id. Reads the directory for an unknown id: once for all requests that wait, and not again while
   * the last answer is recent. Throws DependencyUnavailable if the id is unknown and the directory could not be read:
   * the token may be valid.
   */
  async find(kid: string): Promise<KeyHandle | undefined> {
    const known = this.#keys.find(kid);
    if (known !== undefined || this.#isRecent(this.#readAt)) return known;
    if (!this.#isRecent(this.#failure?.at)) await this.#read();
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

  /** Never rejects: `find` reports the failure. */
  #read(): Promise<void> {
    const done = () => {
      this.#reading = undefined;
    };
    this.#reading ??= this.#query((now) => this.#parts.directory.trusted(now)).then(done, done);
    return this.#reading;
  }

  async #query(send: (now: number) => Promise<readonly TrustedKey[]>): Promise<readonly TrustedKey[]> {
    const at = this.#parts.clock.now();
    this.#lastQuery += 1;
    const query = this.#lastQuery;
    try {
      const keys = await this.#keys.read(await send(at));
      // An answer that arrives after the answer to a later query may lack keys.
      if (query > this.#usedQuery) {
        this.#usedQuery = query;
        this.#readAt = at;
        this.#keys.replace(keys);
        this.#failure = undefined;
      }
      return keys;
    } catch (fault) {
      this.#failure = { at, fault };
      throw fault;
    }
  }
}
