import type { Clock } from './ports/clock.ts';
import { DependencyUnavailable } from './ports/dependency-unavailable.ts';
import type { KeyDirectory, TrustedKey } from './ports/key-directory.ts';
import type { KeyFactory } from './ports/key-factory.ts';
import type { KeyHandle, PublicKeyJwk } from './ports/key-provider.ts';

/** Seconds between two looks for key ids that nobody knows; so a flood of them costs one question each time. */
const COOLDOWN_SECONDS = 5;

interface KnownKey extends TrustedKey {
  readonly handle: KeyHandle;
}

/** What this process knows of the keys in the directory. What it has learnt keeps working while the directory is out of reach. */
export class SharedKeys {
  readonly #directory: KeyDirectory;
  readonly #factory: KeyFactory;
  readonly #clock: Clock;
  #known: ReadonlyMap<string, KnownKey> = new Map();
  #lookedAt = -Infinity;
  #looking: Promise<void> | undefined;
  #fault: unknown;

  constructor(directory: KeyDirectory, factory: KeyFactory, clock: Clock) {
    this.#directory = directory;
    this.#factory = factory;
    this.#clock = clock;
  }

  /** Publishes these keys and learns all others. Answers how many others there are. Throws DependencyUnavailable. */
  async publish(keys: readonly TrustedKey[]): Promise<number> {
    await this.#learn((now) => this.#directory.publish(keys, now));
    const own = new Set(keys.map(({ jwk }) => jwk.kid));
    return [...this.#known.keys()].filter((kid) => !own.has(kid)).length;
  }

  /**
   * The key of that id. For an id that is not known it asks the directory, once for all who wait, and not again for 5 s.
   * Throws DependencyUnavailable where the id is unknown and the directory was out of reach: the token may be good.
   */
  async find(kid: string): Promise<KeyHandle | undefined> {
    const known = this.#trusted(kid);
    if (known !== undefined) return known;
    await this.#look();
    const found = this.#trusted(kid);
    if (found === undefined && this.#fault !== undefined) throw new DependencyUnavailable('key directory', this.#fault);
    return found;
  }

  /** Every key that is known and trusted now. */
  jwks(): readonly PublicKeyJwk[] {
    const now = this.#clock.now();
    return [...this.#known.values()].filter(({ trustedUntil }) => now < trustedUntil).map(({ jwk }) => jwk);
  }

  #trusted(kid: string): KeyHandle | undefined {
    const key = this.#known.get(kid);
    return key !== undefined && this.#clock.now() < key.trustedUntil ? key.handle : undefined;
  }

  #look(): Promise<void> {
    if (this.#looking === undefined && this.#clock.now() - this.#lookedAt < COOLDOWN_SECONDS) return Promise.resolve();
    this.#looking ??= this.#learn((now) => this.#directory.trusted(now))
      // Kept in #fault, and told to whoever asks for a key that is not known.
      .catch(() => {})
      .finally(() => {
        this.#looking = undefined;
      });
    return this.#looking;
  }

  async #learn(ask: (now: number) => Promise<readonly TrustedKey[]>): Promise<void> {
    this.#lookedAt = this.#clock.now();
    try {
      const keys = await ask(this.#lookedAt);
      const known = await Promise.all(keys.map((key) => this.#read(key)));
      this.#known = new Map(known.filter((key) => key !== undefined).map((key) => [key.jwk.kid, key]));
      this.#fault = undefined;
    } catch (fault) {
      this.#fault = fault;
      throw fault;
    }
  }

  /** Undefined where it is no key that may be trusted; then it is as if it were not there. */
  async #read(key: TrustedKey): Promise<KnownKey | undefined> {
    const before = this.#known.get(key.jwk.kid);
    const handle = before?.jwk.n === key.jwk.n ? before.handle : await this.#factory.read(key.jwk);
    return handle && { ...key, handle };
  }
}
