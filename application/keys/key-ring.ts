import type { ClockWindow } from '../../domain/clock-offset.ts';
import type { TokenKey } from '../../domain/token-key.ts';
import { onceAtATime } from '../once-at-a-time.ts';
import { DependencyUnavailable } from '../ports/dependency-unavailable.ts';
import type { KeyHandle, KeyProvider, SigningKey } from '../ports/key-provider.ts';
import type { KeyPeriod } from '../ports/telemetry.ts';
import { DirectoryKeys, type DirectoryKeysParts } from './directory-keys.ts';
import { OwnKeys, type OwnKeysParts, type SigningPeriod } from './own-keys.ts';
import { jwksOf, type TrustedKey } from './trusted-keys.ts';

const CLOCK_WRONG = 'the clock of this machine differs too much from that of the key directory';

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
  #signing: SigningPeriod | undefined;
  #clockWindow: ClockWindow | undefined;

  constructor(parts: KeyRingParts) {
    this.#parts = parts;
    this.#own = new OwnKeys(parts);
    this.#directory = new DirectoryKeys(parts);
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
    const [signing, revoked] = [this.#signing, this.#own.revoked];
    if (signing === undefined && revoked !== undefined) {
      return `the key ${revoked} has been revoked, and there is no other`;
    }
    if (this.#isClockWrong()) return CLOCK_WRONG;
    if (signing === undefined) return 'no key is published yet';
    const now = this.#parts.clock.now();
    if (now < signing.from) return 'the key is published, and waits until every verifier can know it';
    return now < signing.until ? undefined : 'the key directory has been unavailable for too long';
  }

  /** Why no token can be verified now, in words for an operator; undefined if those of known keys can. */
  whyNotVerifying(): string | undefined {
    if (this.#isClockWrong()) return CLOCK_WRONG;
    return this.trusted().length === 0 ? 'no key is trusted yet' : undefined;
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
    if (this.#isClockWrong()) throw new DependencyUnavailable('clock', new Error(CLOCK_WRONG));
    return this.#own.find(kid) ?? this.#directory.find(kid);
  }

  async publicKeys(): Promise<readonly TokenKey[]> {
    return jwksOf(this.trusted());
  }

  maxAgeSeconds(): number {
    const { clock, schedule } = this.#parts;
    if (this.#isClockWrong()) return 0;
    return schedule.maxAgeSeconds(clock.now(), this.#own.nextPublication(), this.#directory.readAt);
  }

  /** Every published key, of this process and of the other replicas of the service. */
  trusted(): readonly TrustedKey[] {
    return [...this.#directory.trusted(), ...this.#own.listPublished()];
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
      // The query to the directory may take seconds, in which the retired key must not sign.
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

  /**
   * Whether tokens would get wrong times, and valid ones would be refused: the clock of day was wrong when the directory
   * was read, or has been set since, or the machine was suspended.
   */
  #isClockWrong(): boolean {
    const window = this.#clockWindow;
    if (window === undefined) return false;
    const { clock } = this.#parts;
    const difference = clock.wallSeconds() - clock.seconds();
    return difference < window.min || difference > window.max;
  }

  #changed(): void {
    this.#signing = this.#own.signing();
    this.#clockWindow = this.#directory.clockWindow;
  }
}
