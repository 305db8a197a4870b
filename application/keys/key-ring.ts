import { type ClockWindow, clockWindow } from '../../domain/clock-offset.ts';
import {
  ADDED_WITHIN_SECONDS,
  type KeyPolicy,
  nextKeyAt,
  signingKeyAt,
  verifyingKeysAt,
} from '../../domain/key-chain.ts';
import type { Problem } from '../../domain/problem.ts';
import type { TokenKey } from '../../domain/token-key.ts';
import type { AuditLog, KeyEvent } from '../ports/audit-log.ts';
import type { MonotonicClock } from '../ports/clock.ts';
import { DependencyUnavailable } from '../ports/dependency-unavailable.ts';
import type { KeyProvider, SigningKey, VerificationKey } from '../ports/key-provider.ts';
import type { KeyRingStore, KeyRow } from '../ports/key-ring-store.ts';
import type { KeySealer, NewKey } from '../ports/key-sealer.ts';
import {
  CLOCK_WRONG,
  type KeyRingView,
  NO_KEY,
  NOT_ADDED,
  problemOfKey,
  problemOfSecrets,
  SECRET_REPLACED,
  UNKNOWN,
  UNREAD,
} from './key-ring-report.ts';
import { type OpenedKey, OpenedKeys, type UnusableKey } from './opened-keys.ts';

interface KeyRingParts {
  readonly store: KeyRingStore;
  readonly sealer: KeySealer;
  readonly policy: KeyPolicy;
  readonly clock: MonotonicClock;
  readonly auditLog: AuditLog;
  /** Waits. */
  readonly pause?: (seconds: number) => Promise<unknown>;
}

/**
 * The ring is read every 5 s. After a longer time without an attempt, the process was stopped, and keys may have been
 * revoked since.
 */
const GAP_SECONDS = 10;

/** What was read so recently has every key that signs: one that signs at once waits as long, after it was added. */
const RECENT_SECONDS = 0.2;

const pause = (seconds: number) => new Promise((done) => setTimeout(done, seconds * 1_000));

/** How long nothing is read again: for an unknown key after a fault, and for the time while the clock is wrong. */
const FAILED_SECONDS = 5;
const CLOCK_SECONDS = 1;

/** The longest that a reader may cache the key set. The rest of the publication time is for readers that do not ask. */
const MAX_AGE_SECONDS = 30;

/**
 * The keys that all replicas share: which one signs and which ones verify follows from their times, at each use
 * (domain/key-chain.ts). `advance` has to be called regularly; it reads the ring, and adds the key that is due. What is
 * known stays in use while that fails.
 *
 * | the ring is | when | a use of it |
 * |---|---|---|
 * | unread | nothing was read yet | reads it first; 503 while that fails |
 * | current | an attempt to read it ended less than GAP_SECONDS ago | goes on with what is known |
 * | left behind | otherwise: this process was stopped, and keys may have been revoked | reads it first; if that fails, goes on with what is known |
 * | without a right clock | the clock of day is outside of the window of the last reading | reads it first, once a second; then 503, but the key set is served, as not to be cached |
 *
 * What holds, with its test in tests/application/keys: a key that was seen revoked stays so ("stays revoked where it
 * was seen revoked, …"); no token is refused because the ring could not be read ("while the ring is away signs nothing,
 * says so, and verifies nothing: 503 and not 401"); an unknown id reads it at most once in RECENT_SECONDS ("causes no
 * query for each request of a flood"); a process that was stopped signs only after a reading that began later ("signs
 * only when the reading has ended that has begun meanwhile"); and a wrong clock signs nothing ("stops in the second in
 * which the clock is set, …").
 */
