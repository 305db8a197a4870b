import { InMemoryKeyDirectory } from '../../adapters/memory/in-memory-key-directory.ts';
import type { DirectoryAnswer, KeyDirectory, SharedKey } from '../../application/ports/key-directory.ts';
import type { FixedClock } from './fixed-clock.ts';

/** A shared key directory as PostgreSQL is one: with a clock of its own, which is right, and with revoked keys. */
export class RevocableDirectory implements KeyDirectory {
  readonly #clock: FixedClock;
  readonly #keys: InMemoryKeyDirectory;
  readonly #revoked = new Set<string>();
  /** Seconds by which this clock has advanced while the machine of the replica was suspended. */
  aheadSeconds = 0;
  /** The ids of keys that replicas published which verify only RS256. */
  ofOlderVersions: readonly string[] = [];
  /** The ids of the keys that each publication contained. */
  readonly published: (readonly string[])[] = [];

  constructor(clock: FixedClock) {
    this.#clock = clock;
    this.#keys = new InMemoryKeyDirectory(clock);
  }

  revoke(kid: string): void {
    this.#revoked.add(kid);
  }

  async publish(keys: readonly SharedKey[]): Promise<DirectoryAnswer> {
    const given = keys.map(({ jwk }) => jwk.kid);
    this.published.push(given);
    const answer = await this.#keys.publish(keys.filter(({ jwk }) => !this.#revoked.has(jwk.kid)));
    return this.#complete(
      answer,
      given.filter((kid) => this.#revoked.has(kid)),
    );
  }

  async read(): Promise<DirectoryAnswer> {
    return this.#complete(await this.#keys.read(), []);
  }

  #complete({ keys }: DirectoryAnswer, revoked: readonly string[]): DirectoryAnswer {
    const time = this.#clock.seconds() + this.aheadSeconds;
    return {
      keys: keys.filter(({ jwk }) => !this.#revoked.has(jwk.kid)),
      ofOlderVersions: this.ofOlderVersions,
      revoked,
      time,
    };
  }
}
