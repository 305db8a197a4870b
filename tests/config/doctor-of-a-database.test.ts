import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import type { NamedFinding } from '../../adapters/cli/doctor/run-doctor.ts';
import { migrateDatabase } from '../../adapters/postgres/migrate-database.ts';
import { createTableSql, KEY_RING } from '../../adapters/postgres/tables.ts';
import { BRING_BACK } from '../../application/client-lookup.ts';
import type { Finding } from '../../domain/finding.ts';
import { CREATE_CLIENTS } from '../support/clients-table.ts';
import { freePort } from '../support/free-port.ts';
import { inspectDatabase } from '../support/inspect-database.ts';
import { runAt } from '../support/run-at.ts';
import { SEALED_KEYS } from '../support/sealed-keys.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';

let database: TestDatabase;
let role: { readonly name: string; readonly url: string };
beforeAll(async () => {
  database = await createTestDatabase();
  role = await database.createRole();
}, 120_000);
afterEach(async () => {
  const tables = await database.query(`select tablename as name from pg_tables where schemaname = 'public'`);
  for (const { name } of tables) await database.query(`drop table ${name} cascade`);
  await database.query(`revoke all on schema public from ${role.name}`);
});
afterAll(() => database.drop());

/** Of a program that closes each connection as soon as it gets a message. */
async function closingPlace(): Promise<string> {
  const server = createServer((socket) => socket.once('data', () => socket.end())).listen(0, '127.0.0.1');
  server.unref();
  await once(server, 'listening');
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/**
 * Of a server that answers every message with a fault, as PgBouncer does for a start-up parameter that it does not
 * know.
 */
async function refusingPlace(code: string, message: string): Promise<string> {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C${code}\0M${message}\0\0`);
  const head = Buffer.from([0x45, 0, 0, 0, fields.length + 4]);
  const server = createServer((socket) => socket.once('data', () => socket.end(Buffer.concat([head, fields]))));
  server.listen(0, '127.0.0.1').unref();
  await once(server, 'listening');
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** What is found about the database. */
async function inspect({ url = role.url, ...more }: Use = {}): Promise<readonly NamedFinding[]> {
  const findings = await inspectDatabase(url, more);
  return findings.filter(({ name }) => !['log', 'signing key'].includes(name));
}

/** The URL and further settings. */
type Use = Readonly<Record<string, string>>;

/** The findings of a state that are about something. */
async function found(state: Finding['state'], about: RegExp, use?: Use) {
  return (await inspect(use)).filter((finding) => finding.state === state && about.test(finding.text));
}

const tables = () => database.query(`select tablename from pg_tables where schemaname = 'public'`);

describe('the doctor of a database', () => {
  it('finds nothing to do with the table and the grants of docs/operate.md', async () => {
    await migrateDatabase(database.url, { grantTo: role.name });
    await database.query(
      `insert into clients (client_id, client_secret, client_name, scope) values ('a', '*', 'A', 'read')`,
    );
    const findings = await inspect();
    expect(findings.filter(({ state }) => state !== 'ok')).toEqual([]);
    expect(findings).toEqual([{ name: 'client repository', state: 'ok', text: 'the service can use it' }]);
  });

  it('says that a role may not read the table, and with which command it may', async () => {
    await database.query(CREATE_CLIENTS);
    expect(await found('problem', /may not use table clients/)).toMatchObject([
      { fix: 'npm run migrate -- --grant-to <role>' },
    ]);
    await migrateDatabase(database.url, { grantTo: role.name });
    expect(await found('problem', /./)).toEqual([]);
  });

  it('names columns that are missing or have another type, and the page that has them', async () => {
    await database.query(
      `create table clients (id int, email text, scope char(9)); grant select on clients to ${role.name}`,
    );
    expect(await found('problem', /./)).toMatchObject([
      {
        text: 'table clients has no column id, client_id, client_secret, client_name, scope as the service needs it',
        fix: expect.stringContaining('docs/operate.md, Roles and grants, has the columns'),
      },
    ]);
  });

  it('tells a table that the service will create from one that it may not create, and creates neither', async () => {
    const denied = /table clients does not exist, and the database role may not create it/;
    expect(await found('problem', denied)).toMatchObject([
      { fix: expect.stringMatching(/^npm run migrate -- --grant-to/) },
    ]);
    await database.query(`grant create on schema public to ${role.name}`);
    expect(await found('note', /table clients does not exist yet/)).toMatchObject([
      { fix: expect.stringMatching(/^start the service, which creates it/) },
    ]);
    expect(await found('problem', /./)).toEqual([]);
    await database.query('create table key_ring (sealed text)');
    expect(await found('problem', /./)).toMatchObject([
      {
        text: 'table clients does not exist, and key_ring does',
        fix: expect.stringContaining(BRING_BACK),
      },
    ]);
    await database.query('drop table key_ring');
    expect(await tables()).toEqual([]);
  });

  it('asks for write privileges where replicas share their keys', async () => {
    await database.query(CREATE_CLIENTS);
    await database.query(await createTableSql(KEY_RING));
    await database.query(`grant select on clients, key_ring to ${role.name}`);
    expect(await found('problem', /may not use table key_ring/, SEALED_KEYS)).toHaveLength(1);
    for (const missing of ['insert', 'update', 'delete']) {
      await database.query(`grant insert, update, delete on key_ring to ${role.name}`);
      expect(await found('problem', /./, SEALED_KEYS)).toEqual([]);
      await database.query(`revoke ${missing} on key_ring from ${role.name}`);
      expect(await found('problem', /may not use table key_ring/, SEALED_KEYS)).toHaveLength(1);
    }
  });

  it('notes a table without a client', async () => {
    await database.query(CREATE_CLIENTS);
    expect(await found('note', /no client is registered/, { url: database.url })).toMatchObject([
      { fix: expect.stringContaining('npm run clients -- add') },
    ]);
  });

  it('keeps what it has found if a table is locked, and says so', async () => {
    await database.query(CREATE_CLIENTS);
    await database.query(`grant select on clients to ${role.name}`);
    const holder = new pg.Client({ connectionString: database.url });
    await holder.connect();
    try {
      await holder.query('begin; lock table clients in access exclusive mode');
      const findings = await inspect();
      expect(findings.map(({ state }) => state)).toEqual(['problem']);
      expect(findings.at(-1)?.text).toMatch(/: another session has locked a table \(55P03\)$/);
      const [, findHolder = ''] = /find it: (select .*?);/.exec(findings.at(-1)?.fix ?? '') ?? [];
      const { rows } = await holder.query('select pg_backend_pid() as pid');
      expect((await database.query(findHolder)).map(({ pid }) => pid)).toContain(rows[0].pid);
    } finally {
      await holder.end();
    }
  });

  it('says that the role may have no further connection, and how to raise the limit', async () => {
    try {
      await database.query(`alter role ${role.name} connection limit 0`);
      expect(await inspect()).toEqual([
        {
          name: 'client repository',
          state: 'problem',
          text: expect.stringMatching(/no connection is left \(53300\)/),
          fix: expect.stringContaining('connection limit'),
        },
      ]);
    } finally {
      await database.query(`alter role ${role.name} connection limit -1`);
    }
  });

  it('says that a role that is read-only by default will create no table', async () => {
    const name = new URL(database.url).pathname.slice(1);
    await database.query(`grant create on schema public to ${role.name}`);
    await database.query(`alter database ${name} set default_transaction_read_only = on`);
    try {
      expect(await found('problem', /the database role may not create it/)).toHaveLength(1);
      await runAt(role.url, `set transaction_read_only = off; ${CREATE_CLIENTS}`);
    } finally {
      await runAt(new URL('/postgres', database.url).href, `alter database ${name} reset all`);
    }
  });

  it('says that row-level security hides all rows, and with which statement it does not', async () => {
    await migrateDatabase(database.url, { grantTo: role.name });
    await database.query(
      `insert into clients (client_id, client_secret, client_name, scope) values ('a', '*', 'A', 'read')`,
    );
    await database.query('alter table clients enable row level security');
    // Neither gives the role a row.
    await database.query('create policy writers on clients for insert with check (true)');
    await database.query('create policy owners on clients as restrictive using (true)');
    await database.query('create policy others on clients to pg_monitor using (true)');
    const problems = await found('problem', /./);
    expect(problems.map(({ text }) => text)).toEqual([
      'row-level security of table clients hides all rows from the database role',
    ]);
    for (const { fix = '' } of problems) await database.query(fix);
    expect(await found('problem', /./)).toEqual([]);
  });

  it('says that the role may not connect', async () => {
    const name = new URL(database.url).pathname.slice(1);
    await database.query(`revoke connect on database ${name} from public`);
    const findings = await inspect();
    await database.query(`grant connect on database ${name} to public`);
    expect(findings).toMatchObject([
      {
        state: 'problem',
        text: expect.stringContaining('the role lacks a privilege (42501)'),
        fix: expect.stringContaining('grant connect'),
      },
    ]);
  });

  it.each([
    ['ECONNREFUSED', async (url: URL) => (url.port = String(await freePort())), /nothing listens there/],
    // A label of 64 characters: no name server is asked, which may be slow.
    ['ENOTFOUND', async (url: URL) => (url.hostname = `${'a'.repeat(64)}.invalid`), /the host has no address/],
    ['28P01', async (url: URL) => (url.password = 'its-secret'), /its password is wrong/],
    ['3D000', async (url: URL) => (url.pathname = '/no_such_database'), /the database does not exist/],
    ['another program', async (url: URL) => (url.host = await closingPlace()), /perhaps it is not PostgreSQL/],
    [
      '08P01',
      async (url: URL) => (url.host = await refusingPlace('08P01', 'unsupported startup parameter: statement_timeout')),
      /the proxy in front of it refuses what the service sends when it connects \(08P01\)/,
    ],
    ['TLS', async (url: URL) => (url.search = 'sslmode=require'), /the server has no TLS/],
  ])('says what to do about a connection that fails (%s), and shows no password', async (_code, change, text) => {
    const url = new URL(role.url);
    await change(url);
    const findings = await inspect({ url: url.href });
    expect(findings).toMatchObject([{ state: 'problem', text: expect.stringMatching(text), fix: expect.any(String) }]);
    expect(JSON.stringify(findings)).not.toMatch(/its-secret|:pw@/);
  });
});
