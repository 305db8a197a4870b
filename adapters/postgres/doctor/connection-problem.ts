import type { PeerCertificate } from 'node:tls';
import { type Finding, problem } from '../../../application/ports/inspection.ts';

/** Shows who holds a lock that stops a read. Every role may see it; only an administrator sees the query too. */
const LOCK_HOLDERS = `select pid, usename, query from pg_locks join pg_stat_activity using (pid) where granted and locktype = 'relation' and mode in ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')`;

const LOST_STATEMENTS = [
  'the proxy in front of it loses prepared statements',
  'with PgBouncer in transaction mode, use version 1.21 or later with max_prepared_statements above 0; or use session mode',
] as const;

/** What a code of the driver, the system or the server means, and what to do about it. */
const CURES: Readonly<Record<string, readonly [text: string, cure: string]>> = {
  ECONNREFUSED: [
    'nothing listens there',
    'start PostgreSQL, or correct host and port in DATABASE_URL; in a container, localhost is the container itself',
  ],
  ENOTFOUND: ['the host has no address', 'correct the host in DATABASE_URL'],
  EAI_AGAIN: ['the host has no address now', 'correct the host in DATABASE_URL, or repair the name server (DNS)'],
  EHOSTUNREACH: ['there is no route to the host', 'correct the host in DATABASE_URL, or the network'],
  ENOENT: ['the socket does not exist', 'correct the host in DATABASE_URL, a folder, or start PostgreSQL'],
  ECONNRESET: ['the connection was closed at once', 'look at the log of PostgreSQL, and of the proxy in front of it'],
  ERR_TLS_CERT_ALTNAME_INVALID: [
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
  '42501': ['the role may not connect', 'grant connect on database … to the role'],
  '53300': [
    'no connection is left',
    'raise max_connections of the server, or the connection limit of the role or the database, or lower DATABASE_POOL_SIZE of the replicas',
  ],
  '26000': LOST_STATEMENTS,
  '42P05': LOST_STATEMENTS,
  '55P03': [
    'another session has locked a table',
    `find it: ${LOCK_HOLDERS}; then wait, or end it: select pg_terminate_backend(<pid>)`,
  ],
  '57014': ['a statement took too long', 'look for a locked table or a busy server in pg_stat_activity'],
  '57P03': ['the server is starting or stopping', 'wait, then run the doctor again'],
};

/** Faults whose code does not say enough, by a part of the message: before the codes. */
const BY_MESSAGE: readonly (readonly [RegExp, readonly [text: string, cure: string]])[] = [
  [
    /no encryption|SSL off/,
    [
      'the server demands TLS',
      'add ?sslmode=verify-full&sslrootcert=<file of its authority> to DATABASE_URL, or allow connections without it in pg_hba.conf',
    ],
  ],
  [
    /unsupported startup parameter/,
    [
      'the proxy in front of it refuses what the service sends when it connects',
      'set ignore_startup_parameters = statement_timeout,lock_timeout in the settings of PgBouncer',
    ],
  ],
  [
    /ETIMEDOUT|timeout ex|(connection|read) timeout/,
    [
      'the host does not answer in time',
      'correct host and port in DATABASE_URL, or let the firewall pass the connection',
    ],
  ],
  [
    /Connection terminated unexpectedly/,
    [
      'what listens there has closed the connection: perhaps it is not PostgreSQL',
      'correct host and port in DATABASE_URL; otherwise look at the log of PostgreSQL, and of the proxy in front of it',
    ],
  ],
  [
    /password must be a string/,
    ['the server asks for a password, and DATABASE_URL has none', 'add it: postgresql://role:password@…'],
  ],
  [
    /does not support SSL/,
    ['the server has no TLS', 'switch TLS on in PostgreSQL, or remove sslmode from DATABASE_URL'],
  ],
  [
    /certificate|self.signed/i,
    ['its certificate is not trusted', 'add &sslrootcert=<file of the authority> to DATABASE_URL'],
  ],
];

/** Why the database of this URL cannot be reached. Names host and port; never the password. */
export function connectionProblem(fault: unknown, url: string): Finding {
  const { code, message = 'unknown fault', cert } = (fault ?? {}) as NodeJS.ErrnoException & { cert?: PeerCertificate };
  const names = cert ? `: it names ${cert.subjectaltname ?? `only CN:${cert.subject.CN}`}` : '';
  const place = placeOf(url);
  const [text, cure] = BY_MESSAGE.find(
    ([pattern]) => pattern.test(`${code} ${message}`) && !(code ?? '').includes('ALTNAME'),
  )?.[1] ??
    CURES[code ?? ''] ?? [message, 'look at the log of PostgreSQL, and correct DATABASE_URL'];
  return problem(`${place}: ${text}${names}${code === undefined ? '' : ` (${code})`}`, cure);
}

/** Host and port of a URL; they may also be in its query. */
export function placeOf(url: string): string {
  const { hostname, port, searchParams } = new URL(url);
  const host = searchParams.get('host') ?? decodeURIComponent(hostname);
  if (host.startsWith('/')) return host;
  return `${host || 'localhost'}:${searchParams.get('port') ?? (port || '5432')}`;
}
