import type { PoolClient } from 'pg';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import { type Connection, openConnection, type Warn } from './connection.ts';
import { MIGRATIONS } from './migrations/migrations.ts';
import { grantOf, holdsGrant, type TableUser, tablesOf } from './privileges.ts';
import { type FoundTable, findTable } from './search-path.ts';
import { warnOfSchemas } from './shared-schemas.ts';
import { storeFault } from './store-fault.ts';
import type { CreatedTable } from './table.ts';

/** How long a statement may take; half of it to wait for another migration that runs. Milliseconds. */
const DEADLINE_MS = 60_000;

/** Any number that nothing else in this database uses. Each statement behind the lock sees what was committed before. */
const BEGIN_ALONE = `begin isolation level read committed;
  select pg_catalog.pg_advisory_xact_lock(7264019538::bigint)`;

/** Where the database remembers what was done. */
const HISTORY = 'client_credentials_migrations';

/** As the migrator of MikroORM created it for earlier versions. */
const CREATE_HISTORY = `create table $schema.${HISTORY} (
  id serial primary key, name varchar(255) not null, executed_at timestamptz(6) not null default current_timestamp(6))`;

interface MigrationOptions {
  /** The tables that the service would create itself when it starts. */
  readonly created?: readonly CreatedTable[];
  /** A role that gets what it needs of the tables. */
  readonly grantTo?: string | undefined;
  /** What uses this role. */
  readonly roleFor?: TableUser;
  /** Nothing is changed: the statements are returned in place of what was done. */
  readonly dryRun?: boolean | undefined;
  /** Takes what is wrong with the schemas, before anything is written. */
  readonly warn?: Warn;
}

interface Step {
  readonly statement: string;
  /** What an operator is told of it, if anything; of several equal ones, once. */
  readonly done?: string;
}

/**
 * Creates the tables that this database lacks, those that were dropped included, and runs its migrations, all in one
 * transaction with the grants. Returns what was done. Of several that run at once, one does the work, and the others wait
 * for it. Throws DependencyUnavailable if the database cannot be used, and if the history belongs to a role whose triggers
 * would run with the rights of this one.
 */
export async function migrateDatabase(
  url: string,
  { created = [], grantTo, roleFor = 'service', dryRun = false, warn }: MigrationOptions = {},
): Promise<readonly string[]> {
  const schemas = created.map(({ schema }) => schema);
  const migrated = MIGRATIONS.flatMap(({ tables }) => Object.keys(tables));
  const there = new Set([...created.map(({ name }) => name), ...migrated]);
  // The second one looks at the schemas.
  const connection = await openConnection({ url, poolSize: 2, deadlineMs: DEADLINE_MS, warn }, ...schemas);
  try {
    const client = await connection.pool.connect();
    try {
      await client.query(dryRun ? 'begin read only' : BEGIN_ALONE);
      const hasHistory = await isThere(client, HISTORY);
      // Checked after the look: a table that is planted in between makes `create table` fail.
      const risks = await warnOfSchemas(connection);
      const planted = risks.find(({ line }) => 'by' in line && line.by === `ownership of ${HISTORY}`);
      if (planted) throw new DependencyUnavailable('client store', new Error(`${planted.text}: ${planted.cure}`));
      const { qualify } = await connection.searchPath();
      const steps = [
        ...(await creationSteps(client, connection, created)),
        ...(await migrationSteps(client, hasHistory)),
        ...(grantTo === undefined ? [] : await grantSteps(client, grantTo, roleFor, there, qualify)),
      ];
      if (dryRun) return steps.map(({ statement }) => qualify(statement).replace(/;?$/, ';'));
      for (const { statement } of steps) await client.query(statement);
      await client.query('commit');
      return [...new Set(steps.flatMap(({ done }) => done ?? []))];
    } finally {
      // The end of its session ends the transaction too.
      client.release(true);
    }
  } catch (fault) {
    throw storeFault(fault);
  } finally {
    await connection.close();
  }
}

async function isThere(client: PoolClient, table: string): Promise<boolean> {
  return (await client.query<FoundTable>(findTable(table))).rows[0]?.exists === true;
}

async function creationSteps(
  client: PoolClient,
  connection: Connection,
  created: readonly CreatedTable[],
): Promise<readonly Step[]> {
  const steps: Step[] = [];
  for (const { name } of created) {
    if (await isThere(client, name)) continue;
    steps.push({ statement: await connection.createTableSql(name), done: `Created: ${name}` });
  }
  return steps;
}

/** Each migration that is missing, and each table that a recorded one has created and that is not there any more. */
async function migrationSteps(client: PoolClient, hasHistory: boolean): Promise<readonly Step[]> {
  const history = hasHistory
    ? (await client.query<{ readonly name: string }>(`select name from $schema.${HISTORY}`)).rows
    : [];
  const recorded = new Set(history.map(({ name }) => name));
  const steps: Step[] = hasHistory ? [] : [{ statement: CREATE_HISTORY }];
  for (const { name, tables } of MIGRATIONS) {
    const isRecorded = recorded.has(name);
    for (const [table, statements] of Object.entries(tables)) {
      if (isRecorded && (await isThere(client, table))) continue;
      const done = isRecorded ? `Migrated: ${name}: ${table}, which was missing` : `Migrated: ${name}`;
      steps.push(...statements.map((statement) => ({ statement, done })));
    }
    if (isRecorded) continue;
    const statement = `insert into $schema.${HISTORY} (name) values (${client.escapeLiteral(name)})`;
    steps.push({ statement, done: `Migrated: ${name}` });
  }
  return steps;
}

/** What the role lacks of the tables that are there after the migration. */
async function grantSteps(
  client: PoolClient,
  role: string,
  user: TableUser,
  there: ReadonlySet<string>,
  qualify: (text: string) => string,
): Promise<readonly Step[]> {
  const tables = tablesOf(user).filter((table) => there.has(table));
  if (role.includes('$schema.'))
    throw new DependencyUnavailable('client store', new Error('$schema. in the name of a role is not supported'));
  const to = client.escapeIdentifier(role);
  const found = await client.query('select from pg_catalog.pg_roles where rolname = $1::name', [role]);
  if (found.rowCount === 0) {
    throw new DependencyUnavailable(
      'client store',
      new Error(`the role ${to} does not exist: create role ${to} login password '…';`),
    );
  }
  const schemas = new Set(tables.map((table) => qualify(`$schema.${table}`).slice(0, -`.${table}`.length)));
  const grants = [
    ...[...schemas].map((schema) => ({
      held: `pg_catalog.has_schema_privilege($1::name, ${client.escapeLiteral(schema)}::regnamespace::oid, 'USAGE')`,
      grant: `grant usage on schema ${schema} to ${to}`,
    })),
    ...tables.map((table) => ({
      held: holdsGrant(user, table),
      grant: grantOf(user, table, to, `$schema.${table}`),
    })),
  ];
  const steps: Step[] = [];
  for (const { held, grant } of grants) {
    const { rows } = await client.query<{ readonly held: boolean | null }>(`select ${held} as "held"`, [role]);
    if (!rows[0]?.held) steps.push({ statement: grant, done: `Granted: ${qualify(grant).replace('grant ', '')}` });
  }
  return steps;
}
