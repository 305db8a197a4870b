import { PostgreSqlDriver } from '@mikro-orm/postgresql';
import { BRING_BACK } from '../../application/client-lookup.ts';
import { creationOf } from '../sql/create-tables.ts';
import { entitiesFor, RECORD, type TableName } from '../sql/entities.ts';

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
  /** What the service does with the rows. Others write what it only reads: such a table comes first, and has a shape that is checked. */
  readonly access: 'read' | 'read and write';
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

/** Finds a client by the identity of another issuer. Clients without one are not in it. Each look-up would read a list of pending updates. */
export const SUBJECT_INDEX = `create index clients_federated_subjects on clients
  using gin ((credentials -> 'federated_subjects'::text) jsonb_path_ops) with (fastupdate = off) where credentials ? 'federated_subjects'::text`;

export { RECORD };

const ENTITIES = entitiesFor('postgresql');

function define(
  name: TableName,
  access: TableDefinition['access'],
  ifLost = 'npm run migrate creates it',
  { optional = [], more = [] }: Partial<Pick<TableDefinition, 'optional' | 'more'>> = {},
): TableDefinition {
  return { name, columns: Object.keys(ENTITIES[name].properties), optional, more, access, ifLost };
}

export const CLIENTS = define('clients', 'read', BRING_BACK, {
  optional: OWN_COLUMNS,
  more: [KEEP_IN_ROW, SUBJECT_INDEX],
});

export const KEY_RING = define(
  'key_ring',
  'read and write',
  `${BRING_BACK}; or, before any replica ends, npm run migrate creates an empty one, and the replicas write their keys back`,
);

export const USED_ASSERTIONS = define('used_assertions', 'read and write');

export const REVOCATIONS = define(
  'revocations',
  'read and write',
  'bring it back, from a backup or from where it was moved to: tokens that were revoked would be active again',
);

export const LAST_USED = define('last_used', 'read and write');

/** All of them, `clients` first. */
export const TABLES = [CLIENTS, USED_ASSERTIONS, REVOCATIONS, LAST_USED, KEY_RING];

/** The statements that create a table, as one text. */
export async function createTableSql({ name, more }: TableDefinition): Promise<string> {
  const created = await creationOf('postgresql', PostgreSqlDriver, name);
  return [...created, ...more.map((statement) => `${statement};`)].join('\n');
}
