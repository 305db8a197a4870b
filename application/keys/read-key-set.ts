import type { TokenKey } from '../../domain/token-key.ts';
import { DependencyUnavailable } from '../ports/dependency-unavailable.ts';
import type { KeyProvider } from '../ports/key-provider.ts';

interface PublishedKeys {
  /** A JSON Web Key Set (RFC 7517 section 5). */
  readonly keySet: { readonly keys: readonly TokenKey[] };
  /** How long a reader may cache the set, in whole seconds. */
  readonly maxAgeSeconds: number;
}

/** The key set that resource servers verify our tokens with. */
export class ReadKeySet {
  readonly #keys: KeyProvider;

  constructor(keys: KeyProvider) {
    this.#keys = keys;
  }

  /**
   * Public keys only, at least one: a reader may drop its cached keys when it gets an empty set. Throws
   * DependencyUnavailable if no key is published yet, and what the key provider throws.
   */
  async execute(): Promise<PublishedKeys> {
    const keys = await this.#keys.publicKeys();
    if (keys.length === 0) throw new DependencyUnavailable('key set', new Error('no key is published yet'));
    return { keySet: { keys }, maxAgeSeconds: this.#keys.maxAgeSeconds() };
  }
}
