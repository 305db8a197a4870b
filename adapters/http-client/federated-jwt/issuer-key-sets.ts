import { PeriodicTask } from '../../../application/periodic-task.ts';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';
import type { Dependency, Readiness } from '../../../application/ports/health-check.ts';
import type { IssuerKeySet, IssuerKeys } from '../../../application/ports/issuer-keys.ts';
import type { PublicJwk } from '../../../domain/public-jwk.ts';
import { fetchIssuerKeys, type IssuerSource } from './fetch-issuer-keys.ts';

/** From a failure to the next attempt; then twice as long, up to the usual interval. */
const FIRST_RETRY_MS = 1_000;

/** A change of state of one issuer's key set, for the log of the process; not every failed attempt. */
export type IssuerKeySetEvent =
  | { readonly event: 'key_set_unavailable'; readonly issuer: string; readonly fault: unknown }
  | { readonly event: 'key_set_available'; readonly issuer: string; readonly keys: number }
  | { readonly event: 'key_set_expired'; readonly issuer: string };

export interface IssuerKeySetsOptions {
  /** The longest that one attempt may take, from the connection to the last byte. */
  readonly timeoutMs: number;
  /** Between the starts of two attempts. */
  readonly refreshMs: number;
  /** How long a set is used after the last attempt that succeeded. */
  readonly staleMs: number;
  /** Must not throw. */
  readonly log: (event: IssuerKeySetEvent) => void;
  /** Milliseconds of a clock that nobody can set. */
  readonly now?: () => number;
}

interface Fetched {
  readonly keys: readonly PublicJwk[];
  readonly fetchedMs: number;
}

/**
 * Fetches the key sets of the trusted issuers: at startup, and again and again in the background, each issuer by
 * itself. No request makes it fetch, so nobody outside can. While an issuer is unavailable its last set stays in use,
 * until it is stale.
 */
export class IssuerKeySets implements Dependency, IssuerKeys {
  readonly name = 'issuer key sets';
  readonly #sources: readonly IssuerSource[];
  readonly #options: IssuerKeySetsOptions;
  readonly #now: () => number;
  readonly #closing = new AbortController();
  readonly #fetched = new Map<string, Fetched>();
  /** Why the last attempt failed, by issuer. */
  readonly #faulty = new Map<string, string>();
  readonly #refreshing: readonly PeriodicTask[];

  constructor(sources: readonly IssuerSource[], options: IssuerKeySetsOptions) {
    this.#sources = sources;
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#refreshing = sources.filter(({ source }) => 'uri' in source).map((source) => this.#refresh(source));
  }

  /** Resolves when the first attempt for each issuer has succeeded or failed. */
  async start(): Promise<void> {
    await Promise.all(this.#refreshing.map((task) => task.start()));
  }

  keysOf(issuer: string): IssuerKeySet {
    const source = this.#sources.find((known) => known.issuer === issuer);
    const set = source && this.#setOf(source);
    if (set === undefined) throw new DependencyUnavailable(`key set of ${issuer}`, new Error('no key set'));
    return set;
  }

  /** How many key sets are as they should be, are older than that, or are missing. */
  counts(): Readonly<Record<'current' | 'stale' | 'absent', number>> {
    const sets = this.#sources.flatMap((source) => this.#setOf(source) ?? []);
    const current = sets.filter((set) => set.current).length;
    return { current, stale: sets.length - current, absent: this.#sources.length - sets.length };
  }

  /**
   * Always ready: other issuers and other methods work without one issuer. The note counts what is missing, and names
   * the first one.
   */
  readiness(): Readiness {
    const { stale, absent } = this.counts();
    const notes = [...(absent > 0 ? [`${absent} missing`] : []), ...(stale > 0 ? [`${stale} not current`] : [])];
    if (notes.length === 0) return { ready: true };
    const [[issuer, fault] = []] = this.#faulty;
    const text =
      issuer === undefined ? notes.join(', ') : `${notes.join(', ')}: that of ${issuer} cannot be fetched (${fault})`;
    const fix = 'correct jwks_uri in CLIENT_ASSERTION_ISSUERS_FILE, or the network between here and the issuer';
    return { ready: true, note: { code: absent > 0 ? 'missing' : 'not_current', text, fix } };
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error('the service stops'));
    for (const task of this.#refreshing) task.close();
  }

  #setOf({ issuer, source }: IssuerSource): IssuerKeySet | undefined {
    const keys = 'keys' in source ? source.keys : this.#fetched.get(issuer)?.keys;
    return keys && { keys, current: !this.#faulty.has(issuer) };
  }

  #refresh(source: IssuerSource): PeriodicTask {
    const { refreshMs, timeoutMs } = this.#options;
    let retryMs = FIRST_RETRY_MS;
    return new PeriodicTask(async () => {
      const begin = this.#now();
      const signal = AbortSignal.any([AbortSignal.timeout(timeoutMs), this.#closing.signal]);
      const failed = await fetchIssuerKeys(source, signal).then(
        (keys) => this.#succeeded(source.issuer, keys),
        (fault) => this.#failed(source.issuer, fault),
      );
      const intervalMs = failed ? Math.min(refreshMs, retryMs) : refreshMs;
      retryMs = failed ? Math.min(refreshMs, 2 * retryMs) : FIRST_RETRY_MS;
      return Math.max(0, intervalMs - (this.#now() - begin));
    });
  }

  #succeeded(issuer: string, keys: readonly PublicJwk[]): false {
    const isFirst = !this.#fetched.has(issuer);
    const wasFaulty = this.#faulty.delete(issuer);
    this.#fetched.set(issuer, { keys, fetchedMs: this.#now() });
    if (isFirst || wasFaulty) {
      this.#options.log({ event: 'key_set_available', issuer, keys: keys.length });
    }
    return false;
  }

  #failed(issuer: string, fault: unknown): true {
    if (this.#closing.signal.aborted) return true;
    const isNew = !this.#faulty.has(issuer);
    const { message, cause } = Object(fault) as Error & { readonly cause?: NodeJS.ErrnoException };
    this.#faulty.set(issuer, cause?.code ?? message);
    if (isNew) this.#options.log({ event: 'key_set_unavailable', issuer, fault });
    const fetched = this.#fetched.get(issuer);
    const isStale = fetched !== undefined && this.#now() - fetched.fetchedMs > this.#options.staleMs;
    if (isStale) {
      this.#fetched.delete(issuer);
      this.#options.log({ event: 'key_set_expired', issuer });
    }
    return true;
  }
}
