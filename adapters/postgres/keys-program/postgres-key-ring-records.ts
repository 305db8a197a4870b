import { commitRecorded } from '../../../application/commit-recorded.ts';
import type { ChangeRecorder } from '../../../application/ports/change-recorder.ts';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';
import type { KeyRingChange, KeyRingRecords } from '../../../application/ports/key-ring-records.ts';
import type { KeyRows } from '../../../application/ports/key-ring-store.ts';
import { type Connection, openConnection, type Warn } from '../connection.ts';
import { loggableFault } from '../fault.ts';
import {
  END_KEY,
  KEY_RING,
  type KeyRingRecord,
  keyRowsOf,
  READ_RING,
  REVOKE_ALL,
  REVOKE_KEY,
} from '../key-directory/key-ring-table.ts';
import { runStatement } from '../runner.ts';
import { warnOfSchemas } from '../shared-schemas.ts';
import { probeTable } from '../table.ts';

/** How long a statement may take; half of it for a connection, and for a lock. */
const DEADLINE_MS = 10_000;

interface ChangedRow {
  readonly kid: string;
  readonly verifiesUntil: string;
}

/** The table `key_ring`, for an operator. It has to exist: the service and `npm run migrate` create it. */
export class PostgresKeyRingRecords implements KeyRingRecords {
  readonly #connection: Connection;
  readonly #recorder: ChangeRecorder<readonly KeyRingChange[]> | undefined;
  #warned: Promise<unknown> | undefined;

  private constructor(connection: Connection, recorder: ChangeRecorder<readonly KeyRingChange[]> | undefined) {
    this.#connection = connection;
    this.#recorder = recorder;
    connection.pool.on('error', () => {});
  }

  /** Connects at the first use. */
  static async open(url: string, recorder?: ChangeRecorder<readonly KeyRingChange[]>, warn?: Warn) {
    const connection = await openConnection({ url, poolSize: 1, deadlineMs: DEADLINE_MS, warn }, KEY_RING.schema);
    return new PostgresKeyRingRecords(connection, recorder);
  }

  list(): Promise<KeyRows> {
    return this.#run(async () => keyRowsOf(await runStatement<KeyRingRecord>(this.#connection, READ_RING)));
  }

  async revoke(which: { readonly kid: string } | 'all'): Promise<readonly string[]> {
    const [text, values] = which === 'all' ? [REVOKE_ALL, []] : [REVOKE_KEY, [which.kid]];
    const { rows } = await this.list();
    const revoked = await this.#change(text, values, ({ kid, verifiesUntil }) => ({
      change: 'revoked',
      kid,
      verifiesUntil: rows.some((row) => row.kid === kid) ? Number(verifiesUntil) : undefined,
    }));
    return revoked.map(({ kid }) => kid);
  }

  async end(kid: string, endsAt: number): Promise<void> {
    await this.#change(END_KEY, [kid, String(endsAt)], () => ({ change: 'ended', kid, endsAt }));
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  /** In one transaction, which is committed once the changes are recorded. */
  #change(text: string, values: readonly string[], changeOf: (row: ChangedRow) => KeyRingChange) {
    return this.#run(async () => {
      const connection = await this.#connection.pool.connect();
      try {
        await connection.query('begin');
        const { rows } = await connection.query<ChangedRow>(text, [...values]);
        // The role that has authenticated, whatever role it has taken since.
        const [user] = (await connection.query<{ readonly role: string }>('select session_user::text as "role"')).rows;
        const commit = () => connection.query('commit');
        if (rows.length > 0) await commitRecorded(this.#recorder, rows.map(changeOf), user?.role, commit);
        return rows;
      } finally {
        // A transaction ends with its session.
        connection.release(true);
      }
    });
  }

  async #run<Outcome>(work: () => Promise<Outcome>): Promise<Outcome> {
    try {
      this.#warned ??= warnOfSchemas(this.#connection);
      await this.#warned;
      await probeTable(KEY_RING, this.#connection).check();
      return await work();
    } catch (fault) {
      if (fault instanceof DependencyUnavailable) throw fault;
      throw new DependencyUnavailable('key directory', loggableFault(fault));
    }
  }
}
