import type { PeerCertificate } from 'node:tls';
import { type Problem, problemIn } from '../../domain/problem.ts';

/**
 * Shows who has or wants a lock that stops a read, and who blocks them, as an idle transaction does. Every role may see
 * that.
 */
const LOCK_HOLDERS = `select pid, pg_blocking_pids(pid) as blocked_by, state, query from pg_stat_activity where pid in (select pid from pg_locks where locktype = 'relation' and mode in ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock') union select pg_catalog.unnest(pg_blocking_pids(pid)) from pg_locks where not granted)`;

/** The code of Node.js for a certificate of another host. */
const ALTNAME = 'ERR_TLS_CERT_ALTNAME_INVALID';

type DriverFault = Error & { readonly code?: unknown; readonly cert?: PeerCertificate };

type TextAndFix = readonly [text: string, fix: string];

const LOST_STATEMENTS: TextAndFix = [
  'the proxy in front of it loses prepared statements',
  'with PgBouncer in transaction mode, use version 1.21 or later with max_prepared_statements above 0; or use session mode',
];

/** What a code of the driver, the system, the server or of ours means, and what to do about it. */
const BY_CODE: Readonly<Record<string, TextAndFix>> = {
  ECONNREFUSED: [
    'nothing listens there',
    'start PostgreSQL, or correct host and port in DATABASE_URL; in a container, localhost is the container itself',
  ],
  ENOTFOUND: ['the host has no address', 'correct the host in DATABASE_URL'],
  EAI_AGAIN: ['the host has no address now', 'correct the host in DATABASE_URL, or repair the name server (DNS)'],
  EHOSTUNREACH: ['there is no route to the host', 'correct the host in DATABASE_URL, or the network'],
  ENOENT: ['the socket does not exist', 'correct the host in DATABASE_URL, a folder, or start PostgreSQL'],
  ECONNRESET: ['the connection was closed at once', 'look at the log of PostgreSQL, and of the proxy in front of it'],
  [ALTNAME]: [
    'its certificate is for another host',
    'write a host that the certificate names into DATABASE_URL, or give the server a certificate for this host',
  ],
  '28P01': [
    'the role does not exist, or its password is wrong',
    'correct the password in DATABASE_URL (# is written %23, / %2F, ? %3F, @ %40, % %25), or set it with alter role',
  ],
  '28000': [
    'the server does not let this role in',
    'allow it to log in (alter role … login), and from this address (pg_hba.conf)',
  ],
  '3D000': ['the database does not exist', 'correct the name at the end of DATABASE_URL, or create the database'],
  '42501': [
    'the role lacks a privilege',
    'npm run migrate -- --grant-to <role>; where it may not connect: grant connect on database … to it',
  ],
  '53300': [
    'no connection is left',
    'raise max_connections of the server, or the connection limit of the role or the database, or lower DATABASE_POOL_SIZE of the replicas',
  ],
  '25006': [
    'the database is read-only: a standby, or a role that is read-only by default',
    'name the primary in DATABASE_URL, or alter role … set default_transaction_read_only = off',
  ],
  '26000': LOST_STATEMENTS,
  '42P05': LOST_STATEMENTS,
  '55P03': [
    'another session has locked a table',
    `find it: ${LOCK_HOLDERS}; then wait, or end it: select pg_terminate_backend(<pid>)`,
  ],
  '57014': [
    'a statement took too long',
    `look for a lock: ${LOCK_HOLDERS}; otherwise the server is too busy, or its disk too slow`,
  ],
  '57P03': ['the server is starting or stopping', 'wait: the service connects again by itself'],
  timeout: [
    'the server does not answer in time',
    'correct host and port in DATABASE_URL, let the firewall pass the connection, or look whether the server hangs or is too busy',
  ],
  tls_required: [
    'the server demands TLS',
    'add ?sslmode=verify-full&sslrootcert=<file of its authority> to DATABASE_URL, or allow connections without it in pg_hba.conf',
  ],
  no_tls: ['the server has no TLS', 'switch TLS on in PostgreSQL, or remove sslmode from DATABASE_URL'],
  certificate: ['its certificate is not trusted', 'add &sslrootcert=<file of the authority> to DATABASE_URL'],
  startup_parameter: [
    'the proxy in front of it refuses what the service sends when it connects',
    'set ignore_startup_parameters = statement_timeout,lock_timeout in the settings of PgBouncer',
  ],
  closed: [
    'what listens there has closed the connection: perhaps it is not PostgreSQL',
    'correct host and port in DATABASE_URL; otherwise look at the log of PostgreSQL, and of the proxy in front of it',
  ],
  no_password: ['the server asks for a password, and DATABASE_URL has none', 'add it: postgresql://role:password@…'],
};

/**
 * What the driver says only in words, and the server in words beside a code that says too little. This is the only
 * place that reads the words of a fault: node-postgres has no codes for these (its messages are in `pg-pool` and in
 * `client.js`).
 */
const CODE_IN_WORDS: readonly (readonly [RegExp, string])[] = [
  [/no encryption|SSL off/, 'tls_required'],
  [/unsupported startup parameter/, 'startup_parameter'],
  [/ETIMEDOUT|timeout ex|(connection|read) timeout/, 'timeout'],
  [/Connection terminated unexpectedly/, 'closed'],
  [/password must be a string/, 'no_password'],
  [/does not support SSL/, 'no_tls'],
  [/certificate|self.signed/i, 'certificate'],
];

/**
 * What a fault of the driver, of the system or of the server means, with its code in the text where it has one. Never
 * with a value.
 */
export function problemOfFault(fault: unknown): Problem {
  const carried = problemIn(fault);
  if (carried !== undefined) return carried;
  const { code: given, message, cert } = Object(fault) as DriverFault;
  const code = typeof given === 'string' && typeof message === 'string' ? given : undefined;
  const said =
    code === ALTNAME ? undefined : CODE_IN_WORDS.find(([pattern]) => pattern.test(`${code} ${message}`))?.[1];
  const known = said ?? code ?? 'unknown';
  const [text, fix] = BY_CODE[known] ?? [
    'it cannot be used',
    'npm run doctor connects too and names the fault; look at the log of PostgreSQL',
  ];
  const names = cert ? `: it names ${cert.subjectaltname ?? `only CN:${cert.subject.CN}`}` : '';
  return { code: known, text: `${text}${names}${code === undefined ? '' : ` (${code})`}`, fix };
}
