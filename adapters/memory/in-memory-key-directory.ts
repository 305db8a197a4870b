import type { KeyDirectory, TrustedKey } from '../../application/ports/key-directory.ts';

/** A key directory for a single process. */
export class InMemoryKeyDirectory implements KeyDirectory {
  readonly #keys = new Map<string, TrustedKey>();

  async publish(keys: readonly TrustedKey[], now: number): Promise<readonly TrustedKey[]> {
    for (const { jwk, trustedUntil } of keys) this.#keys.set(jwk.kid, { jwk: { ...jwk }, trustedUntil });
    for (const [kid, { trustedUntil }] of this.#keys) if (trustedUntil <= now) this.#keys.delete(kid);
    return this.trusted(now);
  }

  async trusted(now: number): Promise<readonly TrustedKey[]> {
    return [...this.#keys.values()]
      .filter(({ trustedUntil }) => now < trustedUntil)
      .map(({ jwk, trustedUntil }) => ({ jwk: { ...jwk }, trustedUntil }));
  }
}
