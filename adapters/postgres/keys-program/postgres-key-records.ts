import type { QueryResult } from 'pg';
import type { ChangeRecorder } from '../../../application/ports/change-recorder.ts';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';
import type { KeyRecord, KeyRecords } from '../../../application/ports/key-records.ts';
import { type Connection, openConnection, type Warn } from '../connection.ts';
import { loggableFault } from '../fault.ts';
import { LIST_KEYS, revokeKey } from '../key-directory/key-statements.ts';
import { readPublisher, SIGNING_KEY_STATES, SIGNING_KEYS } from '../key-directory/key-tables.ts';
import { commitRecorded, withConnection } from '../recorded-commit.ts';
import { runStatement } from '../runner.ts';
import { warnOfSchemas } from '../shared-schemas.ts';
import { probeTable } from '../table.ts';

/** How long a statement may take; half of it for a connection, and for a lock. */
const DEADLINE_MS = 10_000;

/** A record as it is read, all columns as text. */
type KeyRow = { readonly kid: string } & Readonly<Record<keyof Omit<KeyRecord, 'kid' | 'algorithm'>, string | null>>;

/** The tables of the key directory, for an operator. They have to exist: the service creates them. */
export class PostgresKeyRecords implements KeyRecords {
  readonly #connection: Connection;
  readonly #recorder: ChangeRecorder<KeyRecord> | undefined;
  #warned: Promise<unknown> | undefined;

  private constructor(connection: Connection, recorder: ChangeRecorder<KeyRecord> | undefined) {
    this.#connection = connection;
    this.#recorder = recorder;
    connection.pool.on('error', () => {});
  }

  /** Connects at the first use. */
  static async open(url: string, recorder?: ChangeRecorder<KeyRecord>, warn?: Warn): Promise<PostgresKeyRecords> {
    const options = { url, poolSize: 1, deadlineMs: DEADLINE_MS, warn };
    return new PostgresKeyRecords(
      await openConnection(options, SIGNING_KEYS.schema, SIGNING_KEY_STATES.schema),
      recorder,
    );
  }

  list(): Promise<readonly KeyRecord[]> {
    return this.#run(async () => (await runStatement<KeyRow>(this.#connection, { text: LIST_KEYS })).map(recordOf));
  }

  async revoke(kid: string): Promise<KeyRecord | undefined> {
    const before = (await this.list()).find((key) => key.kid === kid);
    const change = before?.revokedAt === undefined ? before : undefined;
    return this.#run(() =>
      withConnection(this.#connection.pool, async (connection) => {
        await connection.query('begin');
        // Several statements have several results, although the types do not say so.
        const results: QueryResult<KeyRow> | readonly QueryResult<KeyRow>[] = await connection.query(revokeKey(kid));
        const [row] = [results].flat().at(-1)?.rows ?? [];
        await commitRecorded(connection, change, this.#recorder);
        return row && recordOf(row);
      }),
    );
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  async #run<Outcome>(work: () => Promise<Outcome>): Promise<Outcome> {
    try {
      this.#warned ??= warnOfSchemas(this.#connection);
      await this.#warned;
      for (const table of [SIGNING_KEYS, SIGNING_KEY_STATES]) await probeTable(table, this.#connection).check();
      return await work();
    } catch (fault) {
      if (fault instanceof DependencyUnavailable) throw fault;
      throw new DependencyUnavailable('key directory', loggableFault(fault));
    }
  }
}

function recordOf({ kid, replica, publishedAt, trustedUntil, revokedAt }: KeyRow): KeyRecord {
  const seconds = (text: string | null) => (text === null ? undefined : Number(text));
  const { algorithm = 'RS256', ...publisher } = readPublisher(replica);
  return {
    kid,
    replica: publisher.replica,
    algorithm,
    publishedAt: seconds(publishedAt),
    trustedUntil: revokedAt === null ? seconds(trustedUntil) : undefined,
    revokedAt: seconds(revokedAt),
  };
}
