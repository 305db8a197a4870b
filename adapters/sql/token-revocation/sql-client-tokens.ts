import { setTimeout } from 'node:timers/promises';
import type { ChangeRecorder } from '../../../application/ports/change-recorder.ts';
import type { ClientChange } from '../../../application/ports/client-store.ts';
import { AHEAD_SECONDS, type ClientTokens } from '../../../application/ports/revocations.ts';
import type { SqlDatabase } from '../sql-database.ts';
import { withConnection } from '../transaction.ts';
import { SqlRevocations } from './sql-revocations.ts';

/** The tokens of clients, for programs that manage these. The table `revocations` may have never been created. */
export class SqlClientTokens implements ClientTokens {
  readonly #database: SqlDatabase;
  readonly #recorder: ChangeRecorder<ClientChange>;

  constructor(database: SqlDatabase, recorder: ChangeRecorder<ClientChange>) {
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
      try {
        await new SqlRevocations({ ...this.#database, query: connection.query }).revokeAll(clientIds);
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
