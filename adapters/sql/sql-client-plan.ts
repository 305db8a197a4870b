import type { ClientRow } from '../../application/client-lookup.ts';
import type { ChangeRecorder } from '../../application/ports/change-recorder.ts';
import type {
  ClientChange,
  ClientPlan,
  PlanCounts,
  PlanEntry,
  PlannedAction,
  PlannedClient,
  PlanSource,
  RepeatedClient,
  StoredClient,
  VersionedClient,
} from '../../application/ports/client-store.ts';
import { parseJson } from '../../domain/parse-json.ts';
import { failure, type Result, success } from '../../domain/result.ts';
import { documentText, requireChanged, requireDetails } from './client-statements.ts';
import { planStatements } from './plan-statements.ts';
import type { SqlConnection, SqlDatabase, SqlValue } from './sql-database.ts';
import { endTransaction } from './transaction.ts';

/** Clients that one statement adds to the temporary table, within the number of parameters that a database takes. */
const ROWS_AT_ONCE = 500;

/** Clients that one statement stores: it takes a small part of its deadline. */
const BATCH_SIZE = 2_000;

const NONE: PlanCounts = { added: 0, changed: 0, replaced: 0, locked: 0, unchanged: 0, removed: 0 };

interface PlanParts {
  readonly database: SqlDatabase;
  readonly connection: SqlConnection;
  readonly hasDetails: boolean;
  readonly read: (record: ClientRow) => StoredClient;
  readonly recorder: ChangeRecorder<ClientChange> | undefined;
}

/** A client that waits in the temporary table. */
interface WaitingClient extends Pick<PlanEntry, 'clientId' | 'action'> {
  /** With spaces between. */
  readonly changes: string;
  /** As JSON. */
  readonly claims: string | null;
  readonly owner: string | null;
}

/**
 * A plan with its own connection, since the temporary table belongs to it.
 *
 * | a plan is | that is | goes on |
 * |---|---|---|
 * | open | its clients are in the temporary table, each with the `version` of its row; no transaction | further clients; `apply` |
 * | being applied | a transaction with the lock of the table compares each version, then removes, changes and adds | committed, or rolled back |
 * | applied, or outdated | the temporary table is as before, for `entries` | `close` |
 * | closed | by `close`; or by a fault, which closes the connection and so ends the transaction | |
 *
 * What holds, with its test in tests/contracts/client-store.ts: nothing is stored unless every client of the plan, also one that stays as it
 * is, has the row that the plan found, and the owner no others ("does nothing of a plan if meanwhile …"); of two plans at the same time one
 * waits, and then is outdated ("stores all clients of one plan and none of the other if two that overlap …"); nothing is committed that is
 * not recorded ("does nothing of a plan of which only a part can be recorded"); and a client that stays keeps its row: the temporary table
 * has none of its texts ("adds, changes, removes and keeps what was planned, and counts and records it").
 */
export class SqlClientPlan implements ClientPlan {
  readonly #parts: PlanParts;
  readonly #sql: ReturnType<typeof planStatements>;
  #count = 0;
  #isClosed = false;

  private constructor(parts: PlanParts) {
    this.#parts = parts;
    this.#sql = planStatements(parts.database.dialect, parts.hasDetails);
  }

  /** @param parts whose connection is released by `close`, and before that if a method throws. */
  static async start(parts: PlanParts): Promise<SqlClientPlan> {
    const started = new SqlClientPlan(parts);
    const { beforePlan } = parts.database.dialect;
    await started.#run(({ run }) => run(`${beforePlan}; ${started.#sql.drop}; ${started.#sql.create}`));
    return started;
  }

  add(clients: readonly (PlannedClient | undefined)[]): Promise<readonly RepeatedClient[]> {
    return this.#run(async (connection) => {
      const repeated: RepeatedClient[] = [];
      for (const part of partsOf(clients)) repeated.push(...(await this.#add(connection, part)));
      return repeated;
    });
  }

