import { ValueRefused } from '../../application/ports/client-store.ts';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import { type ClientDetails, withoutEmpty } from '../../domain/client-details.ts';
import { columnsOf, documentOf } from '../../domain/details-document.ts';
import type { SqlDialect } from './sql-database.ts';

/** Statements that manage the table `clients`. @param hasDetails whether the table has the columns `credentials` and `details`. */
export function clientStatements(
  { bytewise, forUpdate, elementsOf, jsonType, ownerOf }: SqlDialect,
  hasDetails: boolean,
) {
  const json = (name: string) => `${hasDetails ? `cast(${name} as text)` : "'{}'"} as "${name}"`;
  const columns = `cast(id as text) as "id", client_id as "clientId", client_secret as "clientSecret",
    client_name as "clientName", scope, ${json('credentials')}, ${json('details')}`;
  const [given, values] = hasDetails ? [', credentials, details', ', $5, $6'] : ['', ''];
  /** Parameters: the first id or the one before it, and the most rows. */
  const page = (comparison: '>' | '>=') => `select ${columns} from clients
    where client_id ${bytewise} ${comparison} $1 order by client_id ${bytewise} limit $2`;
  const find = `select ${columns} from clients where client_id = $1`;
  const update = 'update clients set client_secret = $2, client_name = $3, scope = $4';
  const ofOne = 'where client_id = $1 returning 1';
  /** The clients of a plan are one parameter, an array of JSON. */
  const planned = `${elementsOf('$1')} as planned`;
  const plannedField = (name: string) => `planned.value ->> cast('${name}' as text)`;
  const plannedIds = `(select ${plannedField('client_id')} from ${planned})`;
  const names = ['client_secret', 'client_name', 'scope', ...(hasDetails ? ['credentials', 'details'] : [])];
  const plannedValue = (name: string) =>
    name === 'credentials' || name === 'details' ? `cast(${plannedField(name)} as ${jsonType})` : plannedField(name);
  return {
    hasDetails,
    list: { from: page('>='), behind: page('>') },
    find,
    findAndLock: `${find}${forUpdate}`,
    /** Parameters: the columns. No row if the id is taken. */
    insert: `insert into clients (client_id, client_secret, client_name, scope${given}) values ($1, $2, $3, $4${values})
      on conflict (client_id) do nothing returning ${columns}`,
    /** Parameters: the client id, and the other columns. */
    update: { columns: `${update} ${ofOne}`, all: `${update}, credentials = $5, details = $6 ${ofOne}` },
    remove: `delete from clients ${ofOne}`,
    findAll: `select ${columns} from clients where client_id in ${plannedIds}`,
    /** Parameters: an owner, and the most rows. */
    ownedBy: `select ${columns} from clients where ${hasDetails ? ownerOf('details') : "''"} = $1 limit $2`,
    /** Each returns the rows that it has changed. */
    planned: {
      remove: `delete from clients where client_id in ${plannedIds} returning 1`,
      change: `update clients set ${names.map((name) => `${name} = ${plannedValue(name)}`).join(', ')}
        from ${planned} where clients.client_id = ${plannedField('client_id')} returning 1`,
      insert: `insert into clients (client_id, ${names.join(', ')})
        select ${plannedField('client_id')}, ${names.map(plannedValue).join(', ')} from ${planned} returning 1`,
    },
  };
}

/** What the two columns store, as JSON: kinds without entries are left out. */
export function columnTexts(details: Partial<ClientDetails>): {
  readonly credentials: string;
  readonly details: string;
} {
  const columns = columnsOf(documentOf(withoutEmpty(details)));
  return { credentials: JSON.stringify(columns.credentials), details: JSON.stringify(columns.details) };
}

/** A mark, without which the client works. */
const ONLY_MARK = columnTexts({ clientSecret: { generated: true } }).credentials;

/** Throws DependencyUnavailable if there are details to store, and no columns for them. */
export function requireDetails(hasDetails: boolean, { credentials, details }: ReturnType<typeof columnTexts>): void {
  if (hasDetails || (details === '{}' && [ONLY_MARK, '{}'].includes(credentials))) return;
  const problem = 'table clients lacks the columns credentials and details: run npm run migrate first';
  throw new DependencyUnavailable('client store', new Error(problem));
}

/** Throws ValueRefused unless statements have changed so many rows: a trigger, or a policy of row-level security, may leave some as they are. */
export function requireChanged(rows: number, expected: number): void {
  if (rows === expected) return;
  throw new ValueRefused(
    new Error('a trigger or a policy of the table keeps rows from being changed; nothing was changed'),
  );
}
