import type { KeyObject } from 'node:crypto';

/** The private keys of this service, in the one process that makes them. */
export class PrivateKeys {
  readonly #keys = new Map<string, KeyObject>();

  readonly keep = (kid: string, key: KeyObject): void => {
    this.#keys.set(kid, key);
  };

  /** The key of that id in PKCS#8, which signs now: what was made before it is forgotten. */
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
