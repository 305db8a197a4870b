import { PostgreSqlDriver } from '@mikro-orm/postgresql';
import { BRING_BACK } from '../../application/client-lookup.ts';
import { creationOf } from '../sql/create-tables.ts';
import { entitiesFor, RECORD, type TableName } from '../sql/entities.ts';

/** What uses tables: the service, also with `ADMIN_API`, and the programs `clients` and `keys`. */
export type TableUser = 'service' | 'admin-api' | 'clients' | 'keys';

/** A table that the service uses, and creates if it is missing. */
export interface TableDefinition {
  readonly name: TableName;
  /** An existing table must have them; it may have more. */
  readonly columns: readonly string[];
  /** Columns that an existing table may lack, all or none. */
  readonly optional: readonly string[];
  /** What to do once a table of this name is lost. */
  readonly ifLost: string;
  /** Statements that complete the table once it is created. */
  readonly more: readonly string[];
  /**
   * What the service does with the rows. Others write what it only reads: such a table comes first, and has a shape
   * that is checked.
   */
  readonly access: 'read' | 'read and write';
  /** The programs that use it, beside the service. */
  readonly programs: readonly TableUser[];
  /** One that another application's table of the same name is unlikely to have. */
  readonly ownColumn: string;
}

/** The columns that `npm run migrate` adds to a table that another application has created. */
export const OWN_COLUMNS = ['credentials', 'details'] as const;

export const ADD_OWN_COLUMNS = `alter table clients ${OWN_COLUMNS.map((name) => `add column ${name} jsonb not null default '{}'`).join(', ')}`;

/** Whether the table has both. */
export const HAS_OWN_COLUMNS = `(select pg_catalog.count(*) = 2::bigint from pg_catalog.pg_attribute
  where attrelid = pg_catalog.to_regclass('clients')::oid and attname in ('credentials', 'details') and not attisdropped)`;

/** Keeps the credentials in their row: each request of a stranger reads them. */
export const KEEP_IN_ROW =
  'alter table clients alter column credentials set storage main, set (toast_tuple_target = 8160)';

/**
 * Finds a client by the identity of another issuer. Clients without one are not in it. Each look-up would read a list
 * of pending updates.
 */
export const SUBJECT_INDEX = `create index clients_federated_subjects on clients
  using gin ((credentials -> 'federated_subjects'::text) jsonb_path_ops) with (fastupdate = off) where credentials ? 'federated_subjects'::text`;

export { RECORD };

const ENTITIES = entitiesFor('postgresql');

function define(
  name: TableName,
  more: Pick<TableDefinition, 'ownColumn'> & Partial<Omit<TableDefinition, 'name' | 'columns'>>,
): TableDefinition {
  const columns = Object.keys(ENTITIES[name].properties);
  const ifLost = 'npm run migrate creates it';
  return { name, columns, optional: [], more: [], access: 'read and write', ifLost, programs: [], ...more };
}

export const CLIENTS = define('clients', {
  ownColumn: 'client_id',
  optional: OWN_COLUMNS,
  more: [KEEP_IN_ROW, SUBJECT_INDEX],
  access: 'read',
  ifLost: BRING_BACK,
  programs: ['clients'],
});

export const KEY_RING = define('key_ring', {
  ownColumn: 'sealed',
  ifLost: `${BRING_BACK}; or, before any replica ends, npm run migrate creates an empty one, and the replicas write their keys back`,
  programs: ['keys'],
});

export const USED_ASSERTIONS = define('used_assertions', { ownColumn: 'kept_until' });

export const REVOCATIONS = define('revocations', {
  ownColumn: 'issued_until',
  ifLost: 'bring it back, from a backup or from where it was moved to: tokens that were revoked would be active again',
  programs: ['clients'],
});

export const LAST_USED = define('last_used', { ownColumn: 'last_day', programs: ['clients'] });

/** All of them, `clients` first. */
export const TABLES = [CLIENTS, USED_ASSERTIONS, REVOCATIONS, LAST_USED, KEY_RING];

/** The statements that create a table, as one text. */
export async function createTableSql({ name, more }: TableDefinition): Promise<string> {
  const created = await creationOf('postgresql', PostgreSqlDriver, name);
  return [...created, ...more.map((statement) => `${statement};`)].join('\n');
}
