import type { KeySchedule } from '../../domain/key-schedule.ts';
import type { Clock } from '../ports/clock.ts';
import { DependencyUnavailable } from '../ports/dependency-unavailable.ts';
import type { KeyFactory } from '../ports/key-factory.ts';
import type { KeyHandle, KeyProvider, PublicKeyJwk, SigningKey } from '../ports/key-provider.ts';
import { COOLDOWN_SECONDS } from './directory-keys.ts';
import type { KeyRingState } from './key-ring-state.ts';
import { KnownKeys } from './known-keys.ts';

export interface KeyRingReplicaParts {
  readonly factory: Pick<KeyFactory, 'read'>;
  readonly schedule: KeySchedule;
  readonly clock: Clock;
  /** Has the ring look for a key id that is not known here, and hand over what it knows then. Throws DependencyUnavailable. */
  readonly ask: (kid: string) => Promise<void>;
}

const NOTHING: KeyRingState = { signing: undefined, trusted: [], nextPublication: Infinity, learntAt: -Infinity };

/** The key ring of another process of this service, as that one last told of it. */
export class KeyRingReplica implements KeyProvider {
  readonly #parts: KeyRingReplicaParts;
  readonly #known: KnownKeys;
  #state = NOTHING;
  #key: SigningKey | undefined;
  #asking: Promise<void> | undefined;

  constructor(parts: KeyRingReplicaParts) {
    this.#parts = parts;
    this.#known = new KnownKeys(parts.factory, parts.clock);
  }

  /** Learns the ring's state; `key` is the one that signs by it, where there is one. */
  async take(state: KeyRingState, key: SigningKey | undefined): Promise<void> {
    this.#known.replace(await this.#known.read(state.trusted));
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
    const known = this.#known.find(kid);
    if (known !== undefined || this.#isRecent()) return known;
    // One question for all who wait: whatever the ring learns then is handed over as a whole.
    this.#asking ??= this.#parts.ask(kid).finally(() => {
      this.#asking = undefined;
    });
    await this.#asking;
    return this.#known.find(kid);
  }

  async publicKeys(): Promise<readonly PublicKeyJwk[]> {
    const trusted = this.#known.trusted();
    return trusted.map(({ jwk }) => ({ ...jwk })).sort((one, other) => (one.kid < other.kid ? -1 : 1));
  }

  maxAgeSeconds(): number {
    const { clock, schedule } = this.#parts;
    return schedule.maxAgeSeconds(clock.now(), this.#state.nextPublication, this.#state.learntAt);
  }

  /** Whether no key that signs can be missing from what is known; so a flood of unknown key ids asks nobody each time. */
  #isRecent(): boolean {
    const { clock, schedule } = this.#parts;
    const now = clock.now();
    const { learntAt } = this.#state;
    return now - learntAt < COOLDOWN_SECONDS && schedule.isComplete(learntAt, now);
  }
}
