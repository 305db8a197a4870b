import type { PeerCertificate } from 'node:tls';
import { type Finding, problem } from '../../../application/ports/inspection.ts';
import { CURES } from '../fault-cures.ts';

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
