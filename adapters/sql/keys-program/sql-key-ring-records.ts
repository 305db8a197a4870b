import type { Compilable } from 'kysely';
import type { ChangeRecorder } from '../../../application/ports/change-recorder.ts';
import type { KeyRingChange, KeyRingRecords } from '../../../application/ports/key-ring-records.ts';
import type { KeyRows } from '../../../application/ports/key-ring-store.ts';
import { keyRingStatements, keyRowsOf } from '../key-directory/sql-key-ring.ts';
import type { SqlDatabase } from '../sql-database.ts';
import { endTransaction, withConnection } from '../transaction.ts';

/** The table `key_ring`, for an operator. It has to exist: the service creates it. */
export class SqlKeyRingRecords implements KeyRingRecords {
  readonly #database: SqlDatabase;
  readonly #statements: ReturnType<typeof keyRingStatements>;
  readonly #recorder: ChangeRecorder<readonly KeyRingChange[]> | undefined;

  constructor(database: SqlDatabase, recorder?: ChangeRecorder<readonly KeyRingChange[]>) {
    this.#database = database;
    this.#statements = keyRingStatements(database);
    this.#recorder = recorder;
  }

  list(): Promise<KeyRows> {
    return withConnection(this.#database, async ({ query }) => keyRowsOf(await query(this.#statements.read())));
  }

  async revoke(which: { readonly kid: string } | 'all'): Promise<readonly string[]> {
    const known = new Set((await this.list()).rows.map(({ kid }) => kid));
    const changeOf = (kid: string, verifiesUntil: number) => {
      return { change: 'revoked', kid, verifiesUntil: known.has(kid) ? verifiesUntil : undefined } as const;
    };
    const { revoke, revokeAll } = this.#statements;
    return this.#change(which === 'all' ? revokeAll() : revoke(which.kid), changeOf);
  }

  async end(kid: string, endsAt: number): Promise<void> {
    await this.#change(this.#statements.end(kid, endsAt), () => ({ change: 'ended', kid, endsAt }));
  }

  close(): Promise<void> {
    return this.#database.close();
  }

  /** In one transaction, which is committed once the changes are recorded. Returns the ids of the keys. */
  #change(
    statement: Compilable<{ kid: string; verifies_until: number }>,
    changeOf: (kid: string, verifiesUntil: number) => KeyRingChange,
  ): Promise<readonly string[]> {
    return withConnection(this.#database, async (connection) => {
      await connection.begin('rows');
      const rows = await connection.query(statement);
      const changes = rows.map(({ kid, verifies_until }) => changeOf(kid, verifies_until));
      await endTransaction(connection, changes.length > 0 ? changes : undefined, this.#recorder);
      return rows.map(({ kid }) => kid);
    });
  }
}
