import { type Finding, fine, note, problem } from '../../../application/ports/inspection.ts';
import { CLOCK_OFFSET_SECONDS_MAX, CLOCK_OFFSET_SECONDS_NOTED } from '../../../domain/clock-offset.ts';
import { CLIENTS } from '../client-entity.ts';
import { type Connection, openConnection } from '../connection.ts';
import { EXACT_NOW } from '../database-time.ts';
import { runStatement } from '../runner.ts';
import { findSchemaRisks } from '../shared-schemas.ts';
import { connectionProblem, placeOf } from './connection-problem.ts';
import {
  type ConnectionLimit,
  type DatabaseUse,
  READ_CONNECTION_LIMITS,
  READ_SESSION,
  type Session,
} from './database-session.ts';
import { inspectTables } from './inspect-tables.ts';

/** How long a statement may take; half of it for the connection. */
const DEADLINE_MS = 8_000;

/** Looks at the database with the role of the service: only reads, and leaves nothing open. */
export async function inspectDatabase(use: DatabaseUse): Promise<readonly Finding[]> {
  const connection = await openConnection({ url: use.url, poolSize: 1, deadlineMs: DEADLINE_MS }, CLIENTS.schema);
  connection.pool.on('error', () => {});
  const findings: Finding[] = [];
  try {
    const [schema = ''] = (await connection.searchPath()).schemas;
    const [session] = await runStatement<Session>(connection, { text: READ_SESSION, values: [schema] });
    if (session === undefined) throw new Error('a statement that always has a row had none');
    findings.push(...inspectSession(session, use));
    const limits = await runStatement<ConnectionLimit>(connection, { text: READ_CONNECTION_LIMITS });
    for (const limit of limits) findings.push(inspectLimit(limit, use.connections));
    findings.push(inspectClock(await clockOffset(connection), use.hasKeys));
    for (const { text, fix } of await findSchemaRisks(connection)) findings.push(note(text, fix));
    for await (const finding of inspectTables(connection, session, use)) findings.push(finding);
    await usePreparedStatement(connection);
  } catch (fault) {
    findings.push(connectionProblem(fault, use.url));
  } finally {
    await connection.close();
  }
  return findings;
}

function inspectSession(session: Session, { url, hasKeys }: DatabaseUse): readonly Finding[] {
  const { role, database, version } = session;
  const findings = [fine(`${placeOf(url)}: PostgreSQL ${version}, database ${database}, role ${role}`)];
  const isLocal = /^(localhost|127\.|::1|\[::1|\/)/.test(placeOf(url));
  if (session.isSuperuser) {
    findings.push(
      note(`the role ${role} is a superuser`, 'create a role of its own: docs/operate.md, "Roles and grants"'),
    );
  }
  if (!session.isEncrypted && !isLocal) {
    findings.push(
      note('the connection is not encrypted', 'add ?sslmode=verify-full&sslrootcert=<file> to DATABASE_URL'),
    );
  }
  if (session.isStandby && !hasKeys) {
    findings.push(note('the server is a standby: changes arrive later', 'docs/operate.md, "Read replicas"'));
  }
  if (session.isReadOnly && hasKeys) {
    const [text, fix] = session.isStandby
      ? ['the server is a standby', 'name the primary in DATABASE_URL']
      : [`the role ${role} is read-only by default`, `alter role ${role} set default_transaction_read_only = off;`];
    findings.push(problem(`${text}, and KEY_DIRECTORY=database has to write`, fix));
  }
  return findings;
}

function inspectLimit({ owner, max, open, fix }: ConnectionLimit, connections: number): Finding {
  const text = `a replica opens up to ${connections} connections; ${owner} allows ${max}, and ${open} are open`;
  const fixes = `${fix}, or lower DATABASE_POOL_SIZE`;
  if (connections > max) return problem(text, fixes);
  return connections + open > max ? note(text, fixes) : fine(text);
}

/** Prepares a statement with a name in several sessions, as requests do. Throws where a pooler makes them one. */
async function usePreparedStatement({ pool }: Connection): Promise<void> {
  for (let session = 0; session < 4; session += 1) {
    const client = await pool.connect();
    await client.query({ name: `doctor_${process.pid}`, text: 'select 1' }).finally(() => client.release(true));
  }
}

/** Seconds by which our clock is ahead of the database's, and half the time that it took to ask. */
async function clockOffset(connection: Connection): Promise<{ readonly seconds: number; readonly uncertain: number }> {
  const text = `select ${EXACT_NOW}::text as "time"`;
  const begin = Date.now();
  const [answer] = await runStatement<{ readonly time: string }>(connection, { text });
  const end = Date.now();
  return { seconds: (begin + end) / 2_000 - Number(answer?.time), uncertain: (end - begin) / 2_000 };
}

/** Replicas and resource servers refuse tokens of a clock that is off. With a shared directory the service then issues none. */
function inspectClock(
  { seconds, uncertain }: { readonly seconds: number; readonly uncertain: number },
  hasKeys: boolean,
): Finding {
  const distance = Math.abs(seconds) - uncertain;
  const text = `the clock is ${Math.abs(seconds).toFixed(1)} s ${seconds < 0 ? 'behind' : 'ahead of'} that of the database`;
  const fix = 'correct the clock of this machine or of the database (NTP)';
  if (distance > CLOCK_OFFSET_SECONDS_MAX) {
    return hasKeys ? problem(`${text}: the service issues no tokens`, fix) : note(text, fix);
  }
  return distance > CLOCK_OFFSET_SECONDS_NOTED ? note(text, fix) : fine(text);
}
