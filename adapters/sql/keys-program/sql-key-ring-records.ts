import type { ChangeRecorder } from '../../../application/ports/change-recorder.ts';
import type { KeyRingChange, KeyRingRecords } from '../../../application/ports/key-ring-records.ts';
import type { KeyRows } from '../../../application/ports/key-ring-store.ts';
import { type DatabaseTime, type KeyRingRecord, keyRingStatements, keyRowsOf } from '../key-directory/sql-key-ring.ts';
import type { SqlConnection } from '../sql-database.ts';
import { endTransaction, withConnection } from '../transaction.ts';

/** A database that has the table `key_ring`. */
interface KeyRingDatabase {
  readonly time: DatabaseTime;
  /** Throws what `faultOf` explains. */
  connect(): Promise<SqlConnection>;
  /** A fault of a connection as DependencyUnavailable. */
  readonly faultOf: (fault: unknown) => unknown;
  close(): Promise<void>;
}

/** The table `key_ring`, for an operator. It has to exist: the service creates it. */
export class SqlKeyRingRecords implements KeyRingRecords {
  readonly #database: KeyRingDatabase;
  readonly #statements: ReturnType<typeof keyRingStatements>;
  readonly #recorder: ChangeRecorder<readonly KeyRingChange[]> | undefined;

  constructor(database: KeyRingDatabase, recorder?: ChangeRecorder<readonly KeyRingChange[]>) {
    this.#database = database;
    this.#statements = keyRingStatements(database.time);
    this.#recorder = recorder;
  }

  list(): Promise<KeyRows> {
    return withConnection(this.#database, async ({ query }) =>
      keyRowsOf(await query<KeyRingRecord>(this.#statements.read)),
    );
  }

  async revoke(which: { readonly kid: string } | 'all'): Promise<readonly string[]> {
    const known = new Set((await this.list()).rows.map(({ kid }) => kid));
    const changeOf = (kid: string, verifiesUntil: number) => {
      return { change: 'revoked', kid, verifiesUntil: known.has(kid) ? verifiesUntil : undefined } as const;
    };
    const { revoke, revokeAll } = this.#statements;
    return which === 'all' ? this.#change(revokeAll, [], changeOf) : this.#change(revoke, [which.kid], changeOf);
  }

  async end(kid: string, endsAt: number): Promise<void> {
    await this.#change(this.#statements.end, [kid, String(endsAt)], () => ({ change: 'ended', kid, endsAt }));
  }

  close(): Promise<void> {
    return this.#database.close();
  }

  /** In one transaction, which is committed once the changes are recorded. Returns the ids of the keys. */
  #change(
    text: string,
    values: readonly string[],
    changeOf: (kid: string, verifiesUntil: number) => KeyRingChange,
  ): Promise<readonly string[]> {
    return withConnection(this.#database, async (connection) => {
      await connection.begin('rows');
      const rows = await connection.query<{ kid: string; verifiesUntil: string | number }>(text, values);
      const changes = rows.map(({ kid, verifiesUntil }) => changeOf(kid, Number(verifiesUntil)));
      await endTransaction(connection, changes.length > 0 ? changes : undefined, this.#recorder);
      return rows.map(({ kid }) => kid);
    });
  }
}
