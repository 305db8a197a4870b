import type { KeyDirectory, TrustedKey } from '../../application/ports/key-directory.ts';
import type { Runner, Statement } from './runner.ts';
import { findTrustedKeys, publishKeys, type SigningKeyRecord, trustedKeysOf } from './signing-key-entity.ts';

/** Public keys in the table `signing_keys`, which replicas share and nobody else writes. */
export class PostgresKeyDirectory implements KeyDirectory {
  readonly #runner: Runner;

  constructor(runner: Runner) {
    this.#runner = runner;
  }

  publish(keys: readonly TrustedKey[], now: number): Promise<readonly TrustedKey[]> {
    return this.#run(publishKeys(keys, now));
  }

  trusted(now: number): Promise<readonly TrustedKey[]> {
    return this.#run(findTrustedKeys(now));
  }

  async #run(statement: Statement): Promise<readonly TrustedKey[]> {
    return trustedKeysOf(await this.#runner.run<SigningKeyRecord>(statement));
  }
}
