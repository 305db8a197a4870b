import type { Clock } from '../ports/clock.ts';
import type { TrustedKey } from '../ports/key-directory.ts';
import type { KeyFactory } from '../ports/key-factory.ts';
import type { KeyHandle } from '../ports/key-provider.ts';

interface KnownKey extends TrustedKey {
  readonly handle: KeyHandle;
}

/** Public keys that are known from elsewhere, each trusted up to a time. */
export class KnownKeys {
  readonly #factory: Pick<KeyFactory, 'read'>;
  readonly #clock: Clock;
  #keys: ReadonlyMap<string, KnownKey> = new Map();

  constructor(factory: Pick<KeyFactory, 'read'>, clock: Clock) {
    this.#factory = factory;
    this.#clock = clock;
  }

  /** Those of these keys that may be trusted at all; the rest is as if it were not there. Nothing changes by it. */
  async read(keys: readonly TrustedKey[]): Promise<readonly KnownKey[]> {
    const read = await Promise.all(keys.map((key) => this.#read(key)));
    return read.filter((key) => key !== undefined);
  }

  /** Knows these instead of those before. */
  replace(keys: readonly KnownKey[]): void {
    this.#keys = new Map(keys.map((key) => [key.jwk.kid, key]));
  }

  /** The key of that id, where it is known and trusted now. */
  find(kid: string): KeyHandle | undefined {
    const key = this.#keys.get(kid);
    return key !== undefined && this.#clock.now() < key.trustedUntil ? key.handle : undefined;
  }

  /** Every key that is trusted now. */
  trusted(): readonly TrustedKey[] {
    const now = this.#clock.now();
    return [...this.#keys.values()]
      .filter(({ trustedUntil }) => now < trustedUntil)
      .map(({ jwk, trustedUntil }) => ({ jwk, trustedUntil }));
  }

  async #read(key: TrustedKey): Promise<KnownKey | undefined> {
    const before = this.#keys.get(key.jwk.kid);
    const handle = before?.jwk.n === key.jwk.n ? before.handle : await this.#factory.read(key.jwk);
    return handle && { ...key, handle };
  }
}
