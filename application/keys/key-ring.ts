import type { ClockWindow } from '../../domain/clock-offset.ts';
import type { TokenKey } from '../../domain/token-key.ts';
import { onceAtATime } from '../once-at-a-time.ts';
import { DependencyUnavailable } from '../ports/dependency-unavailable.ts';
import type { KeyHandle, KeyProvider, SigningKey } from '../ports/key-provider.ts';
import type { KeyPeriod } from '../ports/telemetry.ts';
import { DirectoryKeys, type DirectoryKeysParts } from './directory-keys.ts';
import { clockFault, isClockWrong, type KeyRingState, whyNotSigning } from './key-ring-state.ts';
import { OwnKeys, type OwnKeysParts, type SigningPeriod } from './own-keys.ts';
import { jwksOf } from './trusted-keys.ts';

type KeyRingParts = OwnKeysParts & DirectoryKeysParts;

/** The keys at one moment, in seconds; undefined where there is nothing to tell. */
interface KeyRingTimes {
  /** Since the key began to sign; negative until it does. */
  readonly age: number | undefined;
  /** Until the key may not sign any more, unless the directory answers. */
  readonly lease: number | undefined;
  /** Until the next key is due to sign; negative if it is late. */
  readonly rotation: number | undefined;
  /** Since the query whose answer has the keys that are trusted. */
  readonly directoryAge: number | undefined;
}

/**
 * The keys that this process signs with, and all keys that it verifies with. They change only in `advance`, which has to
 * be called regularly.
 */
export class KeyRing implements KeyProvider {
  readonly #parts: KeyRingParts;
  readonly #own: OwnKeys;
  readonly #directory: DirectoryKeys;
  #onChange: () => void = () => {};
  #signing: SigningPeriod | undefined;
  #clockWindow: ClockWindow | undefined;

  constructor(parts: KeyRingParts) {
    this.#parts = parts;
    this.#own = new OwnKeys(parts);
    this.#directory = new DirectoryKeys(parts);
  }

  /**
   * Calls the listener, which must not throw, synchronously during `advance`:
   * - at a rotation, before the query to the directory. The query may take seconds, in which no worker may
   *   sign with the retired key; and when the last key is revoked, before another one is published;
   * - at the end of every `advance`, even if it fails.
   *
   * `state()` and `signingKey()` then return the new state and the new key. There is at most one listener.
   */
  onChange(listener: () => void): void {
    this.#onChange = listener;
  }

  /**
   * Makes, rotates and publishes the keys that are due, and reads those of other replicas. Calls at the same time share
   * one run. Throws DependencyUnavailable if the directory is unavailable; call it again then.
   */
  readonly advance = onceAtATime<void, void>(() => this.#advance());

  async signingKey(): Promise<SigningKey> {
    const problem = this.whyNotSigning();
    if (problem === undefined && this.#signing !== undefined) return this.#signing.pair;
    throw new DependencyUnavailable('signing key', new Error(problem));
  }

  /** Why no key may sign now, in words for an operator; undefined if one may. */
  whyNotSigning(): string | undefined {
    const [signing, revoked] = [this.#signingState(), this.#own.revoked];
    if (signing === undefined && revoked !== undefined)
      return `the key ${revoked} has been revoked, and there is no other`;
    return whyNotSigning({ signing, clockWindow: this.#clockWindow }, this.#parts.clock);
  }

  /** Why no token can be verified now, in words for an operator; undefined if those of known keys can. */
  whyNotVerifying(): string | undefined {
    if (this.#isClockWrong()) return whyNotSigning(this.state(), this.#parts.clock);
    return this.state().trusted.length === 0 ? 'no key is trusted yet' : undefined;
  }

  /** By how many seconds the clock of day is ahead of the directory's clock; undefined before the directory tells its time. */
  clockOffsetSeconds(): number | undefined {
    const { clock } = this.#parts;
    return this.#clockWindow && clock.wallSeconds() - clock.seconds() - this.#clockWindow.exact;
  }

  times(): KeyRingTimes {
    const now = this.#parts.clock.now();
    const [signing, rotation, readAt] = [this.#signing, this.#own.nextRotation(), this.#directory.readAt];
    return {
      age: signing && now - signing.from,
      lease: signing && signing.until - now,
      rotation: Number.isFinite(rotation) ? rotation - now : undefined,
      directoryAge: Number.isFinite(readAt) ? now - readAt : undefined,
    };
  }

  async verificationKey(kid: string): Promise<KeyHandle | undefined> {
    if (this.#isClockWrong()) throw clockFault();
    return this.#own.find(kid) ?? this.#directory.find(kid);
  }

  async publicKeys(): Promise<readonly TokenKey[]> {
    return jwksOf(this.state().trusted);
  }

  maxAgeSeconds(): number {
    const { clock, schedule } = this.#parts;
    if (this.#isClockWrong()) return 0;
    return schedule.maxAgeSeconds(clock.now(), this.#own.nextPublication(), this.#directory.readAt);
  }

  /** For a worker: it can sign and verify with this until the next `advance`. */
  state(): KeyRingState {
    return {
      signing: this.#signingState(),
      trusted: [...this.#directory.trusted(), ...this.#own.listPublished()],
      nextPublication: this.#own.nextPublication(),
      readAt: this.#directory.readAt,
      clockWindow: this.#clockWindow,
    };
  }

  /** The published keys of this process, and those of others that it trusts, for people. */
  periods(): readonly KeyPeriod[] {
    const { clock } = this.#parts;
    const own = this.#own.periods();
    const others = this.#directory.trusted().filter(({ jwk }) => own.every(({ kid }) => kid !== jwk.kid));
    const offset = clock.wallSeconds() - clock.seconds();
    const ofDay = (at: number | null) => (at !== null && Number.isFinite(at) ? Math.round(at + offset) : null);
    return [
      ...own,
      ...others.map(({ jwk: { kid, alg }, trustedUntil: until }) => {
        return { kid, alg, state: 'trusted' as const, from: null, until };
      }),
    ].map((period) => ({ ...period, from: ofDay(period.from), until: ofDay(period.until) }));
  }

  async #advance(): Promise<void> {
    try {
      if (this.#own.rotate()) this.#changed();
      if (this.#directory.readAt === -Infinity || this.#isClockWrong()) {
        await this.#directory.read();
        this.#clockWindow = this.#directory.clockWindow;
      }
      if (this.#isClockWrong()) return;
      await this.#publish();
      if (this.#own.signing() === undefined) {
        // The key was revoked, and there is none on standby. It must not sign while another one is published.
        this.#changed();
        await this.#publish();
      }
    } finally {
      this.#changed();
    }
  }

  async #publish(): Promise<void> {
    await this.#own.makeNext(this.#directory.hasOlderPeers);
    const now = this.#parts.clock.now();
    this.#own.published(now, await this.#directory.publish(this.#own.toPublish(now)));
  }

  #isClockWrong(): boolean {
    return isClockWrong(this.#clockWindow, this.#parts.clock);
  }

  #signingState(): KeyRingState['signing'] {
    if (this.#signing === undefined) return undefined;
    const { pair, from, until } = this.#signing;
    return { kid: pair.kid, alg: pair.alg, from, until };
  }

  #changed(): void {
    this.#signing = this.#own.signing();
    this.#clockWindow = this.#directory.clockWindow;
    this.#onChange();
  }
}
