import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { openConnection } from '../../../adapters/postgres/connection.ts';
import type { DatabaseLine } from '../../../adapters/postgres/database-log.ts';
import { migrateDatabase } from '../../../adapters/postgres/migrate-database.ts';
import { runStatement } from '../../../adapters/postgres/runner.ts';
import { inspectDatabase } from '../../support/inspect-database.ts';
import { isInstalled, where } from '../../support/installed.ts';
import { startPgBouncer } from '../../support/pg-bouncer.ts';
import { runAt } from '../../support/run-at.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';
import { clientsInProcess } from '../cli/clients-program.ts';
import { openRepository } from './open-repository.ts';

const CLIENTS_TABLE = `(id bigint generated always as identity, client_id text not null unique, client_secret text not null,
  client_name text not null, scope text not null)`;

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
}, 120_000);
afterAll(() => database.drop());

/** The URL with a search path, as a deployment may have it. */
function withPath(path: string, url = database.url): string {
  return Object.assign(new URL(url), {
    search: `?options=${encodeURIComponent(`-c search_path=${path.replaceAll(' ', '\\ ')}`)}`,
  }).href;
}

const open = (url: string, log?: (line: DatabaseLine) => void) =>
  openRepository({ url, poolSize: 1, deadlineMs: 10_000 }, log);

const connect = (url: string) => openConnection({ url, poolSize: 1, deadlineMs: 10_000 });

async function tablesIn(schema: string): Promise<readonly unknown[]> {
  const rows = await database.query(`select tablename from pg_tables where schemaname = $1 order by 1`, [schema]);
  return rows.map(({ tablename }) => tablename);
}

describe('the search path of the role or the URL', () => {
  it.each(['app', `Ben's "schema"`])('says in which schema every table is created and found: %s', async (schema) => {
    const quoted = `"${schema.replaceAll('"', '""')}"`;
    await database.query(`create schema ${quoted}`);
    const url = withPath(quoted);
    expect(await migrateDatabase(url)).toEqual([
      'Created: clients',
      'Created: used_assertions',
      'Created: revocations',
      'Created: last_used',
      'Created: key_ring',
    ]);
    expect(await migrateDatabase(url)).toEqual([]);
    const clients = clientsInProcess(url);
    expect((await clients(['add', 'one', '--name', 'One', '--scope', 'read', '--cost', '4'])).exitCode).toBe(0);
    await using opened = await open(url);
    expect((await opened.repository.findByClientId('one', 'an-id')).kind).toBe('found');
    expect(await tablesIn(schema)).toEqual(['clients', 'key_ring', 'last_used', 'revocations', 'used_assertions']);
    expect(await tablesIn('public')).toEqual([]);
  });

  it('may have the table clients in one schema and the others in another', async () => {
    await database.query(`create schema crm; create schema auth; create table crm.clients ${CLIENTS_TABLE}`);
    await database.query(`create table public.clients ${CLIENTS_TABLE}`);
    const url = withPath('nowhere, auth, crm, public');
    expect(await migrateDatabase(url)).toEqual([
      'Created: used_assertions',
      'Created: revocations',
      'Created: last_used',
      'Created: key_ring',
      'Added: the columns of clients',
      'Added: an index of id in clients',
    ]);
    await database.query(
      `insert into crm.clients (client_id, client_secret, client_name, scope) values ('a', '*', 'A', 'read')`,
    );
    await using opened = await open(url);
    expect((await opened.repository.findByClientId('a', 'an-id')).kind).toBe('found');
    expect(await tablesIn('auth')).toEqual(['key_ring', 'last_used', 'revocations', 'used_assertions']);
    await database.query('drop table public.clients');
  });

  it('is replaced on each connection, also on one that takes the place of a broken one', async () => {
    const connection = await connect(withPath('crm'));
    const show = async () => {
      const [row] = await runStatement<Record<string, unknown>>(connection, {
        text: `select pg_catalog.current_setting('search_path') as path, pg_catalog.pg_backend_pid() as pid,
          pg_catalog.to_regclass('clients')::text as "table"`,
      });
      return row;
    };
    const before = await show();
    await database.query('select pg_terminate_backend($1)', [before?.['pid']]);
    const after = await show();
    await connection.close();
    expect(after?.['pid']).not.toBe(before?.['pid']);
    for (const row of [before, after]) expect(row).toMatchObject({ path: 'crm, pg_temp', table: 'clients' });
  });

  where(isInstalled('pgbouncer'), it)(
    'is that of the role for each session that a pooler runs on one connection',
    async () => {
      const role = await database.createRole();
      await database.query(`grant usage on schema crm to ${role.name}; grant select on crm.clients to ${role.name};
      alter role ${role.name} set search_path = crm`);
      await using pooler = await startPgBouncer(role.url, {
        pool_mode: 'transaction',
        default_pool_size: '1',
        ignore_startup_parameters: 'statement_timeout,lock_timeout',
      });
      for (const _ of [1, 2]) {
        const connection = await connect(pooler.url);
        expect((await connection.searchPath()).schemas).toEqual(['crm']);
        expect(await runStatement(connection, { text: 'select client_id from clients' })).toHaveLength(1);
        await connection.close();
      }
      await database.query(`drop owned by ${role.name}`);
    },
  );
});

