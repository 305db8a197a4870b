import { CLOCK_OFFSET_SECONDS_MAX, CLOCK_OFFSET_SECONDS_NOTED } from '../../../domain/clock-offset.ts';
import { type Finding, fine, note, problem } from '../../../domain/finding.ts';
import { HAS_DETAILS } from '../client-entity.ts';
import { type Connection, openConnection } from '../connection.ts';
import { DATABASE_TIME } from '../database-time.ts';
import { problemOfFault } from '../fault-problem.ts';
import { runStatement } from '../runner.ts';
import { findSchemaRisks } from '../shared-schemas.ts';

/** How long a statement may take; half of it for the connection. */
const DEADLINE_MS = 8_000;

interface SessionFindings {
  readonly findings: readonly Finding[];
  /** False after a fault, which is the last finding. */
  readonly isUsable: boolean;
}

/**
 * What the checks of an open service do not say about the database: whom one has to trust, whether the clocks agree, and what a pooler
 * loses. With the role of the service; only reads, and leaves nothing open.
 *
 * @param url a secret.
 * @param hasKeys `KEY_DIRECTORY=database`.
 */
export async function inspectSession(url: string, hasKeys: boolean): Promise<SessionFindings> {
  const connection = await openConnection({ url, poolSize: 1, deadlineMs: DEADLINE_MS });
  connection.pool.on('error', () => {});
  const findings: Finding[] = [];
  let isUsable = false;
  try {
    const [session] = await runStatement<Session>(connection, { text: READ_SESSION });
    if (session === undefined) throw new Error('a statement that always has a row had none');
    findings.push(...describeSession(session, url));
    findings.push(describeClock(await clockOffset(connection), hasKeys));
    findings.push(...(await findSchemaRisks(connection)).map(({ text, fix }) => note(text, fix)));
    await usePreparedStatement(connection);
    isUsable = true;
  } catch (fault) {
    const { text, fix } = problemOfFault(fault);
    findings.push(problem(`${placeOf(url)}: ${text}`, fix));
  } finally {
    await connection.close();
  }
  return { findings, isUsable };
}

/** What the server says about the session. */
interface Session {
  /** As in a statement: quoted where necessary. */
  readonly role: string;
  readonly database: string;
  readonly version: string;
  readonly isSuperuser: boolean;
  readonly isEncrypted: boolean;
  /** A table `clients` without the column `details`. */
  readonly lacksDetails: boolean;
}

/** Every role may ask this. */
const READ_SESSION = `select pg_catalog.quote_ident(current_user) as "role", current_catalog as "database",
  pg_catalog.current_setting('server_version') as "version",
  (select rolsuper from pg_catalog.pg_roles where rolname = current_user) as "isSuperuser",
  coalesce((select ssl from pg_catalog.pg_stat_ssl where pid = pg_catalog.pg_backend_pid()), false) as "isEncrypted",
  pg_catalog.to_regclass('clients') is not null and not ${HAS_DETAILS} as "lacksDetails"`;

function describeSession(session: Session, url: string): readonly Finding[] {
  const { role, database, version, isSuperuser, isEncrypted, lacksDetails } = session;
  const place = placeOf(url);
  const isLocal = /^(localhost|127\.|::1|\[::1|\/)/.test(place);
  const ownRole = 'create its own role: docs/operate.md, "Roles and grants"';
  const encrypt = 'add ?sslmode=verify-full&sslrootcert=<file> to DATABASE_URL';
  return [
    fine(`${place}: PostgreSQL ${version}, database ${database}, role ${role}`),
    ...(isSuperuser ? [note(`the role ${role} is a superuser`, ownRole)] : []),
    ...(isEncrypted || isLocal ? [] : [note('the connection is not encrypted', encrypt)]),
    ...(lacksDetails ? [note(WITHOUT_DETAILS, 'npm run migrate')] : []),
  ];
}

const WITHOUT_DETAILS =
  'the table clients lacks the column details: clients have one secret, and no keys, subjects, resources, claims or lifetime';

/** Host and port of a URL; they may also be in its query. */
function placeOf(url: string): string {
  const { hostname, port, searchParams } = new URL(url);
  const host = searchParams.get('host') ?? decodeURIComponent(hostname);
  if (host.startsWith('/')) return host;
  return `${host || 'localhost'}:${searchParams.get('port') ?? (port || '5432')}`;
}

/** Prepares a statement with a name in several sessions, as requests do. Throws where a pooler makes them one. */
async function usePreparedStatement({ pool }: Connection): Promise<void> {
  for (let session = 0; session < 4; session += 1) {
    const client = await pool.connect();
    await client.query({ name: `doctor_${process.pid}`, text: 'select 1' }).finally(() => client.release(true));
  }
}

interface ClockOffset {
  /** Seconds by which our clock is ahead of the database's. */
  readonly seconds: number;
  /** Half the time that it took to ask. */
  readonly uncertain: number;
}

async function clockOffset(connection: Connection): Promise<ClockOffset> {
  const text = `select ${DATABASE_TIME.exactNow}::text as "time"`;
  const begin = Date.now();
  const [response] = await runStatement<{ readonly time: string }>(connection, { text });
  const end = Date.now();
  return { seconds: (begin + end) / 2_000 - Number(response?.time), uncertain: (end - begin) / 2_000 };
}

/** Replicas and resource servers refuse tokens of a clock that is off. With a shared directory the service then issues none. */
function describeClock({ seconds, uncertain }: ClockOffset, hasKeys: boolean): Finding {
  const distance = Math.abs(seconds) - uncertain;
  const side = seconds < 0 ? 'behind' : 'ahead of';
  const text = `the clock is ${Math.abs(seconds).toFixed(1)} s ${side} that of the database`;
  const fix = 'correct the clock of this machine or of the database (NTP)';
  if (distance > CLOCK_OFFSET_SECONDS_MAX) {
    return hasKeys ? problem(`${text}: the service issues no tokens`, fix) : note(text, fix);
  }
  return distance > CLOCK_OFFSET_SECONDS_NOTED ? note(text, fix) : fine(text);
}
