import { sql } from 'kysely';
import { ValueRefused } from '../../application/ports/client-store.ts';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import { type ClientDetails, withoutEmpty } from '../../domain/client-details.ts';
import { columnsOf } from '../../domain/details-document.ts';
import type { Tables } from './entities.ts';
import type { SqlBuilder } from './sql-database.ts';

/** A row as it is stored, without its number. */
export type ClientValues = Record<Exclude<keyof Tables['clients'], 'id'>, string>;

/**
 * Statements that manage the table `clients`. @param hasDetails whether the table has the columns `credentials` and
 * `details`.
 */
export function clientStatements({ db, dialect }: SqlBuilder, hasDetails: boolean) {
  const { clientId, owner, elementsOf } = dialect;
  const documents = hasDetails ? (['credentials', 'details'] as const) : [];
  const document = (name: 'credentials' | 'details') =>
    (hasDetails ? sql<string>`cast(${sql.ref(name)} as text)` : sql.lit('{}')).as(name);
  const columns = [
    sql<string>`cast(id as text)`.as('id'),
    'client_id as clientId',
    'client_secret as clientSecret',
    'client_name as clientName',
    'scope',
    document('credentials'),
    document('details'),
  ] as const;
  const clients = () => db.selectFrom('clients').select(columns);
  const one = (id: string) => clients().where('client_id', '=', id);
  const given = ({ credentials, details, ...values }: ClientValues) =>
    hasDetails ? { ...values, credentials, details } : values;
  /** The clients of a plan are one parameter, whatever their number: an array of JSON. */
  const planned = (rows: readonly ClientValues[]) => elementsOf(JSON.stringify(rows)).as('planned');
  const field = (name: keyof ClientValues) => sql<string>`planned.value ->> cast(${sql.lit(name)} as text)`;
  const texts = ['client_secret', 'client_name', 'scope'] as const;
  const values = [
    ...texts.map((name) => [name, field(name)] as const),
    ...documents.map((name) => [name, sql<string>`cast(${field(name)} as ${dialect.document})`] as const),
  ];
  return {
    hasDetails,
    /** @param from the first id. */
    list: (from: string, isExcluded: boolean, size: number) =>
      clients()
        .where(clientId, isExcluded ? '>' : '>=', from)
        .orderBy(clientId)
        .limit(size),
    find: one,
    findAndLock: (id: string) => one(id).$if(dialect.locksRows, (rows) => rows.forUpdate()),
    findAll: (ids: readonly string[]) => clients().where('client_id', 'in', ids),
    ownedBy: (name: string, max: number) =>
      clients()
        .where(hasDetails ? owner : sql.lit(''), '=', name)
        .limit(max),
    /** No row if the id is taken. */
    insert: (client: ClientValues) =>
      db
        .insertInto('clients')
        .values(given(client))
        .onConflict((taken) => taken.column('client_id').doNothing())
        .returning(columns),
    /** Those that follow return the ids that they have changed. */
    update: (id: string, changed: Partial<ClientValues>) =>
      db.updateTable('clients').set(changed).where('client_id', '=', id).returning('client_id'),
    remove: (ids: readonly string[]) => db.deleteFrom('clients').where('client_id', 'in', ids).returning('client_id'),
    updateAll: (rows: readonly ClientValues[]) =>
      db
        .updateTable('clients')
        .from(planned(rows))
        .set(Object.fromEntries(values))
        .where('clients.client_id', '=', field('client_id'))
        .returning('client_id'),
    insertAll: (rows: readonly ClientValues[]) =>
      db
        .insertInto('clients')
        .columns(['client_id', ...texts, ...documents])
        .expression(
          db
            .selectFrom(planned(rows))
            .select([field('client_id').as('client_id'), ...values.map(([name, value]) => value.as(name))]),
        )
        .returning('client_id'),
  };
}

/** What the two columns store, as JSON: empty fields are left out. */
export function columnTexts(details: Partial<ClientDetails>): {
  readonly credentials: string;
  readonly details: string;
} {
  const columns = columnsOf(withoutEmpty(details));
  return { credentials: JSON.stringify(columns.credentials), details: JSON.stringify(columns.details) };
}

/** A mark, without which the client works. */
const ONLY_MARK = columnTexts({ client_secret_generated: true }).credentials;

/** Throws DependencyUnavailable if there are details to store, and no columns for them. */
export function requireDetails(hasDetails: boolean, { credentials, details }: ReturnType<typeof columnTexts>): void {
  if (hasDetails || (details === '{}' && [ONLY_MARK, '{}'].includes(credentials))) return;
  const problem = 'table clients lacks the columns credentials and details: run npm run migrate first';
  throw new DependencyUnavailable('client store', new Error(problem));
}

/**
 * Throws ValueRefused unless statements have changed so many rows: a trigger, or a policy of row-level security, may
 * leave some as they are.
 */
export function requireChanged(rows: number, expected: number): void {
  if (rows === expected) return;
  throw new ValueRefused(
    new Error('a trigger or a policy of the table keeps rows from being changed; nothing was changed'),
  );
}
