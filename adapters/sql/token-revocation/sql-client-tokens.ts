import { setTimeout } from 'node:timers/promises';
import type { ChangeRecorder } from '../../../application/ports/change-recorder.ts';
import type { ClientChange } from '../../../application/ports/client-store.ts';
import { AHEAD_SECONDS, type ClientTokens } from '../../../application/ports/revocations.ts';
import type { SqlConnection } from '../sql-database.ts';
import { withConnection } from '../transaction.ts';
import { type RevocationTable, SqlRevocations } from './sql-revocations.ts';

/** A database that may have the table `revocations`. */
interface RevocationsDatabase extends Pick<RevocationTable, 'time' | 'count'> {
  connect(): Promise<SqlConnection>;
  faultOf(fault: unknown): unknown;
  /** Whether a fault, as `faultOf` explains it, means that the table was never created. */
  isMissing(fault: unknown): boolean;
}

/** The tokens of clients, for programs that manage these. */
export class SqlClientTokens implements ClientTokens {
  readonly #database: RevocationsDatabase;
  readonly #recorder: ChangeRecorder<ClientChange>;

  constructor(database: RevocationsDatabase, recorder: ChangeRecorder<ClientChange>) {
    this.#database = database;
    this.#recorder = recorder;
  }

  areKept(): Promise<boolean> {
    return withConnection(this.#database, async () => true).catch((fault: unknown) => {
      if (this.#database.isMissing(fault)) return false;
      throw fault;
    });
  }

  async revokeAll(clientIds: readonly string[], change?: ClientChange): Promise<void> {
    if (clientIds.length === 0 || !(await this.areKept())) return;
    await withConnection(this.#database, async (connection) => {
      if (change !== undefined) await this.#recorder.record(change, await connection.role());
      const query = <Row>(text: string, values: readonly (string | null)[] = []) => connection.query<Row>(text, values);
      try {
        await new SqlRevocations({ ...this.#database, query }).revokeAll(clientIds);
      } catch (fault) {
        if (change !== undefined) this.#recorder.unconfirmed();
        throw fault;
      }
    });
  }

  async settled(): Promise<void> {
    await setTimeout((AHEAD_SECONDS + 1) * 1_000);
  }
}
