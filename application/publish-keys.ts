import type { KeyProvider, PublicKeyJwk } from './ports/key-provider.ts';

/** A JSON Web Key Set (RFC 7517 section 5). */
export interface KeySet {
  readonly keys: readonly PublicKeyJwk[];
}

export interface PublishedKeys {
  readonly keySet: KeySet;
  /** How long a reader may keep it, in whole seconds. */
  readonly maxAgeSeconds: number;
}

/** The keys that a resource server verifies our tokens with. */
export class PublishKeys {
  readonly #keys: KeyProvider;

  constructor(keys: KeyProvider) {
    this.#keys = keys;
  }

  /** Public keys alone. Throws what the key provider throws. */
  async execute(): Promise<PublishedKeys> {
    return { keySet: { keys: await this.#keys.publicKeys() }, maxAgeSeconds: this.#keys.maxAgeSeconds() };
  }
}
