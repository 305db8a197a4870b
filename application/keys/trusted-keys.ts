import type { TokenKey } from '../../domain/token-key.ts';
import type { Clock } from '../ports/clock.ts';
import { DependencyUnavailable } from '../ports/dependency-unavailable.ts';
import type { KeyFactory, KeyHandle } from '../ports/key-provider.ts';

/** A public key, and the time until which one of its tokens may be valid, in seconds of this machine's monotonic clock. */
export interface TrustedKey {
  readonly jwk: TokenKey;
  readonly trustedUntil: number;
}

interface ReadKey extends TrustedKey {
  readonly handle: KeyHandle;
}

/** Public keys from outside this process, each trusted until a point in time. */
export class TrustedKeys {
  readonly #factory: Pick<KeyFactory, 'read'>;
  readonly #clock: Clock;
  #keys: ReadonlyMap<string, ReadKey> = new Map();

  constructor(factory: Pick<KeyFactory, 'read'>, clock: Clock) {
    this.#factory = factory;
    this.#clock = clock;
  }

  /** The usable ones of these keys. The others are ignored. Does not change what is trusted. */
  async read(keys: readonly TrustedKey[]): Promise<readonly ReadKey[]> {
    const read = await Promise.all(keys.map((key) => this.#read(key)));
    return read.filter((key) => key !== undefined);
  }

  /** Trusts these keys in place of the previous ones. */
  replace(keys: readonly ReadKey[]): void {
    this.#keys = new Map(keys.map((key) => [key.jwk.kid, key]));
  }

  /** The key with this id, if it is trusted now. */
  find(kid: string): KeyHandle | undefined {
    const key = this.#keys.get(kid);
    return key !== undefined && this.#clock.now() < key.trustedUntil ? key.handle : undefined;
  }

  /** Every key that is trusted now. */
  list(): readonly TrustedKey[] {
    const now = this.#clock.now();
    return [...this.#keys.values()]
      .filter(({ trustedUntil }) => now < trustedUntil)
      .map(({ jwk, trustedUntil }) => ({ jwk, trustedUntil }));
  }

  async #read(key: TrustedKey): Promise<ReadKey | undefined> {
    const previous = this.#keys.get(key.jwk.kid);
    const isKnown = JSON.stringify(previous?.jwk) === JSON.stringify(key.jwk);
    const handle = (isKnown && previous?.handle) || (await this.#factory.read(key.jwk));
    return handle && { ...key, handle };
  }
}

/**
 * Copies of the public keys, sorted by id; of two with one id, the last. Throws DependencyUnavailable if there are none: a
 * reader may drop its cached keys when it gets an empty set.
 */
export function jwksOf(keys: readonly TrustedKey[]): readonly TokenKey[] {
  if (keys.length === 0) throw new DependencyUnavailable('key set', new Error('no key is published yet'));
  const byId = new Map(keys.map(({ jwk }) => [jwk.kid, { ...jwk }]));
  return [...byId.values()].sort((one, other) => (one.kid < other.kid ? -1 : 1));
}
