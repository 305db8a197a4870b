import type { KeyObject } from 'node:crypto';

/**
 * The private keys of a service with several workers, in the primary, which makes them and sends the signing key to its
 * workers. The key factories add each key that they make.
 */
export class PrivateKeys {
  readonly #keys = new Map<string, KeyObject>();

  add(kid: string, key: KeyObject): void {
    this.#keys.set(kid, key);
  }

  /** The key with this id in PKCS#8 (RFC 5958), a secret. It is the one that signs now, so all older ones are dropped. */
  signing(kid: string): Uint8Array | undefined {
    const key = this.#keys.get(kid);
    if (key === undefined) return undefined;
    for (const older of this.#keys.keys()) {
      if (older === kid) break;
      this.#keys.delete(older);
    }
    return key.export({ type: 'pkcs8', format: 'der' });
  }
}