export class KeyRing implements KeyProvider {
  readonly #parts: KeyRingParts;
  readonly #opened: OpenedKeys;
  /** How the clocks compared at the last reading; undefined if the ring has the monotonic clock of this process. */
  #window: ClockWindow | undefined;
  #readAt = -Infinity;
  /** When the last attempt to read the ring ended. A call that needs the ring while one runs waits for it. */
  #attemptedAt = -Infinity;
  #fault: { readonly at: number; readonly fault: unknown } | undefined;
  #writeFault: unknown;
  /** Why this replica must add no key: the others could not open it. */
  #secretsProblem: string | undefined;
  /** A key that was made, and that is in no ring as far as is known. */
  #made: NewKey | undefined;
  #lastSigning: string | undefined;

  constructor(parts: KeyRingParts) {
    this.#parts = parts;
    this.#opened = new OpenedKeys(parts.sealer);
  }

  /** Reads the ring, and adds the key that is due. Calls at one time share a run. Throws DependencyUnavailable. */
  readonly advance = onceAtATime(() => this.#advance());

  /** Throws DependencyUnavailable. */
  readonly read = onceAtATime(() => this.#read());

  async signingKey(): Promise<SigningKey> {
    await this.#catchUp();
    const key = this.#noteSigning();
    if (key === undefined) throw new DependencyUnavailable('signing key', new Error(this.whyNotSigning()?.text));
    return key.pair;
  }

  async verificationKey(kid: string): Promise<VerificationKey | undefined> {
    const { clock } = this.#parts;
    const askedAt = clock.seconds();
    await this.#catchUp();
    if (this.#isClockWrong()) throw new DependencyUnavailable('clock', new Error(CLOCK_WRONG.text));
    const find = () => this.#verifying().find((one) => one.kid === kid)?.pair.publicKey;
    let key = find();
    const isKnown = () => key !== undefined || this.#opened.isRevoked(kid);
    // A second time, if the first reading had begun before this key was added.
    while (!isKnown() && this.#readAt < askedAt - RECENT_SECONDS && !this.#hasJustFailed()) {
      await this.read().catch(() => {});
      key = find();
    }
    if (isKnown()) return key;
    const unusable = this.unusable().find((key) => key.kid === kid);
    const reason = unusable?.state === 'locked' ? unusable.reason : this.whyNotVerifying()?.text;
    const fault = this.#fault?.fault ?? (reason === undefined ? undefined : new Error(reason));
    // The token may be valid.
    if (fault !== undefined) throw new DependencyUnavailable('key directory', fault);
    return undefined;
  }

  async publicKeys(): Promise<readonly TokenKey[]> {
    await this.#catchUp();
    const keys = this.#verifying().map(({ pair }) => ({ ...pair.jwk }));
    // A reader may drop its cached keys when it gets an empty set.
    if (keys.length === 0) throw new DependencyUnavailable('key set', new Error(this.whyNotVerifying()?.text));
    return keys.toSorted((one, other) => (one.kid < other.kid ? -1 : 1));
  }

  maxAgeSeconds(): number {
    const half = Math.floor(this.#parts.policy.publicationSeconds / 2);
    const isOld = this.#parts.clock.seconds() - this.#readAt > half;
    return isOld || this.#isClockWrong() ? 0 : Math.min(MAX_AGE_SECONDS, half);
  }

  /** Why no key may sign now; undefined if one may. */
  whyNotSigning(): Problem | undefined {
    if (this.#isClockWrong()) return CLOCK_WRONG;
    if (this.#signing() !== undefined) return undefined;
    if (this.#readAt === -Infinity) return UNREAD;
    const [unusable] = this.unusable();
    if (unusable !== undefined) return problemOfKey(unusable, 'opened');
    return NO_KEY;
  }

  /** Why no token can be verified now; undefined if those of known keys can. */
  whyNotVerifying(): Problem | undefined {
    if (this.#isClockWrong()) return CLOCK_WRONG;
    return this.#verifying().length === 0 ? UNKNOWN : undefined;
  }

  /** What an operator should know while keys can sign; undefined if there is nothing. */
  note(): Problem | undefined {
    const [unusable] = this.unusable();
    if (unusable !== undefined) return problemOfKey(unusable, 'used');
    if (this.#secretsProblem !== undefined) return problemOfSecrets(this.#secretsProblem);
    return this.#writeFault === undefined ? undefined : NOT_ADDED;
  }

  /** The keys of the ring that cannot be opened. */
  unusable(): readonly UnusableKey[] {
    return this.#opened.unusable;
  }

  /** Whether there is a key to add, as right after the one before it. */
  isDue(): boolean {
    return !this.#isClockWrong() && nextKeyAt(this.#opened.ring, this.#now(), this.#parts.policy) !== undefined;
  }

  /** By how many seconds the clock of day is ahead of the clock of the ring; undefined if that is not compared. */
  clockOffsetSeconds(): number | undefined {
    return this.#window && this.#parts.clock.wallSeconds() - this.#now();
  }

  /**
   * The time of the storage's clock in seconds, as all replicas know it; undefined if this process keeps the ring
   * alone, and while the clocks have to be compared again, as after the machine was suspended.
   */
  sharedTime(): number | undefined {
    return this.#window && !this.#isClockWrong() ? this.#now() : undefined;
  }

  /** For reports. */
  view(): KeyRingView {
    const { policy, clock } = this.#parts;
    const now = this.#now();
    return {
      ...{ ring: this.#opened.ring, policy, now, signing: this.#signing(), verifying: this.#verifying() },
      aheadSeconds: clock.wallSeconds() - now,
      readSecondsAgo: clock.seconds() - this.#readAt,
    };
  }

  async #advance(): Promise<void> {
    await this.read();
    const { store, sealer, policy } = this.#parts;
    await this.#restoreLost();
    await this.#checkSecrets();
    if (this.#secretsProblem !== undefined) return;
    if (!this.isDue()) {
      this.#writeFault = undefined;
      return;
    }
    const key = this.#made ?? (await sealer.make(policy.algorithm));
    this.#made = key;
    // Making it may have taken seconds, in which another replica was faster.
    await this.read();
    const plan = nextKeyAt(this.#opened.ring, this.#now(), policy);
    if (plan === undefined || this.#isClockWrong()) return;
    await this.#write(async () => {
      const sealed = await key.seal(plan);
      const addedBefore = Math.floor(this.#now()) + ADDED_WITHIN_SECONDS;
      await store.add({ ...plan, kid: key.kid, sealed, publicationSeconds: policy.publicationSeconds, addedBefore });
    });
    await this.read();
  }

  async #write(work: () => Promise<void>): Promise<void> {
    try {
      await work();
      this.#writeFault = undefined;
    } catch (fault) {
      this.#writeFault = fault;
      throw fault;
    }
  }

  /** Writes back the keys whose rows were lost: an emptied table would end all tokens at the next restart. */
  async #restoreLost(): Promise<void> {
    const { lost } = this.#opened;
    if (lost.length === 0 || this.#isClockWrong()) return;
    await this.#write(() => this.#parts.store.restore(lost));
    for (const { kid } of lost) this.#record('key_restored', kid);
    await this.read();
  }

  /** Whether the secrets of this moment are those of the other replicas: they open the keys that sign, now or next. */
  async #checkSecrets(): Promise<void> {
    const { sealer, policy } = this.#parts;
    this.#secretsProblem = sealer.problem();
    const signing = this.#signing();
    if (this.#secretsProblem !== undefined || signing === undefined) return;
    const own = this.#opened.ring.keys.filter(
      ({ algorithm, step }) => algorithm === policy.algorithm && step > signing.step,
    );
    for (const { sealed } of [signing, ...own]) {
      if ((await sealer.open(sealed)).state === 'locked') this.#secretsProblem = SECRET_REPLACED;
    }
  }

  async #read(): Promise<void> {
    const { store, clock } = this.#parts;
    const sentAt = clock.seconds();
    try {
      const { rows, time } = await store.read();
      const receivedAt = clock.seconds();
      // A key that signs at once is used when every reading that counts as recent has it, also those of other replicas.
      if (time !== undefined && rows.some((row) => this.#isJustAdded(row, time)))
        await (this.#parts.pause ?? pause)(RECENT_SECONDS);
      const window = time === undefined ? undefined : clockWindow(time, sentAt, receivedAt);
      const revoked = await this.#opened.replace(rows, receivedAt + (window?.exact ?? 0));
      this.#window = window;
      this.#readAt = sentAt;
      this.#fault = undefined;
      for (const kid of revoked) this.#record('key_revoked', kid);
      const made = this.#made;
      if (made !== undefined && rows.some(({ kid }) => kid === made.kid)) {
        this.#record('key_published', made.kid);
        this.#made = undefined;
      }
      this.#noteSigning();
    } catch (fault) {
      this.#fault = { at: clock.seconds(), fault };
      throw fault;
    } finally {
      // A process that was stopped meanwhile has read what was true before.
      const endedAt = clock.seconds();
      this.#attemptedAt = endedAt - sentAt > GAP_SECONDS ? sentAt : endedAt;
    }
  }

  /** Its insert may have been committed long after `createdAt`, by which only the first reading can tell. */
  #isJustAdded({ kid, createdAt }: KeyRow, time: number): boolean {
    const isFirst = this.#readAt === -Infinity;
    const isNew = !isFirst || time < createdAt + 1 + RECENT_SECONDS;
    return isNew && this.#opened.ring.rows.every((known) => known.kid !== kid);
  }

  /** Reads the ring first if this process was stopped, or its clock is wrong. If that fails, what is known counts. */
  async #catchUp(): Promise<void> {
    // The second time, if the first reading had begun before the process was stopped.
    for (let tries = 0; tries < 2; tries += 1) {
      const sinceSeconds = this.#parts.clock.seconds() - this.#attemptedAt;
      if (sinceSeconds <= GAP_SECONDS && (sinceSeconds <= CLOCK_SECONDS || !this.#isClockWrong())) return;
      await this.read().catch(() => {});
    }
  }

  #hasJustFailed(): boolean {
    return this.#fault !== undefined && this.#parts.clock.seconds() < this.#fault.at + FAILED_SECONDS;
  }

  /** The time of the ring's clock. */
  #now(): number {
    return this.#parts.clock.seconds() + (this.#window?.exact ?? 0);
  }

  #signing(): OpenedKey | undefined {
    if (this.#isClockWrong()) return undefined;
    return signingKeyAt(this.#opened.ring, this.#now(), this.#parts.policy);
  }

  #verifying(): readonly OpenedKey[] {
    return verifyingKeysAt(this.#opened.ring, this.#now());
  }

  /**
   * Whether tokens would get wrong times, and valid ones would be refused: the clock of day was wrong when the ring was
   * read, or has been set since, or the machine was suspended.
   */
  #isClockWrong(): boolean {
    const [{ clock }, window] = [this.#parts, this.#window];
    if (window === undefined) return false;
    const difference = clock.wallSeconds() - clock.seconds();
    return difference < window.min || difference > window.max;
  }

  /** The key that signs now, which is recorded when it has changed. */
  #noteSigning(): OpenedKey | undefined {
    const [key, previous] = [this.#signing(), this.#lastSigning];
    if (key === undefined || key.kid === previous) return key;
    this.#lastSigning = key.kid;
    this.#record('key_signing', key.kid);
    if (previous !== undefined && !this.#opened.isRevoked(previous)) this.#record('key_retired', previous);
    return key;
  }

  #record(event: KeyEvent['event'], keyId: string): void {
    const { clock, auditLog } = this.#parts;
    void auditLog.record({ event, at: Math.floor(clock.wallSeconds()), key_id: keyId });
  }
}

/** The same work, which runs once for all who ask for it at the same time. */
function onceAtATime(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  return () => {
    running ??= work().finally(() => {
      running = undefined;
    });
    return running;
  };
}