/** A database of its own, with the role of the service, an owner of tables, and a role that nobody has to trust. */
async function openDeployment() {
  const own = await createTestDatabase();
  const [service, owner, stranger] = [await own.createRole(), await own.createRole(), await own.createRole()];
  const name = new URL(own.url).pathname.slice(1);
  const close = async () => {
    for (const role of [service, owner, stranger]) {
      await own.query(`reassign owned by ${role.name} to current_user; drop owned by ${role.name}`);
    }
    await own.drop();
  };
  const start = async (url = service.url, poolSize = 1) => {
    const lines: DatabaseLine[] = [];
    const opened = await openRepository({ url, poolSize, deadlineMs: 10_000 }, (line) => lines.push(line));
    return Object.assign(opened, { lines });
  };
  /** What the doctor notes of schemas and owners. */
  const inspect = async (url = service.url) => {
    const findings = await inspectDatabase(url);
    return findings.flatMap(({ name, state, text }) => (name === 'log' && state === 'note' ? [text] : []));
  };
  const dispose = { [Symbol.asyncDispose]: close };
  return { ...own, name, service, owner, stranger, start, inspect, ...dispose };
}

const createClients = (schema: string, name = 'B') => `create table ${schema}.clients ${CLIENTS_TABLE};
  insert into ${schema}.clients (client_id, client_secret, client_name, scope) values ('billing', '*', '${name}', 'read')`;

describe('tables and schemas of a stranger', () => {
  it('in a schema that appears later do not take the place of those that a running service uses', async () => {
    await using deployment = await openDeployment();
    const { service, stranger, start, query, name } = deployment;
    await query(`${createClients('public')}; grant select on clients to ${service.name};
      grant create on database ${name} to ${stranger.name}`);
    await using running = await start(service.url, 4);
    const found = async () => {
      const looked = await Promise.all(
        Array.from({ length: 8 }, () => running.repository.findByClientId('billing', 'an-id')),
      );
      return new Set(
        looked.map((response) => (response.kind === 'found' ? response.registration.clientName : response.kind)),
      );
    };
    expect(await found()).toEqual(new Set(['B']));
    await runAt(
      stranger.url,
      `create schema ${service.name}; ${createClients(service.name, 'Stranger')};
      grant usage on schema ${service.name} to public; grant select on ${service.name}.clients to public`,
    );
    await query('select pg_terminate_backend(pid) from pg_stat_activity where usename = $1', [service.name]);
    expect(await found()).toEqual(new Set(['B']));
  });

  it('a search path with other schemas before pg_catalog is reported', async () => {
    await using deployment = await openDeployment();
    const { service, start, inspect, query } = deployment;
    await query(`${createClients('public')}; grant select on clients to ${service.name}`);
    const set = (path: string) => query(`alter role ${service.name} set search_path = ${path}`);
    await set('public, pg_catalog');
    {
      await using opened = await start();
      expect(opened.lines).toMatchObject([{ event: 'search_path_unsafe', search_path: 'public, pg_catalog' }]);
    }
    expect(await inspect()).toEqual([expect.stringMatching(/^search_path_unsafe: /)]);
    for (const path of ['pg_catalog, public', 'public']) {
      await set(path);
      expect(await inspect()).toEqual([]);
    }
  });
});
