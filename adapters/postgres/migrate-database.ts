import type { PoolClient } from 'pg';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import type { Problem } from '../../domain/problem.ts';
import { type Connection, openConnection } from './connection.ts';
import { hasState, SQLSTATE, storeFault, TableUnusable } from './fault.ts';
import { FIND_OWN_TABLES, grantOf, holdsGrant, lostClients } from './own-tables.ts';
import { assertShape, encodingProblem, readColumns } from './table-shape.ts';
import {
  ADD_OWN_COLUMNS,
  createTableSql,
  HAS_OWN_COLUMNS,
  KEEP_IN_ROW,
  OWN_COLUMNS,
  RECORD,
  SUBJECT_INDEX,
  TABLES,
  type TableUser,
} from './tables.ts';

/** How long a statement may take; half of it to wait for another migration that runs. Milliseconds. */
const DEADLINE_MS = 60_000;

/** A number that nothing else here uses. Each statement behind the lock sees what was committed before. */
const beginAlone = (mode: 'read write' | 'read only') => `begin isolation level read committed ${mode};
  select pg_catalog.pg_advisory_xact_lock(7264019538::bigint)`;

interface MigrationOptions {
  /** A role that gets what it needs of the tables. */
  readonly grantTo?: string | undefined;
  /** What uses this role. */
  readonly roleFor?: TableUser;
  /** Nothing is changed: the statements are returned in place of what was done. */
  readonly dryRun?: boolean | undefined;
}

interface Step {
  readonly statement: string;
  /** What the operator reads of it; of several equal ones, once. */
  readonly done: string;
}

/**
 * Creates the tables that this database lacks, and adds its columns to a table `clients` that another application has
 * created, which the comment of the table records, all in one transaction with the grants. Returns what was done. Of
 * several that run at once, one does the work, and the others wait for it. Throws DependencyUnavailable if the database
 * cannot be used.
 */
