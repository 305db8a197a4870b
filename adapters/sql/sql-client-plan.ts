import type { PlanCounts } from '../../application/ports/client-store.ts';
import type { SqlConnection, SqlDialect } from './sql-database.ts';

/** The first position of a batch, and the one behind it. */
type Batch = readonly [number, number];

/** Stored clients that one statement looks through: it takes a small part of its deadline. */
const RANGE_SIZE = 20_000;

const KINDS = ['added', 'changed', 'removed', 'unchanged'] as const satisfies readonly (keyof PlanCounts)[];

/** Statements of a plan, which waits in the temporary table of an import. @param hasDetails whether `clients` has the column. */
export function planStatements({ temporary, jsonType, bytewise, ownerOf }: SqlDialect, hasDetails: boolean) {
  const imported = `${temporary}.imported_clients`;
  const details = hasDetails ? 'cast(stored.details as text)' : "'{}'";
  /** All that is stored of a client. The lengths keep the columns apart. */
  const version = `cast(length(stored.client_secret) as text) || ' ' || cast(length(stored.client_name) as text) || ' '
    || stored.client_secret || stored.client_name || stored.scope || coalesce(${details}, '')`;
  const id = `client_id ${bytewise}`;
  /** Parameter: the first id of the range, or a text before it. */
  const rangeEnd = `select max(${id}) as "end"
    from (select client_id from clients where ${id} >= $1 order by ${id} limit ${RANGE_SIZE}) as range`;
  /** Parameters: the owner, and the first and the last id of a range. */
  const owned = `stored.${id} >= $2 and stored.${id} <= $3 and ${hasDetails ? ownerOf('stored.details') : "''"} = $1
    and not exists (select 1 from ${imported} as imported where imported.client_id = stored.client_id)`;
  const counts = KINDS.map((kind) => `count(*) filter (where outcome = '${kind}') as "${kind}"`);
  /** All stored clients: the first and the last id of each range. The last one is the first of the next range too. */
  async function* ranges(connection: SqlConnection): AsyncGenerator<readonly [string, string]> {
    for (let start: string | undefined = ''; start !== undefined; ) {
      const [range]: readonly { readonly end: string | null }[] = await connection.query(rangeEnd, [start]);
      if (typeof range?.end !== 'string') return;
      yield [start, range.end];
      start = range.end === start ? undefined : range.end;
    }
  }
  return {
    /** Parameters: so many ids. */
    find: (ids: number) => `select cast(id as text) as "id", client_id as "clientId", client_secret as "clientSecret",
      client_name as "clientName", scope, ${details} as "details", ${version} as "version"
      from clients as stored where client_id in (${Array.from({ length: ids }, (_, index) => `$${index + 1}`).join(', ')})`,
    /** Adds the other clients of an owner, and returns how many. @param position of the first one. */
    async prune(connection: SqlConnection, owner: string, position: number): Promise<number> {
      const insert = `insert into ${imported} (position, client_id, client_secret, client_name, scope, details, outcome, changes, version)
        select cast($4 as integer) - 1 + row_number() over (), client_id, '', '', '', cast('{}' as ${jsonType}), 'removed', '', ${version}
        from clients as stored where ${owned} returning position`;
      let count = 0;
      for await (const range of ranges(connection)) {
        count += (await connection.query(insert, [owner, ...range, position + count])).length;
      }
      return count;
    },
    /** Parameters: a batch. */
    remove: `delete from clients where client_id in
      (select client_id from ${imported} where outcome = 'removed' and position >= $1 and position < $2)`,
    /** Whether a client is not as the plan found it, or the owner has one that the plan did not find. */
    async isOutdated(
      connection: SqlConnection,
      batches: readonly Batch[],
      pruned: string | undefined,
    ): Promise<boolean> {
      const changed = `select 1 from ${imported} as imported left join clients as stored on stored.client_id = imported.client_id
        where imported.position >= $1 and imported.position < $2 and imported.version is distinct from (${version}) limit 1`;
      for (const batch of batches) if ((await connection.query(changed, batch)).length > 0) return true;
      if (pruned === undefined) return false;
      const others = `select 1 from clients as stored where ${owned} limit 1`;
      for await (const range of ranges(connection)) {
        if ((await connection.query(others, [pruned, ...range])).length > 0) return true;
      }
      return false;
    },
    async countsOf(connection: SqlConnection): Promise<PlanCounts> {
      type Row = Readonly<Record<keyof PlanCounts, number | string>>;
      const [row] = await connection.query<Row>(`select ${counts.join(', ')} from ${imported}`);
      const [added, changed, removed, unchanged] = KINDS.map((kind) => Number(row?.[kind]));
      return { added, changed, removed, unchanged } as PlanCounts;
    },
  };
}