  find(clientIds: readonly string[]): Promise<readonly VersionedClient[]> {
    return this.#run(async (connection) => {
      const found: VersionedClient[] = [];
      for (const ids of partsOf(clientIds)) {
        type Row = ClientRow & { readonly version: string };
        const records = await connection.query<Row>(this.#sql.find(ids.length), ids);
        found.push(...records.map(({ version, ...record }) => ({ ...this.#parts.read(record), version })));
      }
      return found;
    });
  }

  async prune(owner: string): Promise<void> {
    requireDetails(this.#parts.hasDetails, documentText({ owner }));
    await this.#run(async (connection) => {
      for await (const range of this.#ranges(connection)) {
        this.#count += (await connection.query(this.#sql.prune, [owner, ...range, this.#count])).length;
      }
    });
  }

  count(): Promise<PlanCounts> {
    return this.#run((connection) => this.#countIn(connection));
  }

  async *entries(...actions: readonly PlannedAction[]): AsyncGenerator<readonly PlanEntry[]> {
    for (let last: string | undefined, isFirst = true; isFirst || last !== undefined; isFirst = false) {
      const values = last === undefined ? [] : [last];
      const statement = this.#sql.page(actions, last === undefined ? '' : ' and client_id > $1');
      const page: readonly WaitingClient[] = await this.#run((connection) => connection.query(statement, values));
      last = page.at(-1)?.clientId;
      if (page.length > 0) yield page.map(entryOf);
    }
  }

  apply(
    source: PlanSource | undefined,
    pruned?: string,
    onCommit: () => void = () => {},
  ): Promise<Result<PlanCounts, 'plan_outdated'>> {
    return this.#run(async (connection) => {
      await connection.begin('table');
      if (await this.#isOutdated(connection, pruned)) {
        await connection.run('rollback');
        return failure('plan_outdated');
      }
      let changed = 0;
      for (const batch of this.#batches()) {
        for (const statement of [this.#sql.remove, this.#sql.change, this.#sql.insert]) {
          changed += (await connection.query(statement, batch)).length;
        }
      }
      const [changes] = await connection.query<{ readonly count: number | string }>(this.#sql.changes);
      requireChanged(changed, Number(changes?.count));
      const counts = await this.#countIn(connection);
      if (source === undefined) {
        await connection.run('rollback');
        return success(counts);
      }
      const { recorder } = this.#parts;
      // A page is held in memory at a time.
      const pages = this.entries('added', 'changed', 'replaced', 'locked', 'removed');
      const { value: clients = [] } = await pages.next();
      const change = { ...source, counts };
      await endTransaction(connection, { ...change, clients }, recorder, async () => {
        for await (const page of pages) recorder?.recordMore({ ...change, clients: page });
        onCommit();
      });
      return success(counts);
    });
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const { connection } = this.#parts;
    const isDropped = await connection.run(this.#sql.drop).then(
      () => true,
      () => false,
    );
    connection.release(!isDropped);
  }

  async #add(
    connection: SqlConnection,
    clients: readonly (PlannedClient | undefined)[],
  ): Promise<readonly RepeatedClient[]> {
    const first = this.#count;
    this.#count += clients.length;
    const rows = clients.flatMap((client, index) => (client === undefined ? [] : { position: first + index, client }));
    if (rows.length === 0) return [];
    const values = rows.flatMap(({ position, client }) => {
      const { clientId, clientSecret, clientName, scope, details = {}, plan } = client;
      const document = documentText(details);
      requireDetails(this.#parts.hasDetails, document);
      const { action, version, changes } = plan;
      // What stays as it is takes no room.
      const isWritten = action === 'added' || changes.length > 0;
      const fields = isWritten ? [clientSecret, clientName, scope, document] : ['', '', '', '{}'];
      return [position, clientId, ...fields, action, changes.join(' '), version ?? null] as SqlValue[];
    });
    const added = await connection.query<{ readonly position: number }>(this.#sql.add(rows.length), values);
    if (added.length === rows.length) return [];
    const there = new Set(added.map(({ position }) => Number(position)));
    const repeated: RepeatedClient[] = [];
    for (const { position, client } of rows) {
      if (there.has(position)) continue;
      const { clientId } = client;
      const [earlier] = await connection.query<{ readonly position: number }>(this.#sql.first, [clientId]);
      repeated.push({ clientId, position, first: Number(earlier?.position) });
    }
    return repeated;
  }

  async #isOutdated(connection: SqlConnection, pruned: string | undefined): Promise<boolean> {
    for (const batch of this.#batches()) {
      if ((await connection.query(this.#sql.outdated, batch)).length > 0) return true;
    }
    if (pruned === undefined) return false;
    for await (const range of this.#ranges(connection)) {
      if ((await connection.query(this.#sql.others, [pruned, ...range])).length > 0) return true;
    }
    return false;
  }

  async #countIn(connection: SqlConnection): Promise<PlanCounts> {
    type Row = { readonly action: PlannedAction; readonly count: number | string };
    const rows = await connection.query<Row>(this.#sql.count);
    return { ...NONE, ...Object.fromEntries(rows.map(({ action, count }) => [action, Number(count)])) };
  }

  /** The first position of each batch, and the one behind it. */
  *#batches(): Generator<readonly [number, number]> {
    for (let start = 0; start < this.#count; start += BATCH_SIZE) yield [start, start + BATCH_SIZE];
  }

  /** All stored clients: the first and the last id of each range. The last one is the first of the next range too. */
  async *#ranges(connection: SqlConnection): AsyncGenerator<readonly [string, string]> {
    for (let start: string | undefined = ''; start !== undefined; ) {
      const [range]: readonly { readonly end: string | null }[] = await connection.query(this.#sql.rangeEnd, [start]);
      if (typeof range?.end !== 'string') return;
      yield [start, range.end];
      start = range.end === start ? undefined : range.end;
    }
  }

  /** After a fault the connection is closed, which ends the transaction. */
  async #run<Outcome>(work: (connection: SqlConnection) => Promise<Outcome>): Promise<Outcome> {
    try {
      return await work(this.#parts.connection);
    } catch (fault) {
      if (!this.#isClosed) this.#parts.connection.release(true);
      this.#isClosed = true;
      throw this.#parts.database.faultOf(fault);
    }
  }
}

function* partsOf<Item>(items: readonly Item[]): Generator<readonly Item[]> {
  for (let start = 0; start < items.length; start += ROWS_AT_ONCE) yield items.slice(start, start + ROWS_AT_ONCE);
}

function entryOf({ clientId, action, changes, claims, owner }: WaitingClient): PlanEntry {
  const fields = changes === '' ? [] : changes.split(' ');
  const isSet = (field: string, value: string | null) => (action === 'added' ? value !== null : fields.includes(field));
  return {
    clientId,
    action,
    changes: fields,
    ...(isSet('claims', claims) && { claims: Object.keys(Object(parseJson(claims ?? '{}'))) }),
    ...(owner !== null && isSet('owner', owner) && { owner }),
  };
}