export async function migrateDatabase(
  url: string | (() => string),
  { grantTo, roleFor = 'service', dryRun = false }: MigrationOptions = {},
): Promise<readonly string[]> {
  // The second one looks at the schemas.
  const connection = await openConnection({ url, poolSize: 2, deadlineMs: DEADLINE_MS });
  try {
    const client = await connection.pool.connect();
    try {
      await client.query(beginAlone(dryRun ? 'read only' : 'read write'));
      const [{ encoding } = {}] = (await client.query<{ readonly encoding?: string }>(FIND_ENCODING)).rows;
      const wrong = encodingProblem(encoding);
      if (wrong !== undefined) throw unusable(wrong);
      const { schemas, names } = await connection.searchPath();
      if (schemas.length === 0) throw unusable(noSchema(client, names));
      const [schema = ''] = schemas;
      const lacking = async () => (grantTo === undefined ? [] : grantSteps(client, grantTo, roleFor, schema));
      const steps = [...(await creationSteps(client, connection)), ...(await lacking())];
      if (dryRun) return statementsOf(steps);
      for (const { statement } of steps) {
        await client.query(statement).catch((fault) => {
          throw hasState(fault, SQLSTATE.creationDenied) ? handedOn(steps, fault.message) : fault;
        });
      }
      // PostgreSQL takes a grant of nothing for a success.
      const left = await lacking();
      if (left.length > 0) throw handedOn(left, 'this role may not grant what it has');
      await client.query('commit');
      return [...new Set(steps.map(({ done }) => done))];
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

function statementsOf(steps: readonly Step[]): readonly string[] {
  return steps.map(({ statement }) => statement.replace(/;?$/, ';'));
}

/** For somebody with another role. @param why this one may not run them. */
function handedOn(steps: readonly Step[], why: string): DependencyUnavailable {
  const statements = statementsOf(steps).map((statement) => statement.replaceAll(/\s+/g, ' '));
  return unusable({
    code: 'owner',
    text: `${why}; a role that may, such as the owner, has to run`,
    fix: statements.join(' '),
  });
}

async function creationSteps(client: PoolClient, connection: Connection): Promise<readonly Step[]> {
  const steps: Step[] = [];
  let isNew = false;
  const { rows } = await client.query<{ readonly name: string }>(FIND_OWN_TABLES);
  const lost = lostClients(rows);
  if (lost !== undefined) throw unusable(lost);
  for (const table of TABLES) {
    const found = await readColumns(table, connection);
    if (found.length > 0) assertShape(table, found);
    else steps.push({ statement: await createTableSql(table), done: `Created: ${table.name}` });
    if (found.length === 0 && table.name === 'clients') isNew = true;
  }
  if (isNew) return steps;
  const [found] = (await client.query<FoundClients>(FIND_CLIENTS_TABLE)).rows;
  const { hasColumns = false, hasIndex = false, hasIdIndex = true, comment = '' } = found ?? {};
  const done = hasColumns ? 'Added: the index of identities in clients' : 'Added: the columns of clients';
  const step = (statement: string) => ({ statement, done });
  const index = [
    ...(hasIndex ? [] : [step(SUBJECT_INDEX)]),
    ...(hasIdIndex ? [] : [{ statement: 'create index on clients (id)', done: 'Added: an index of id in clients' }]),
  ];
  const recorded = client.escapeLiteral(`${comment} ${RECORD}`.trimStart());
  const record = comment.includes(RECORD) ? [] : [step(`comment on table clients is ${recorded}`)];
  // Another application may have added the columns, and knows nothing of the index.
  if (hasColumns) return [...steps, ...index, ...record];
  const { rows: readers } = await client.query<{ readonly role: string }>(FIND_READERS);
  const roles = readers.map(({ role }) => role).join(', ');
  const grant = roles === '' ? [] : [step(`grant select (${OWN_COLUMNS.join(', ')}) on clients to ${roles}`)];
  return [...steps, step(ADD_OWN_COLUMNS), step(KEEP_IN_ROW), ...grant, ...index, ...record];
}

const FIND_ENCODING = `select pg_catalog.current_setting('server_encoding') as "encoding"`;

interface FoundClients {
  readonly hasColumns: boolean;
  readonly hasIndex: boolean;
  readonly hasIdIndex: boolean;
  readonly comment: string;
}

const FIND_CLIENTS_TABLE = `select pg_catalog.to_regclass('clients_federated_subjects')::oid is not null as "hasIndex",
    ${HAS_OWN_COLUMNS} as "hasColumns", exists (select from pg_catalog.pg_index, pg_catalog.pg_attribute
      where indrelid = pg_catalog.to_regclass('clients')::oid and indisvalid and indpred is null and attrelid = indrelid
        and attname = 'id' and indkey[0] = attnum) as "hasIdIndex",
    coalesce(pg_catalog.obj_description(pg_catalog.to_regclass('clients')::oid, 'pg_class'), '') as "comment"`;

/** Roles that may read single columns of the table: a service with one of them reads the new column at once. */
const FIND_READERS = `select case when grantee = 0::oid then 'public' else grantee::regrole::text end as "role"
  from pg_catalog.pg_attribute, pg_catalog.aclexplode(attacl)
  where attrelid = pg_catalog.to_regclass('clients')::oid and attname = 'client_secret' and privilege_type = 'SELECT'`;

/** The schemas of our tables, quoted; of a missing one, the first of the path. Parameters: the tables, and that. */
const FIND_SCHEMAS = `select distinct pg_catalog.quote_ident(coalesce(nspname::text, $2::text)) as "schema"
  from pg_catalog.unnest($1::text[]) as name left join pg_catalog.pg_class on pg_class.oid = pg_catalog.to_regclass(name)::oid
    left join pg_catalog.pg_namespace on pg_namespace.oid = relnamespace order by 1`;

/**
 * The sequence of a `serial` id, as a column of the table's owner may be: who inserts needs it. Identity columns need
 * no right.
 */
const FIND_SEQUENCE = `select pg_catalog.pg_get_serial_sequence('clients', attname::text) as "sequence"
  from pg_catalog.pg_attribute where attrelid = pg_catalog.to_regclass('clients')::oid and attname = 'id' and attidentity = ''`;

/** What the role lacks of the tables that are there after the migration. */
async function grantSteps(
  client: PoolClient,
  role: string,
  user: TableUser,
  firstSchema: string,
): Promise<readonly Step[]> {
  const to = client.escapeIdentifier(role);
  const { rowCount } = await client.query('select from pg_catalog.pg_roles where rolname = $1::name', [role]);
  if (rowCount === 0)
    throw unusable({
      code: 'role',
      text: `the role ${to} does not exist`,
      fix: `create role ${to} login password '…';`,
    });
  const isOfService = user === 'service' || user === 'admin-api';
  const tables = TABLES.filter(({ programs }) => isOfService || programs.includes(user));
  const { rows: schemas } = await client.query<{ readonly schema: string }>(FIND_SCHEMAS, [
    tables.map(({ name }) => name),
    firstSchema,
  ]);
  const { rows: found } = await client.query<{ readonly sequence: string | null }>(FIND_SEQUENCE);
  const sequences = user === 'clients' || user === 'admin-api' ? found.flatMap(({ sequence }) => sequence ?? []) : [];
  const grants = [
    ...schemas.map(({ schema }) => ({
      holds: `pg_catalog.has_schema_privilege($1::name, ${client.escapeLiteral(schema)}::regnamespace::oid, 'usage')`,
      grant: `grant usage on schema ${schema} to ${to}`,
    })),
    ...tables.map((table) => ({
      holds: holdsGrant(user, table, '$1::name'),
      grant: grantOf(user, table, to),
    })),
    ...sequences.map((sequence) => ({
      holds: `pg_catalog.has_sequence_privilege($1::name, ${client.escapeLiteral(sequence)}, 'usage')`,
      grant: `grant usage on sequence ${sequence} to ${to}`,
    })),
  ];
  const steps: Step[] = [];
  for (const { holds, grant } of grants) {
    const { rows } = await client.query<{ readonly held: boolean | null }>(`select ${holds} as "held"`, [role]);
    if (!rows[0]?.held) steps.push({ statement: grant, done: `Granted: ${grant.replace('grant ', '')}` });
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
