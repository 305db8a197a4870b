import type { Clock } from '../../application/ports/clock.ts';
import type { DirectoryAnswer, KeyDirectory, SharedKey } from '../../application/ports/key-directory.ts';
import type { TokenKey } from '../../domain/token-key.ts';

/** A key directory for a single process. Nobody else can reach it, so no key in it is ever revoked. */
export class InMemoryKeyDirectory implements KeyDirectory {
  readonly #clock: Clock;
  readonly #keys = new Map<string, { readonly jwk: TokenKey; readonly trustedUntil: number }>();

  /** @param clock a clock that only passes. */
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async publish(keys: readonly SharedKey[]): Promise<DirectoryAnswer> {
    const now = this.#clock.now();
    for (const { jwk, trustedSeconds } of keys) {
      this.#keys.set(jwk.kid, { jwk: { ...jwk }, trustedUntil: now + trustedSeconds });
    }
    for (const [kid, { trustedUntil }] of this.#keys) if (trustedUntil <= now) this.#keys.delete(kid);
    return this.read();
  }

  async read(): Promise<DirectoryAnswer> {
    const now = this.#clock.now();
    const keys = [...this.#keys.values()]
      .filter(({ trustedUntil }) => now < trustedUntil)
      .map(({ jwk, trustedUntil }) => ({ jwk: { ...jwk }, trustedSeconds: trustedUntil - now }));
    return { keys, ofOlderVersions: [], revoked: [], time: undefined };
  }
}
