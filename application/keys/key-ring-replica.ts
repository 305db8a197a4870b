import type { KeySchedule } from '../../domain/key-schedule.ts';
import type { Clock } from '../ports/clock.ts';
import { DependencyUnavailable } from '../ports/dependency-unavailable.ts';
import type { KeyFactory } from '../ports/key-factory.ts';
import type { KeyHandle, KeyProvider, PublicKeyJwk, SigningKey } from '../ports/key-provider.ts';
import type { KeyRingState } from './key-ring.ts';
import { jwksOf, TrustedKeys } from './trusted-keys.ts';

export interface KeyRingReplicaParts {
  readonly factory: Pick<KeyFactory, 'read'>;
  readonly schedule: KeySchedule;
  readonly clock: Clock;
  /** Makes the ring look up a key id that is unknown here, and calls `update` with its state. Throws DependencyUnavailable. */
  readonly lookUp: (kid: string) => Promise<void>;
}

const EMPTY: KeyRingState = { signing: undefined, trusted: [], nextPublication: Infinity, readAt: -Infinity };

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
    const { signing } = this.#state;
    const now = this.#parts.clock.now();
    if (signing === undefined || signing.kid !== this.#key?.kid || now < signing.from || now >= signing.until) {
      throw new DependencyUnavailable('signing key', new Error('no key may sign now'));
    }
    return this.#key;
  }

  async verificationKey(kid: string): Promise<KeyHandle | undefined> {
    const { schedule, clock, lookUp } = this.#parts;
    const known = this.#trusted.find(kid);
    if (known !== undefined || schedule.isRecent(this.#state.readAt, clock.now())) return known;
    // One look-up for all requests that wait: the ring sends every key that it has.
    this.#lookingUp ??= lookUp(kid).finally(() => {
      this.#lookingUp = undefined;
    });
    await this.#lookingUp;
    return this.#trusted.find(kid);
  }

  async publicKeys(): Promise<readonly PublicKeyJwk[]> {
    return jwksOf(this.#trusted.list());
  }

  maxAgeSeconds(): number {
    const { clock, schedule } = this.#parts;
    return schedule.maxAgeSeconds(clock.now(), this.#state.nextPublication, this.#state.readAt);
  }
}
