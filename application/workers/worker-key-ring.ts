import type { KeySchedule } from '../../domain/key-schedule.ts';
import type { TokenAlgorithm, TokenKey } from '../../domain/token-key.ts';
import { clockFault, isClockWrong, type KeyRingState, whyNotSigning } from '../keys/key-ring-state.ts';
import { jwksOf, TrustedKeys } from '../keys/trusted-keys.ts';
import { onceAtATime } from '../once-at-a-time.ts';
import type { MonotonicClock } from '../ports/clock.ts';
import { DependencyUnavailable } from '../ports/dependency-unavailable.ts';
import type { KeyFactory, KeyHandle, KeyProvider, SigningKey } from '../ports/key-provider.ts';

interface WorkerKeyRingParts {
  readonly factory: Pick<KeyFactory, 'read'>;
  /** Reads a private key from PKCS#8. */
  readonly readPrivateKey: (kid: string, alg: TokenAlgorithm, pkcs8: Uint8Array) => Promise<SigningKey>;
  readonly schedule: KeySchedule;
  readonly clock: MonotonicClock;
  /** Makes the ring look up a key id that is unknown here, and calls `take` with its state. Throws DependencyUnavailable. */
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
  #taking = Promise.resolve();
  /** One look-up for all requests that wait: the ring sends every key that it has. */
  readonly #lookUp: WorkerKeyRingParts['lookUp'];

  constructor(parts: WorkerKeyRingParts) {
    this.#parts = parts;
    this.#trusted = new TrustedKeys(parts.factory, parts.clock);
    this.#lookUp = onceAtATime(parts.lookUp);
  }

  /**
   * Replaces the state by that of the ring. Resolves when it is in use; calls at the same time take turns.
   *
   * @param privateKey the signing key that the state names, in PKCS#8, if there is one.
   */
  take(state: KeyRingState, privateKey: Uint8Array | undefined): Promise<void> {
    this.#taking = this.#taking.catch(() => {}).then(() => this.#takeNext(state, privateKey));
    return this.#taking;
  }

  async signingKey(): Promise<SigningKey> {
    const problem = whyNotSigning(this.#state, this.#parts.clock);
    if (problem === undefined && this.#key !== undefined && this.#key.kid === this.#state.signing?.kid)
      return this.#key;
    throw new DependencyUnavailable('signing key', new Error(problem ?? 'the key has not arrived yet'));
  }

  async verificationKey(kid: string): Promise<KeyHandle | undefined> {
    const { schedule, clock } = this.#parts;
    if (isClockWrong(this.#state.clockWindow, clock)) throw clockFault();
    const known = this.#trusted.find(kid);
    if (known !== undefined || schedule.isRecent(this.#state.readAt, clock.now())) return known;
    await this.#lookUp(kid);
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

  async #takeNext(state: KeyRingState, privateKey: Uint8Array | undefined): Promise<void> {
    const { signing } = state;
    const isNew = signing !== undefined && privateKey !== undefined && signing.kid !== this.#key?.kid;
    const key = isNew ? await this.#parts.readPrivateKey(signing.kid, signing.alg, privateKey) : this.#key;
    this.#trusted.replace(await this.#trusted.read(state.trusted));
    this.#state = state;
    this.#key = key;
  }
}
