import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import type { KeyRecord, KeyRecords } from '../../application/ports/key-records.ts';
import { type Connection, openConnection } from './connection.ts';
import { loggableFault } from './fault.ts';
import { LIST_KEYS, revokeKey } from './key-statements.ts';
import { SIGNING_KEY_STATES, SIGNING_KEYS } from './key-tables.ts';
import { runStatement } from './runner.ts';
import { probeTable } from './table.ts';

/** How long a statement may take; half of it for a connection, and for a lock. */
const DEADLINE_MS = 10_000;

/** A record as it is read, all columns as text. */
type KeyRow = { readonly kid: string } & Readonly<Record<keyof Omit<KeyRecord, 'kid'>, string | null>>;

/** The tables of the key directory, for an operator. They have to exist: the service creates them. */
export class PostgresKeyRecords implements KeyRecords {
  readonly #connection: Connection;

  private constructor(connection: Connection) {
    this.#connection = connection;
    connection.pool.on('error', () => {});
  }

  /** Connects at the first use. */
  static async open(url: string): Promise<PostgresKeyRecords> {
    const options = { url, poolSize: 1, deadlineMs: DEADLINE_MS };
    return new PostgresKeyRecords(await openConnection(options, SIGNING_KEYS.schema, SIGNING_KEY_STATES.schema));
  }

  list(): Promise<readonly KeyRecord[]> {
    return this.#run(LIST_KEYS);
  }

  async revoke(kid: string): Promise<KeyRecord | undefined> {
    const [record] = await this.#run(revokeKey(kid));
    return record;
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  async #run(text: string): Promise<readonly KeyRecord[]> {
    try {
      for (const table of [SIGNING_KEYS, SIGNING_KEY_STATES]) await probeTable(table, this.#connection).check();
      return (await runStatement<KeyRow>(this.#connection, { text })).map(recordOf);
    } catch (fault) {
      throw new DependencyUnavailable('key directory', loggableFault(fault));
    }
  }
}

function recordOf({ kid, replica, publishedAt, trustedUntil, revokedAt }: KeyRow): KeyRecord {
  const seconds = (text: string | null) => (text === null ? undefined : Number(text));
  return {
    kid,
    replica: replica ?? undefined,
    publishedAt: seconds(publishedAt),
    trustedUntil: revokedAt === null ? seconds(trustedUntil) : undefined,
    revokedAt: seconds(revokedAt),
  };
}
