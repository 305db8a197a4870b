import type { Clock } from '../../../application/ports/clock.ts';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';
import type { KeyFactory, KeyHandle, VerificationKeys } from '../../../application/ports/key-provider.ts';
import { fetchKeySet, readKeySet } from '../fetch-key-set.ts';

export interface RemoteKeyOptions {
  /** The http or https URL of the key set. */
  readonly uri: string;
  readonly read: KeyFactory['read'];
  /** The longest that a caller waits for it. */
  readonly timeoutMs: number;
  /** Between the starts of two fetches. A set is fresh for at least this long. */
  readonly cooldownSeconds: number;
  /** How long keys stay trusted after they are no longer fresh, while the issuer is unavailable. */
  readonly staleSeconds: number;
}

/** A change of state of the key set, for the log of the process; not every failed fetch. */
export type KeySetEvent =
  | { readonly event: 'key_set_unavailable'; readonly fault: unknown }
  | { readonly event: 'key_set_available'; readonly keys: number };

/**
 * The keys of an issuer, by the URL of its key set, fetched once for all waiting callers. Not by `createRemoteJWKSet` of jose, which
 * ignores `Cache-Control`, has no cooldown after a failure, and does not use an expired set while the issuer is unavailable.
 */
export class RemoteKeyProvider implements VerificationKeys {
  readonly #options: RemoteKeyOptions;
  readonly #clock: Clock;
  readonly #log: (event: KeySetEvent) => void;
  readonly #closing = new AbortController();
  #startedAt = -Infinity;
  #cached = { keys: new Map() as ReadonlyMap<string, KeyHandle>, fetchedAt: -Infinity, freshSeconds: 0 };
  #fetching: Promise<void> | undefined;
  /** Why the last fetch failed; undefined if it succeeded. */
  #fault: unknown;

  /** @param log must not throw. */
  constructor(options: RemoteKeyOptions, clock: Clock, log: (event: KeySetEvent) => void) {
    this.#options = options;
    this.#clock = clock;
    this.#log = log;
  }

  /** Waits for one fetch at most, and not at all for a cached key while the issuer is unavailable. */
  async verificationKey(kid: string): Promise<KeyHandle | undefined> {
    const { fetchedAt, freshSeconds } = this.#cached;
    const cached = this.#find(kid);
    if (cached === undefined || !this.#isWithin(fetchedAt, freshSeconds)) {
      const fetched = this.refresh();
      if (cached === undefined || this.#fault === undefined) await fetched;
    }
    const key = this.#find(kid);
    // Without an answer from the issuer the token may be valid, and must not be refused.
    if (key === undefined && this.#fault !== undefined) throw new DependencyUnavailable('key set', this.#fault);
    return key;
  }

  /** Fetches the set, unless a fetch was started within the cooldown. Never rejects. */
  async refresh(): Promise<void> {
    if (this.#fetching === undefined && this.#isWithin(this.#startedAt, this.#options.cooldownSeconds)) return;
    this.#fetching ??= this.#fetch().finally(() => {
      this.#fetching = undefined;
    });
    await this.#fetching;
  }

  /** Aborts the current fetch, if any, and starts no other. */
  close(): void {
    this.#closing.abort(new Error('the key provider was closed'));
  }

  async #fetch(): Promise<void> {
    const { uri, read, timeoutMs, cooldownSeconds } = this.#options;
    const fetchedAt = this.#clock.now();
    this.#startedAt = fetchedAt;
    try {
      const signal = AbortSignal.any([AbortSignal.timeout(timeoutMs), this.#closing.signal]);
      const { document, maxAgeSeconds } = await fetchKeySet(uri, signal);
      const keys = await readKeySet(document, read);
      if (this.#cached.keys.size === 0 || this.#fault) this.#log({ event: 'key_set_available', keys: keys.size });
      const freshSeconds = Math.max(cooldownSeconds, maxAgeSeconds);
      this.#cached = { keys, fetchedAt, freshSeconds };
      this.#fault = undefined;
    } catch (fault) {
      const isNew = this.#fault === undefined && !this.#closing.signal.aborted;
      if (isNew) this.#log({ event: 'key_set_unavailable', fault });
      this.#fault = fault;
    }
  }

  #find(kid: string): KeyHandle | undefined {
    const { keys, fetchedAt, freshSeconds } = this.#cached;
    return this.#isWithin(fetchedAt, freshSeconds + this.#options.staleSeconds) ? keys.get(kid) : undefined;
  }

  /** After the clock was set back the age is unknown, and counts as too old. */
  #isWithin(since: number, seconds: number): boolean {
    const age = this.#clock.now() - since;
    return age >= 0 && age < seconds;
  }
}
