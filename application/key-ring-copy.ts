import type { KeySchedule } from '../domain/key-schedule.ts';
import type { KeyRingState } from './key-ring-state.ts';
import type { Clock } from './ports/clock.ts';
import { DependencyUnavailable } from './ports/dependency-unavailable.ts';
import type { TrustedKey } from './ports/key-directory.ts';
import type { KeyFactory } from './ports/key-factory.ts';
import type { KeyHandle, KeyProvider, PublicKeyJwk, SigningKey } from './ports/key-provider.ts';

export interface KeyRingCopyParts {
  readonly factory: Pick<KeyFactory, 'read'>;
  readonly schedule: KeySchedule;
  readonly clock: Clock;
  /** Has the ring look for a key id that is not known here, and hand over what it knows then. Throws DependencyUnavailable. */
  readonly ask: (kid: string) => Promise<void>;
}

interface KnownKey extends TrustedKey {
  readonly handle: KeyHandle;
}

/** As in SharedKeys, which is asked. */
const COOLDOWN_SECONDS = 5;

const NOTHING: KeyRingState = { signing: undefined, trusted: [], nextPublication: Infinity, learntAt: -Infinity };

/** The key ring of another process of this service, as that one last told of it. */
export class KeyRingCopy implements KeyProvider {
  readonly #parts: KeyRingCopyParts;
  #state = NOTHING;
  #key: SigningKey | undefined;
  #known: ReadonlyMap<string, KnownKey> = new Map();
  #asking: Promise<void> | undefined;

  constructor(parts: KeyRingCopyParts) {
    this.#parts = parts;
  }

  /** Learns the ring's state; `key` is the one that signs by it, where there is one. */
  async take(state: KeyRingState, key: SigningKey | undefined): Promise<void> {
    const known = await Promise.all(state.trusted.map((trusted) => this.#read(trusted)));
    this.#known = new Map(known.filter((one) => one !== undefined).map((one) => [one.jwk.kid, one]));
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
    const known = this.#trusted(kid);
    if (known !== undefined || this.#isRecent()) return known;
    // One question for all who wait: whatever the ring learns then is handed over as a whole.
    this.#asking ??= this.#parts.ask(kid).finally(() => {
      this.#asking = undefined;
    });
    await this.#asking;
    return this.#trusted(kid);
  }

  async publicKeys(): Promise<readonly PublicKeyJwk[]> {
    const now = this.#parts.clock.now();
    const trusted = [...this.#known.values()].filter(({ trustedUntil }) => now < trustedUntil);
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

  #trusted(kid: string): KeyHandle | undefined {
    const key = this.#known.get(kid);
    return key !== undefined && this.#parts.clock.now() < key.trustedUntil ? key.handle : undefined;
  }

  /** Undefined where it is no key that may be trusted; then it is as if it were not there. */
  async #read(key: TrustedKey): Promise<KnownKey | undefined> {
    const before = this.#known.get(key.jwk.kid);
    const handle = before?.jwk.n === key.jwk.n ? before.handle : await this.#parts.factory.read(key.jwk);
    return handle && { ...key, handle };
  }
}
