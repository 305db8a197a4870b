import type { KeyDirectory, TrustedKey } from '../../application/ports/key-directory.ts';
import type { DatabaseOptions } from './database.ts';
import type { DatabaseLog } from './database-log.ts';
import type { Readiness } from './database-watch.ts';
import { findTrustedKeys, publishKeys, type SigningKeyRecord, trustedKeysOf } from './signing-key-record.ts';
import { SIGNING_KEYS_TABLE } from './signing-keys-table.ts';
import type { Statement } from './statement-runner.ts';
import { WatchedTable } from './watched-table.ts';

const NAME = 'key directory';

/** Public keys in the table `signing_keys`, which replicas share and nobody else writes. */
export class PostgresKeyDirectory implements KeyDirectory {
  readonly name = NAME;
  readonly #table: WatchedTable;

  private constructor(table: WatchedTable) {
    this.#table = table;
  }

  /**
   * Connects, and makes the table where there is none. Where the database cannot be reached it resolves all the same
   * and goes on trying: everything throws DependencyUnavailable until then. Throws TableUnusable where the table is
   * there and cannot be used, with nothing left open.
   */
  static async open(options: DatabaseOptions, log: DatabaseLog): Promise<PostgresKeyDirectory> {
    return new PostgresKeyDirectory(await WatchedTable.open(NAME, SIGNING_KEYS_TABLE, options, log));
  }

  publish(keys: readonly TrustedKey[], now: number): Promise<readonly TrustedKey[]> {
    return this.#ask(publishKeys(keys, now));
  }

  trusted(now: number): Promise<readonly TrustedKey[]> {
    return this.#ask(findTrustedKeys(now));
  }

  /** How the database is. Not whether the service is ready: with the keys that it knows it does without. */
  readiness(): Readiness {
    return this.#table.readiness();
  }

  /** Ends statements under way by their deadline at the latest, and closes every connection. */
  close(): Promise<void> {
    return this.#table.close();
  }

  async #ask(statement: Statement): Promise<readonly TrustedKey[]> {
    return trustedKeysOf(await this.#table.ask<SigningKeyRecord>(statement));
  }
}
