import { chmodSync, chownSync, readFileSync, statSync } from 'node:fs';
import { networkInterfaces, userInfo } from 'node:os';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { openConnection } from '../../../adapters/postgres/connection.ts';
import { runStatement } from '../../../adapters/postgres/runner.ts';
import { CertificateAuthority } from '../../support/certificates.ts';
import { DatabaseServer } from '../../support/database-server.ts';
import { inspectDatabase } from '../../support/inspect-database.ts';
import { where } from '../../support/installed.ts';
import { until } from '../../support/until.ts';

/** False where the machine has no IPv6. */
const HAS_IPV6 = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1'));

const OF_ANOTHER_NAME = 'ERR_TLS_CERT_ALTNAME_INVALID';

let server: DatabaseServer;
let authority: CertificateAuthority;
beforeAll(async () => {
  authority = new CertificateAuthority();
  server = await DatabaseServer.create('-c', `listen_addresses=127.0.0.1${HAS_IPV6 ? ',::1' : ''}`);
}, 120_000);
afterAll(async () => {
  await server.stop();
  authority[Symbol.dispose]();
});

/** From now on, new connections get a certificate with these names. */
async function present(names: string): Promise<void> {
  const { certificate, key } = authority.issue(names);
  const [row] = await server.query('show data_directory');
  const { uid, gid } = statSync(String(row?.['data_directory']));
  // PostgreSQL reads no key of another user.
  if (userInfo().uid === 0) chownSync(key, uid, gid);
  chmodSync(key, 0o600);
  await server.query(`alter system set ssl_cert_file = '${certificate}'`);
  await server.query(`alter system set ssl_key_file = '${key}'`);
  await server.query('alter system set ssl = on');
  await server.query('select pg_reload_conf()');
  await until(async () => {
    const [shown] = await server.query('show ssl_cert_file');
    return shown?.['ssl_cert_file'] === certificate;
  }, 'the server presents the certificate');
}

function urlOf(host: string, query: string): string {
  const place = host === '' ? '' : `${host}:${server.port}`;
  return `postgresql://postgres:postgres@${place}/postgres?${query}`;
}

const verified = () => `sslmode=verify-full&sslrootcert=${authority.file}`;

/** `encrypted`, `plain`, the name in the client's certificate, or the code of the fault. */
async function connect(host: string, query = verified()): Promise<unknown> {
  const connection = await openConnection({ url: urlOf(host, query), poolSize: 1, deadlineMs: 60_000 });
  try {
    const text = 'select ssl, client_dn from pg_catalog.pg_stat_ssl where pid = pg_catalog.pg_backend_pid()';
    const [row] = await runStatement<{ readonly ssl: boolean; readonly client_dn: string | null }>(connection, {
      text,
    });
    return row?.ssl ? (row.client_dn ?? 'encrypted') : 'plain';
  } catch (fault) {
    return (fault as NodeJS.ErrnoException).code;
  } finally {
    await connection.close();
  }
}

