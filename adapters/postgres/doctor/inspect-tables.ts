import { type ClientRow, inspectRows } from '../../../application/client-lookup.ts';
import { type Finding, fine, note, problem } from '../../../application/ports/inspection.ts';
import { CLIENTS, LIST_ROWS } from '../client-entity.ts';
import type { Connection } from '../connection.ts';
import { TableUnusable } from '../fault.ts';
import { BRING_BACK, FIND_OWN_TABLES, lostClients } from '../own-tables.ts';
import { grantOf } from '../privileges.ts';
import { runStatement } from '../runner.ts';
import { type FoundTable, findTable } from '../search-path.ts';
import { probeTable, type TableDefinition } from '../table.ts';
import type { DatabaseUse, Session } from './database-session.ts';

const COUNT_MAX = 1_000;

/** Whether the role can use each table as the service does with these settings. */
export async function* inspectTables(
  connection: Connection,
  session: Session,
  { tables, isRunning }: DatabaseUse,
): AsyncGenerator<Finding> {
  for (const table of tables) {
    const finding = await inspectTable(connection, session, table, isRunning);
    yield finding;
    if (table === CLIENTS && finding.state === 'ok') yield* await inspectClients(connection, session);
  }
}

async function inspectTable(
  connection: Connection,
  session: Session,
  table: TableDefinition,
  isRunning: boolean,
): Promise<Finding> {
  const { role } = session;
  const { name } = table;
  const [found] = await runStatement<FoundTable>(connection, { text: findTable(name) });
  if (!found?.exists) {
    const lost = table === CLIENTS ? lostClients(await runStatement(connection, { text: FIND_OWN_TABLES })) : undefined;
    if (lost !== undefined) return problem(lost.text, lost.fix);
    return inspectMissing(session, table, isRunning);
  }
  try {
    await probeTable(table, connection).check();
    if (found.hidden) return hiddenRows(role, name);
    return fine(`the table ${name} has the columns and the grants that the service needs`);
  } catch (fault) {
    if (!(fault instanceof TableUnusable)) throw fault;
    const { code, text, fix } = fault.problem;
    if (code !== 'grant_missing') return problem(text, fix);
    const grant = `${grantOf('service', name, role)};`;
    const { hasDetails } = (await runStatement<ClientsTable>(connection, { text: READ_CLIENTS }))[0] ?? {};
    return problem(text, hasDetails === false ? grant.replace(', details)', ')') : grant);
  }
}

function inspectMissing({ role, schema, mayCreate }: Session, table: TableDefinition, isRunning: boolean): Finding {
  const migrate = `npm run migrate -- --grant-to ${role}, with the DATABASE_URL of a role that may create tables`;
  const text = `the table ${table.name} does not exist`;
  if (table === CLIENTS && isRunning) return problem(text, BRING_BACK);
  if (mayCreate && isRunning) return problem(text, `restart the service, which then creates it, or ${migrate}`);
  if (mayCreate) {
    const fix = `to give the role fewer rights, first ${migrate}`;
    return note(`${text}: the service creates it when it starts, and owns it`, fix);
  }
  return problem(
    `the role ${role} finds no table ${table.name} in the schema ${schema ?? 'of its search_path'}, and may not create it`,
    `${migrate}; if it is there: grant usage on schema ${schema ?? 'public'} to ${role};`,
  );
}

function hiddenRows(role: string, table: string): Finding {
  const text = `row-level security of the table ${table} hides all rows from the role ${role}`;
  return problem(text, `create policy authorization_service on ${table} to ${role} using (true);`);
}

type ClientsTable = Readonly<Record<'hasDetails' | 'isWritable', boolean>>;

const READ_CLIENTS = `select exists (select from pg_catalog.pg_attribute
      where attrelid = pg_class.oid and attname = 'details' and not attisdropped) as "hasDetails",
    pg_catalog.has_table_privilege(oid, 'INSERT') or pg_catalog.has_table_privilege(oid, 'UPDATE')
      or pg_catalog.has_table_privilege(oid, 'DELETE') as "isWritable"
  from pg_catalog.pg_class where oid = pg_catalog.to_regclass('clients')::oid`;

async function inspectClients(connection: Connection, { role, isSuperuser }: Session): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  const [table] = await runStatement<ClientsTable>(connection, { text: READ_CLIENTS });
  if (table?.hasDetails === false) {
    const without = 'clients have one secret, and no keys, subjects, resources, claims or lifetime';
    findings.push(note(`the table clients lacks the column details: ${without}`, 'npm run migrate'));
  }
  if (table?.isWritable && !isSuperuser) {
    const fix = `revoke insert, update, delete on clients from ${role}; the owner of a table always may: let another role own it`;
    findings.push(note(`the role ${role} may change clients, and the service only reads them`, fix));
  }
  const rows = await runStatement<ClientRow>(connection, { text: `${LIST_ROWS} limit ${COUNT_MAX + 1}` });
  const count = rows.length;
  const now = Math.floor(Date.now() / 1_000);
  if (count === 0)
    findings.push(note('no client is registered', 'npm run clients -- add <client-id> --name … --scope …'));
  else findings.push(fine(`registered clients: ${count > COUNT_MAX ? `more than ${COUNT_MAX}` : count}`));
  return [...findings, ...inspectRows(rows, now)];
}
