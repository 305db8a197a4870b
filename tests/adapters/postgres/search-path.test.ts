import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { CLIENTS } from '../../../adapters/postgres/client-entity.ts';
import { openConnection } from '../../../adapters/postgres/connection.ts';
import { inspectDatabase } from '../../../adapters/postgres/doctor/inspect-database.ts';
import type { DatabaseLine } from '../../../adapters/postgres/health.ts';
import { migrateDatabase } from '../../../adapters/postgres/migrate-database.ts';
import { runStatement } from '../../../adapters/postgres/runner.ts';
import { TABLES } from '../../support/database-tables.ts';
import { isInstalled } from '../../support/installed.ts';
import { startPgBouncer } from '../../support/pg-bouncer.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';
import { clientsInProcess } from '../cli/clients-program.ts';
import { openRepository } from './open-repository.ts';

const CLIENTS_TABLE = `(id bigint generated always as identity, client_id text unique, client_secret text, client_name text, scope text)`;

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

const connect = (url: string) => openConnection({ url, poolSize: 1, deadlineMs: 10_000 }, CLIENTS.schema);

async function tablesIn(schema: string): Promise<readonly unknown[]> {
  const rows = await database.query(`select tablename from pg_tables where schemaname = $1 order by 1`, [schema]);
  return rows.map(({ tablename }) => tablename);
}

describe('the search path of the role or the URL', () => {
  it.each(['app', `Ben's "schema"`])('says in which schema every table is created and found: %s', async (schema) => {
    const quoted = `"${schema.replaceAll('"', '""')}"`;
    await database.query(`create schema ${quoted}`);
    const url = withPath(quoted);
    expect(await migrateDatabase(url)).toHaveLength(3);
    expect(await migrateDatabase(url)).toEqual([]);
    const clients = clientsInProcess(url);
    expect((await clients(['add', 'one', '--name', 'One', '--scope', 'read', '--cost', '4'])).exitCode).toBe(0);
    await using opened = await open(url);
    expect((await opened.repository.findByClientId('one', 'an-id')).kind).toBe('found');
    expect(await opened.repository.countExpiring()).toEqual({ secrets: 0, keys: 0 });
    expect(await tablesIn(schema)).toEqual(expect.arrayContaining(['client_secrets', 'clients', 'used_assertions']));
    expect(await tablesIn('public')).toEqual([]);
  });

  it('may have the table clients in one schema and the others in another', async () => {
    await database.query(`create schema crm; create schema auth; create table crm.clients ${CLIENTS_TABLE}`);
    await database.query(`create table public.clients ${CLIENTS_TABLE}`);
    const url = withPath('nowhere, auth, crm, public');
    expect(await migrateDatabase(url)).toHaveLength(3);
    await database.query(
      `insert into crm.clients (client_id, client_secret, client_name, scope) values ('a', '*', 'A', 'read')`,
    );
    await using opened = await open(url);
    expect((await opened.repository.findByClientId('a', 'an-id')).kind).toBe('found');
    expect(await tablesIn('auth')).toContain('client_secrets');
    await database.query('drop table public.clients');
  });

  it('is replaced on each connection, also on one that takes the place of a broken one', async () => {
    const connection = await connect(withPath('crm'));
    const show = async () => {
      const [row] = await runStatement<Record<string, unknown>>(connection, {
        text: `select pg_catalog.current_setting('search_path') as path, pg_catalog.pg_backend_pid() as pid,
          '$schema.clients'::regclass::text as "table"`,
      });
      return row;
    };
    const before = await show();
    await database.query('select pg_terminate_backend($1)', [before?.['pid']]);
    const after = await show();
    await connection.close();
    expect(after?.['pid']).not.toBe(before?.['pid']);
    for (const row of [before, after]) expect(row).toMatchObject({ path: 'pg_catalog, pg_temp', table: 'crm.clients' });
  });

  it('does not find the operators of an extension: a column of type citext is compared as text', async () => {
    await database.query(`create schema insensitive; create extension citext schema insensitive`);
    await database.query(
      `create table insensitive.clients ${CLIENTS_TABLE.replace('client_id text', 'client_id insensitive.citext')}`,
    );
    await database.query(
      `insert into insensitive.clients (client_id, client_secret, client_name, scope) values ('a', '*', 'A', 'read')`,
    );
    await using opened = await open(withPath('insensitive'));
    expect((await opened.repository.findByClientId('a')).kind).toBe('found');
    expect((await opened.repository.findByClientId('A')).kind).toBe('unknown');
    await database.query(`create unique index by_text on insensitive.clients ((client_id::text))`);
    await database.query('set enable_seqscan = off');
    const plan = await database.query(
      `explain select from insensitive.clients where client_id operator(pg_catalog.=) 'a'`,
    );
    expect(JSON.stringify(plan)).toContain('by_text');
  });

  (isInstalled('pgbouncer') ? it : it.skip)(
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
        expect(await connection.searchPath()).toEqual(['crm']);
        expect(await runStatement(connection, { text: 'select client_id from $schema.clients' })).toHaveLength(1);
        await connection.close();
      }
      await database.query(`drop owned by ${role.name}`);
    },
  );
});

describe('a schema of the search path in which other roles may create objects', () => {
  it('is reported by the service when it starts, and by the doctor with the statement that changes it', async () => {
    const [role, other] = [await database.createRole(), await database.createRole()];
    await database.query(`create schema shared; create table shared.clients ${CLIENTS_TABLE};
      grant usage, create on schema shared to public, ${role.name}, ${other.name}, current_user;
      grant select on shared.clients to ${role.name}`);
    const url = withPath('shared', role.url);
    const use = { hasKeys: false, tables: TABLES.ofSecrets, connections: 1 };
    const found = async () => {
      const lines: DatabaseLine[] = [];
      await (await open(url, (line) => lines.push(line))).close();
      const cures = (await inspectDatabase({ ...use, url })).map(({ cure }) => cure ?? '');
      return { lines, revokes: cures.filter((cure) => cure.startsWith('revoke create')) };
    };
    const { lines, revokes } = await found();
    expect(lines).toEqual([{ event: 'schema_shared', schema: 'shared', roles: `public, ${other.name}` }]);
    expect(revokes).toEqual([`revoke create on schema shared from public, ${other.name};`]);
    await database.query(revokes[0] ?? '');
    expect(await found()).toEqual({ lines: [], revokes: [] });
    for (const { name } of [role, other]) await database.query(`drop owned by ${name}`);
  });

  it('is not reported for the owner of the table clients, who may change every registration anyway', async () => {
    const owner = await database.createRole();
    await database.query(`create schema owned; grant usage, create on schema owned to ${owner.name};
      create table owned.clients ${CLIENTS_TABLE}; alter table owned.clients owner to ${owner.name}`);
    const lines: DatabaseLine[] = [];
    await (await open(withPath('owned'), (line) => lines.push(line))).close();
    expect(lines).toEqual([]);
    await database.query(`drop owned by ${owner.name}`);
  });
});
