import type { KeySchedule } from '../../domain/key-schedule.ts';
import type { TokenKey } from '../../domain/token-key.ts';
import { clockFault, isClockWrong, type KeyRingState, whyNotSigning } from '../keys/key-ring-state.ts';
import { jwksOf, TrustedKeys } from '../keys/trusted-keys.ts';
import type { MonotonicClock } from '../ports/clock.ts';
import { DependencyUnavailable } from '../ports/dependency-unavailable.ts';
import type { KeyFactory } from '../ports/key-factory.ts';
import type { KeyHandle, KeyProvider, SigningKey } from '../ports/key-provider.ts';

interface WorkerKeyRingParts {
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
export class WorkerKeyRing implements KeyProvider {
  readonly #parts: WorkerKeyRingParts;
  readonly #trusted: TrustedKeys;
  #state = EMPTY;
  #key: SigningKey | undefined;
  #lookingUp: Promise<void> | undefined;

  constructor(parts: WorkerKeyRingParts) {
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
