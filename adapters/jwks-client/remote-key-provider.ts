import type { Clock } from '../../application/ports/clock.ts';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import type { KeyHandle, VerificationKeys } from '../../application/ports/key-provider.ts';
import { fetchKeySet } from './fetch-key-set.ts';
import type { KeySetLog } from './key-set-log.ts';
import { readKeySet } from './read-key-set.ts';

/** Seconds that a set is fresh whose answer does not say, and at most. */
const FRESH_SECONDS_DEFAULT = 300;
const FRESH_SECONDS_MAX = 3_600;

export interface RemoteKeyOptions {
  /** Where the key set is: an http or https URL. */
  readonly uri: string;
  /** The longest that anybody waits for it. */
  readonly timeoutMs: number;
  /** Between two questions, answered or not. A set is fresh for so long at least. */
  readonly cooldownSeconds: number;
  /** How long keys that are no longer fresh go on being trusted while the issuer is away. */
  readonly staleSeconds: number;
}

interface KnownKeys {
  readonly keys: ReadonlyMap<string, KeyHandle>;
  readonly askedAt: number;
  readonly freshSeconds: number;
}

/**
 * The keys of somebody else, by the URL of the set that they publish. Asks again when the set is no longer fresh or a
 * token names a key that is not in it, once for all who wait. What was learnt keeps working while the issuer is away.
 */
export class RemoteKeyProvider implements VerificationKeys {
  readonly #options: RemoteKeyOptions;
  readonly #clock: Clock;
  readonly #log: KeySetLog;
  readonly #closing = new AbortController();
  #known: KnownKeys | undefined;
  #askedAt = -Infinity;
  #asking: Promise<void> | undefined;
  /** Of the last question; undefined where it was answered. */
  #fault: unknown;

  constructor(options: RemoteKeyOptions, clock: Clock, log: KeySetLog) {
    this.#options = options;
    this.#clock = clock;
    this.#log = log;
  }

  /** The port's promise. Waits for the issuer at most once, and not at all for a known key of an issuer that is known to be away. */
  async verificationKey(kid: string): Promise<KeyHandle | undefined> {
    const known = this.#trusted(kid);
    if (known !== undefined && this.#isFresh()) return known;

    const asked = this.refresh();
    if (known !== undefined && this.#fault !== undefined) return known;
    await asked;

    const found = this.#trusted(kid);
    // Where the issuer did not answer, the token may be good: that is no reason to refuse it.
    if (found === undefined && this.#fault !== undefined) throw new DependencyUnavailable('key set', this.#fault);
    return found;
  }

  /** Asks the issuer, unless it was asked within the cooldown. Never rejects: what went wrong is told to whoever needs a key. */
  refresh(): Promise<void> {
    if (this.#asking === undefined && this.#isWithin(this.#askedAt, this.#options.cooldownSeconds)) {
      return Promise.resolve();
    }
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  /** Gives up the question that is open, if any, and asks no other. */
  close(): void {
    this.#closing.abort(new Error('the key provider was closed'));
  }

  async #ask(): Promise<void> {
    const { uri, timeoutMs } = this.#options;
    const askedAt = this.#clock.now();
    this.#askedAt = askedAt;
    try {
      const signal = AbortSignal.any([AbortSignal.timeout(timeoutMs), this.#closing.signal]);
      const { text, maxAgeSeconds } = await fetchKeySet(uri, signal);
      const keys = await readKeySet(text);
      if (this.#known === undefined || this.#fault !== undefined) {
        this.#log({ event: 'key_set_available', keys: keys.size });
      }
      this.#known = { keys, askedAt, freshSeconds: this.#bounded(maxAgeSeconds) };
      this.#fault = undefined;
    } catch (fault) {
      if (this.#fault === undefined && !this.#closing.signal.aborted)
        this.#log({ event: 'key_set_unavailable', fault });
      this.#fault = fault;
    }
  }

  #bounded(maxAgeSeconds = FRESH_SECONDS_DEFAULT): number {
    return Math.max(this.#options.cooldownSeconds, Math.min(maxAgeSeconds, FRESH_SECONDS_MAX));
  }

  #isFresh(): boolean {
    return this.#known !== undefined && this.#isWithin(this.#known.askedAt, this.#known.freshSeconds);
  }

  #trusted(kid: string): KeyHandle | undefined {
    if (this.#known === undefined) return undefined;
    const { keys, askedAt, freshSeconds } = this.#known;
    return this.#isWithin(askedAt, freshSeconds + this.#options.staleSeconds) ? keys.get(kid) : undefined;
  }

  /** A clock that was set back says nothing of the age: then it counts as too old. */
  #isWithin(since: number, seconds: number): boolean {
    const age = this.#clock.now() - since;
    return age >= 0 && age < seconds;
  }
}
