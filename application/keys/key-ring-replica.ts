import type { ClockWindow } from '../../domain/clock-offset.ts';
import type { KeySchedule } from '../../domain/key-schedule.ts';
import type { TokenAlgorithm, TokenKey } from '../../domain/token-key.ts';
import type { MonotonicClock } from '../ports/clock.ts';
import { DependencyUnavailable } from '../ports/dependency-unavailable.ts';
import type { KeyFactory } from '../ports/key-factory.ts';
import type { KeyHandle, KeyProvider, SigningKey } from '../ports/key-provider.ts';
import { jwksOf, type TrustedKey, TrustedKeys } from './trusted-keys.ts';

/**
 * What a replica of the ring needs in order to sign and verify as the ring does. No private keys. Times in seconds of the
 * monotonic clock, which all processes of the machine share.
 */
export interface KeyRingState {
  /** The key that signs: from the second `from`, up to and without the second `until`. Undefined before there is one. */
  readonly signing:
    | { readonly kid: string; readonly alg: TokenAlgorithm; readonly from: number; readonly until: number }
    | undefined;
  /** Every published key, of this process and of the other replicas of the service. */
  readonly trusted: readonly TrustedKey[];
  /** When the next key is published; Infinity if that is not known yet. */
  readonly nextPublication: number;
  /** When the key directory was last read; -Infinity before the first time. */
  readonly readAt: number;
  /** How the clock of day compares with the monotonic clock while it is right; undefined if nothing tells. */
  readonly clockWindow: ClockWindow | undefined;
}

/** Why no key may sign now, in words for an operator; undefined if one may. */
export function whyNotSigning(
  { signing, clockWindow }: Pick<KeyRingState, 'signing' | 'clockWindow'>,
  clock: MonotonicClock,
): string | undefined {
  const now = clock.now();
  if (isClockWrong(clockWindow, clock))
    return 'the clock of this machine differs too much from that of the key directory';
  if (signing === undefined) return 'no key is published yet';
  if (now < signing.from) return 'the key is published, and waits until every verifier can know it';
  return now < signing.until ? undefined : 'the key directory has been unavailable for too long';
}

/**
 * Whether tokens would get wrong times, and valid ones would be refused: the clock of day was wrong when the directory
 * was read, or has been set since, or the machine was suspended.
 */
export function isClockWrong(window: ClockWindow | undefined, clock: MonotonicClock): boolean {
  if (window === undefined) return false;
  const difference = clock.wallSeconds() - clock.seconds();
  return difference < window.min || difference > window.max;
}

/** Why no token can be verified: valid ones could be refused. */
export function clockFault(): DependencyUnavailable {
  return new DependencyUnavailable('clock', new Error('it differs too much from that of the key directory'));
}

interface KeyRingReplicaParts {
  readonly factory: Pick<KeyFactory, 'read'>;
  readonly schedule: KeySchedule;
  readonly clock: MonotonicClock;
  /** Makes the ring look up a key id that is unknown here, and calls `update` with its state. Throws DependencyUnavailable. */
  readonly lookUp: (kid: string) => Promise<void>;
}

const EMPTY: KeyRingState = {
  signing: undefined,
  trusted: [],
  nextPublication: Infinity,
  readAt: -Infinity,
  clockWindow: undefined,
};

/** A copy of the primary's key ring in a worker. It signs and verifies as the ring did when it sent its last state. */
export class KeyRingReplica implements KeyProvider {
  readonly #parts: KeyRingReplicaParts;
  readonly #trusted: TrustedKeys;
  #state = EMPTY;
  #key: SigningKey | undefined;
  #lookingUp: Promise<void> | undefined;

  constructor(parts: KeyRingReplicaParts) {
    this.#parts = parts;
    this.#trusted = new TrustedKeys(parts.factory, parts.clock);
  }

  /** Replaces the state by that of the ring. `key` is the signing key that the state names, if there is one. */
  async update(state: KeyRingState, key: SigningKey | undefined): Promise<void> {
    this.#trusted.replace(await this.#trusted.read(state.trusted));
    this.#state = state;
    this.#key = key;
  }

  async signingKey(): Promise<SigningKey> {
    const problem = whyNotSigning(this.#state, this.#parts.clock);
    if (problem === undefined && this.#key !== undefined && this.#key.kid === this.#state.signing?.kid)
      return this.#key;
    throw new DependencyUnavailable('signing key', new Error(problem ?? 'the key has not arrived yet'));
  }

  async verificationKey(kid: string): Promise<KeyHandle | undefined> {
    const { schedule, clock, lookUp } = this.#parts;
    if (isClockWrong(this.#state.clockWindow, clock)) throw clockFault();
    const known = this.#trusted.find(kid);
    if (known !== undefined || schedule.isRecent(this.#state.readAt, clock.now())) return known;
    // One look-up for all requests that wait: the ring sends every key that it has.
    this.#lookingUp ??= lookUp(kid).finally(() => {
      this.#lookingUp = undefined;
    });
    await this.#lookingUp;
    return this.#trusted.find(kid);
  }

  async publicKeys(): Promise<readonly TokenKey[]> {
    return jwksOf(this.#trusted.list());
  }

  maxAgeSeconds(): number {
    const { clock, schedule } = this.#parts;
    if (isClockWrong(this.#state.clockWindow, clock)) return 0;
    return schedule.maxAgeSeconds(clock.now(), this.#state.nextPublication, this.#state.readAt);
  }
}