describe('a connection with sslmode=verify-full', () => {
  it('accepts a certificate for the IP address in the URL, which need not be for localhost', async () => {
    await present('IP:127.0.0.1,DNS:db.test');
    expect(await connect('127.0.0.1')).toBe('encrypted');
    expect(await connect('', `${verified()}&host=127.0.0.1&port=${server.port}`)).toBe('encrypted');
    expect(await connect('localhost')).toBe(OF_ANOTHER_NAME);
  });

  // Skipped where the loopback interface has no IPv6 address: nothing can listen on it.
  where(HAS_IPV6, it)('compares an IPv6 address too, however it is written', async () => {
    await present('IP:0:0:0:0:0:0:0:1');
    expect(await connect('[::1]')).toBe('encrypted');
    expect(await connect('', `${verified()}&host=::0001&port=${server.port}`)).toBe('encrypted');
    await present('IP:::2,DNS:localhost');
    expect(await connect('[::1]')).toBe(OF_ANOTHER_NAME);
  });

  it('refuses a certificate for localhost, if the URL has an IP address', async () => {
    await present('DNS:localhost');
    expect(await connect('127.0.0.1')).toBe(OF_ANOTHER_NAME);
    expect(await connect('', `${verified()}&host=127.0.0.1&port=${server.port}`)).toBe(OF_ANOTHER_NAME);
    expect(await connect('localhost')).toBe('encrypted');
  });

  it.each(['IP:127.0.0.2', 'DNS:127.0.0.1', 'DNS:db.test', 'DNS:*.localhost'])(
    'refuses a certificate for %s, by address and by name',
    async (names) => {
      await present(names);
      expect(await connect('127.0.0.1')).toBe(OF_ANOTHER_NAME);
      expect(await connect('localhost')).toBe(OF_ANOTHER_NAME);
    },
  );

  it.each([
    ['ssl=true', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
    ['sslmode=require', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
    ['sslmode=no-verify', 'encrypted'],
    ['sslmode=disable', 'plain'],
    ['', 'plain'],
  ])('leaves other modes as they are (%s)', async (query, outcome) => {
    await present('DNS:localhost');
    expect(await connect('127.0.0.1', query)).toBe(outcome);
  });

  it('does not compare names with sslmode=verify-ca in the sense of libpq, and trusts only the authority', async () => {
    await present('DNS:db.test');
    const libpq = 'uselibpqcompat=true&sslmode=verify-ca';
    expect(await connect('127.0.0.1', `${libpq}&sslrootcert=${authority.file}`)).toBe('encrypted');
    using other = new CertificateAuthority();
    expect(await connect('127.0.0.1', `${libpq}&sslrootcert=${other.file}`)).toBe('UNABLE_TO_VERIFY_LEAF_SIGNATURE');
  });

  it('compares the name too if PGSSLMODE of libpq switches TLS on', async () => {
    const trusted = getCACertificates('default');
    setDefaultCACertificates([readFileSync(authority.file, 'utf8')]);
    const connectWithVariable = async (host: string) => {
      process.env['PGSSLMODE'] = 'verify-full';
      return connect(host, '').finally(() => delete process.env['PGSSLMODE']);
    };
    await present('DNS:localhost');
    expect(await connectWithVariable('localhost')).toBe('encrypted');
    expect(await connectWithVariable('127.0.0.1')).toBe(OF_ANOTHER_NAME);
    await present('IP:127.0.0.1');
    expect(await connectWithVariable('127.0.0.1')).toBe('encrypted');
    setDefaultCACertificates(trusted);
  });

  it('lets the doctor say which names the certificate has, and that sslrootcert does not help', async () => {
    await present('DNS:localhost,IP:127.0.0.2');
    const problemsOf = async (url: string) => (await inspectDatabase(url)).filter(({ state }) => state === 'problem');
    expect(await problemsOf(urlOf('127.0.0.1', verified()))).toEqual([
      {
        name: 'client repository',
        state: 'problem',
        text: `database unavailable: its certificate is for another host: it names DNS:localhost, IP Address:127.0.0.2 (${OF_ANOTHER_NAME})`,
        fix: 'write a host that the certificate names into DATABASE_URL, or give the server a certificate for this host',
      },
    ]);
    const [untrusted] = await problemsOf(urlOf('127.0.0.1', 'sslmode=verify-full'));
    expect(untrusted?.fix).toContain('sslrootcert');
  });

  it('presents the client certificate of sslcert and sslkey', async () => {
    await present('IP:127.0.0.1');
    await server.query(`alter system set ssl_ca_file = '${authority.file}'`);
    await server.query('select pg_reload_conf()');
    const { certificate, key } = authority.issue('DNS:client.test');
    const query = `${verified()}&sslcert=${certificate}&sslkey=${key}`;
    await until(async () => (await connect('127.0.0.1', query)) === '/CN=server', 'the server gets the certificate');
  });
});
