import type { KeySchedule } from '../../domain/key-schedule.ts';
import type { Clock } from '../ports/clock.ts';
import { DependencyUnavailable } from '../ports/dependency-unavailable.ts';
import type { KeyDirectory, TrustedKey } from '../ports/key-directory.ts';
import type { KeyFactory } from '../ports/key-factory.ts';
import type { KeyHandle } from '../ports/key-provider.ts';
import { KnownKeys } from './known-keys.ts';

/** Seconds between two looks for key ids that nobody knows; so a flood of them costs one question each time. */
export const COOLDOWN_SECONDS = 5;

/** What this process knows of the keys in the directory. What it has learnt keeps working while the directory is out of reach. */
export class DirectoryKeys {
  readonly #directory: KeyDirectory;
  readonly #known: KnownKeys;
  readonly #schedule: KeySchedule;
  readonly #clock: Clock;
  #learntAt = -Infinity;
  #looking: Promise<void> | undefined;
  /** The last question that failed, since the last that did not. */
  #failure: { readonly at: number; readonly fault: unknown } | undefined;
  /** Questions asked, and the last of them that was learnt from. */
  #asked = 0;
  #learnt = 0;

  constructor(directory: KeyDirectory, factory: KeyFactory, schedule: KeySchedule, clock: Clock) {
    this.#directory = directory;
    this.#known = new KnownKeys(factory, clock);
    this.#schedule = schedule;
    this.#clock = clock;
  }

  /** The second in which the question was asked whose answer is what is known now; -Infinity before the first. */
  get learntAt(): number {
    return this.#learntAt;
  }

  /** Publishes these keys and learns all others. Answers how many others there are. Throws DependencyUnavailable. */
  async publish(keys: readonly TrustedKey[]): Promise<number> {
    const there = await this.#learn((now) => this.#directory.publish(keys, now));
    const own = new Set(keys.map(({ jwk }) => jwk.kid));
    return there.filter(({ jwk }) => !own.has(jwk.kid)).length;
  }

  /**
   * The key of that id. For an id that is not known it asks the directory, once for all who wait, and not again for 5 s
   * or the publication time, whichever is less: no key that signs can be missing from what was learnt since.
   * Throws DependencyUnavailable where the id is unknown and the directory was out of reach: the token may be good.
   */
  async find(kid: string): Promise<KeyHandle | undefined> {
    const known = this.#known.find(kid);
    if (known !== undefined || this.#isRecent(this.#learntAt)) return known;
    if (!this.#isRecent(this.#failure?.at)) await this.#look();
    const found = this.#known.find(kid);
    if (found === undefined && this.#failure) throw new DependencyUnavailable('key directory', this.#failure.fault);
    return found;
  }

  /** Every key that is known and trusted now. */
  trusted(): readonly TrustedKey[] {
    return this.#known.trusted();
  }

  #isRecent(askedAt = -Infinity): boolean {
    const now = this.#clock.now();
    return now - askedAt < COOLDOWN_SECONDS && this.#schedule.isComplete(askedAt, now);
  }

  #look(): Promise<void> {
    this.#looking ??= this.#learn((now) => this.#directory.trusted(now))
      // Kept in #failure, and told to whoever asks for a key that is not known.
      .then(
        () => {},
        () => {},
      )
      .finally(() => {
        this.#looking = undefined;
      });
    return this.#looking;
  }

  async #learn(ask: (now: number) => Promise<readonly TrustedKey[]>): Promise<readonly TrustedKey[]> {
    const at = this.#clock.now();
    this.#asked += 1;
    const question = this.#asked;
    try {
      const keys = await this.#known.read(await ask(at));
      // An answer that was overtaken may lack what the later one has.
      if (question > this.#learnt) {
        this.#learnt = question;
        this.#learntAt = at;
        this.#known.replace(keys);
        this.#failure = undefined;
      }
      return keys;
    } catch (fault) {
      this.#failure = { at, fault };
      throw fault;
    }
  }
}
