/** Shows who holds a lock that stops a read. Every role may see it; only an administrator sees the query too. */
const LOCK_HOLDERS = `select pid, usename, query from pg_locks join pg_stat_activity using (pid) where granted and locktype = 'relation' and mode in ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')`;

const LOST_STATEMENTS = [
  'the proxy in front of it loses prepared statements',
  'with PgBouncer in transaction mode, use version 1.21 or later with max_prepared_statements above 0; or use session mode',
] as const;

/** What a code of the driver, the system or the server means, and what to do about it. */
export const CURES: Readonly<Record<string, readonly [text: string, cure: string]>> = {
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
  '57014': ['a statement took too long', 'look for a locked table or a busy server in pg_stat_activity'],
  '57P03': ['the server is starting or stopping', 'wait, then run the doctor again'],
};
