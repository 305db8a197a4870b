import type { PoolClient } from 'pg';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import type { Problem } from '../../domain/problem.ts';
import { CLIENTS } from './client-entity.ts';
import { type Connection, openConnection, type Warn } from './connection.ts';
import { storeFault, TableUnusable } from './fault.ts';
import { MIGRATIONS } from './migrations.ts';
import { FIND_OWN_TABLES, lostClients, type TableUser } from './own-tables.ts';
import { grantOf, holdsGrant, tablesOf } from './privileges.ts';
import { type FoundTable, findTable } from './search-path.ts';
import { warnOfSchemas } from './shared-schemas.ts';
import type { CreatedTable } from './table.ts';

/** How long a statement may take; half of it to wait for another migration that runs. Milliseconds. */
const DEADLINE_MS = 60_000;

/** Any number that nothing else in this database uses. Each statement behind the lock sees what was committed before. */
const beginAlone = (mode: 'read write' | 'read only') => `begin isolation level read committed ${mode};
  select pg_catalog.pg_advisory_xact_lock(7264019538::bigint)`;

/** Where the database remembers what was done. */
const HISTORY = 'client_credentials_migrations';

/** As the migrator of MikroORM created it for earlier versions. */
const CREATE_HISTORY = `create table $schema.${HISTORY} (
  id serial primary key, name varchar(255) not null, executed_at timestamptz(6) not null default current_timestamp(6))`;

interface MigrationOptions {
  /** The tables beside `clients` that the service would create itself when it starts. */
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
  { created: more = [], grantTo, roleFor = 'service', dryRun = false, warn }: MigrationOptions = {},
): Promise<readonly string[]> {
  const created = [CLIENTS, ...more];
  const migrated = MIGRATIONS.flatMap(({ tables }) => Object.keys(tables));
  const there = new Set([...created.map(({ name }) => name), ...migrated]);
  // The second one looks at the schemas.
  const connection = await openConnection(
    { url, poolSize: 2, deadlineMs: DEADLINE_MS, warn },
    ...created.map(({ schema }) => schema),
  );
  try {
    const client = await connection.pool.connect();
    try {
      await client.query(beginAlone(dryRun ? 'read only' : 'read write'));
      const hasHistory = await isThere(client, HISTORY);
      // Checked after the look: a table that is planted in between makes `create table` fail.
      const risks = await warnOfSchemas(connection);
      const planted = risks.find(({ table }) => table === HISTORY);
      if (planted) throw unusable(planted);
      const { qualify, schemas, names } = await connection.searchPath();
      if (schemas.length === 0) throw unusable(noSchema(client, names));
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
  const { rows } = await client.query<{ readonly name: string }>(FIND_OWN_TABLES);
  const lost = lostClients(rows);
  if (lost !== undefined) throw unusable(lost);
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
  if (role.includes('$schema.'))
    throw unusable({ code: 'role', text: '$schema. in the name of a role is not supported' });
  const to = client.escapeIdentifier(role);
  const { rowCount } = await client.query('select from pg_catalog.pg_roles where rolname = $1::name', [role]);
  if (rowCount === 0)
    throw unusable({
      code: 'role',
      text: `the role ${to} does not exist`,
      fix: `create role ${to} login password '…';`,
    });
  const tables = tablesOf(user).filter((table) => there.has(table));
  // A schema may be spelled with quotation marks for one table and without them for another.
  const places = tables.map((table) => qualify(`$schema.${table}`).slice(0, -`.${table}`.length));
  const schemas = new Map(places.map((schema) => [schema.replaceAll('"', ''), schema])).values();
  const grants = [
    ...Array.from(schemas, (schema) => ({
      holds: (name: string, option: string) =>
        `pg_catalog.has_schema_privilege(${name}, ${client.escapeLiteral(schema)}::regnamespace::oid, 'usage${option}')`,
      grant: `grant usage on schema ${schema} to ${to}`,
    })),
    ...tables.map((table) => ({
      holds: (name: string, option: string) => holdsGrant(user, table, name, option),
      grant: grantOf(user, table, to, `$schema.${table}`),
    })),
  ];
  const steps: Step[] = [];
  for (const { holds, grant } of grants) {
    const { rows } = await client.query<{ readonly held: boolean | null; readonly may: boolean | null }>(
      `select ${holds('$1::name', '')} as "held", ${holds('current_user', ' with grant option')} as "may"`,
      [role],
    );
    const { held, may } = rows[0] ?? {};
    if (held) continue;
    if (may === false)
      throw unusable({ code: 'owner', text: 'the owner, another role, has to run', fix: `${qualify(grant)};` });
    steps.push({ statement: grant, done: `Granted: ${qualify(grant).replace('grant ', '')}` });
  }
  return steps;
}

/** @param names of the search path. */
function noSchema(client: PoolClient, names: readonly string[]): Problem {
  const name = client.escapeIdentifier(names.find((each) => each !== '$user') ?? 'public');
  const fix = `create schema ${name}; or, if it is there: grant usage, create on schema ${name} to this role;`;
  return { code: 'schema_missing', text: 'the search path has no schema that this role can use', fix };
}

function unusable(problem: Problem): DependencyUnavailable {
  return new DependencyUnavailable('client store', new TableUnusable(problem));
}
