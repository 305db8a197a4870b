import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { CLIENTS } from '../../../adapters/postgres/client-entity.ts';
import { openConnection } from '../../../adapters/postgres/connection.ts';
import type { DatabaseLine } from '../../../adapters/postgres/database-log.ts';
import { KEY_RING } from '../../../adapters/postgres/key-directory/postgres-key-ring.ts';
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
    expect(await migrateDatabase(url)).toEqual([
      'Created: clients',
      'Created: used_assertions',
      'Created: revocations',
      'Created: last_used',
    ]);
    expect(await migrateDatabase(url)).toEqual([]);
    const clients = clientsInProcess(url);
    expect((await clients(['add', 'one', '--name', 'One', '--scope', 'read', '--cost', '4'])).exitCode).toBe(0);
    await using opened = await open(url);
    expect((await opened.repository.findByClientId('one', 'an-id')).kind).toBe('found');
    expect(await tablesIn(schema)).toEqual(['clients', 'last_used', 'revocations', 'used_assertions']);
    expect(await tablesIn('public')).toEqual([]);
  });

  it('may have the table clients in one schema and the others in another', async () => {
    await database.query(`create schema crm; create schema auth; create table crm.clients ${CLIENTS_TABLE}`);
    await database.query(`create table public.clients ${CLIENTS_TABLE}`);
    const url = withPath('nowhere, auth, crm, public');
    expect(await migrateDatabase(url, { created: [KEY_RING] })).toEqual([
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

describe('a schema of the search path in which other roles may create objects', () => {
  it('is reported by the service when it starts, and by the doctor with the statement that changes it', async () => {
    const [role, other] = [await database.createRole(), await database.createRole()];
    await database.query(`create schema shared; create table shared.clients ${CLIENTS_TABLE};
      grant usage, create on schema shared to public, ${role.name}, ${other.name}, current_user;
      grant select on shared.clients to ${role.name}`);
    const url = withPath('shared', role.url);
    const found = async () => {
      const lines: DatabaseLine[] = [];
      await (await open(url, (line) => lines.push(line))).close();
      const fixes = (await inspectDatabase(url)).map(({ fix }) => fix ?? '');
      return { lines, revokes: fixes.filter((fix) => fix.startsWith('revoke create')) };
    };
    const { lines, revokes } = await found();
    const fix = `revoke create on schema shared from public, ${other.name};`;
    expect(lines).toEqual([{ event: 'schema_shared', schema: 'shared', roles: `public, ${other.name}`, fix }]);
    expect(revokes).toEqual([fix]);
    await database.query(revokes[0] ?? '');
    expect(await found()).toEqual({ lines: [], revokes: [] });
    for (const { name } of [role, other]) await database.query(`drop owned by ${name}`);
  });
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

type Deployment = Awaited<ReturnType<typeof openDeployment>>;

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

  it('a role that may create in a schema stays reported when it has created a table there', async () => {
    await using deployment = await openDeployment();
    const { service, owner, stranger, start, inspect, query } = deployment;
    await query(`${createClients('public')}; grant select on clients to ${service.name};
      create schema app authorization ${owner.name}; alter table clients owner to ${owner.name};
      alter schema public owner to ${owner.name}; grant usage on schema app to public;
      grant create on schema app to ${stranger.name}; alter role ${service.name} set search_path = app, public`);
    const before = await inspect();
    expect(before).toEqual([`schema_shared: ${JSON.stringify({ schema: 'app', roles: stranger.name })}`]);
    await runAt(stranger.url, `${createClients('app')}; grant select on app.clients to public`);
    expect(await inspect()).toEqual(before);
    await using opened = await start();
    expect(opened.lines).toMatchObject([{ event: 'schema_shared', schema: 'app', roles: stranger.name }]);
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

describe('a set-up in which nobody else has been given the right to create a table', () => {
  const HONEST: Readonly<Record<string, (deployment: Deployment) => readonly string[]>> = {
    'the owner of the database creates and owns all tables': ({ name, owner }) => [
      `alter database ${name} owner to ${owner.name}`,
    ],
    'the owner of clients owns the schema, and has all privileges on the database': ({ name, owner }) => [
      `alter schema public owner to ${owner.name}; grant all on database ${name} to ${owner.name}`,
    ],
    'the owner of clients has its own schema': ({ owner, service }) => [
      `create schema app authorization ${owner.name}; grant usage on schema app to ${service.name};
      alter role ${owner.name} set search_path = app; alter role ${service.name} set search_path = app`,
    ],
    'the service uses the role of the owner of the database': ({ name, owner, service }) => [
      `alter database ${name} owner to ${service.name}; grant ${service.name} to ${owner.name}`,
    ],
    'the tables belong to a group, and its fields create them': ({ name, owner, service }) => [
      `create role group_${owner.name}; grant group_${owner.name} to ${owner.name}, ${service.name};
      create schema app authorization group_${owner.name}; alter role ${owner.name} set role = group_${owner.name};
      alter role ${owner.name} in database ${name} set search_path = app;
      alter role ${service.name} in database ${name} set search_path = app`,
    ],
    'the owner of the database belongs to the owner of the schema': ({ name, owner, service, stranger }) => [
      `alter database ${name} owner to ${owner.name}; grant ${stranger.name} to ${owner.name};
      create schema data authorization ${stranger.name}; grant usage on schema data to ${service.name};
      alter role ${owner.name} set search_path = data; alter role ${service.name} set search_path = data`,
    ],
    'a superuser owns everything': ({ owner }) => [`alter role ${owner.name} superuser`],
  };

  it.each(Object.keys(HONEST))('%s', async (name) => {
    await using deployment = await openDeployment();
    const { owner, service, start, inspect, query } = deployment;
    for (const statement of HONEST[name]?.(deployment) ?? []) await query(statement);
    await migrateDatabase(owner.url);
    const clients = clientsInProcess(owner.url);
    expect((await clients(['add', 'one', '--name', 'One', '--scope', 'read', '--cost', '4'])).exitCode).toBe(0);
    expect(await migrateDatabase(owner.url)).toEqual([]);
    await runAt(owner.url, `grant select on clients to ${service.name}`);
    await using opened = await start();
    expect(opened.lines.filter(({ event }) => event !== 'role_may_write_clients')).toEqual([]);
    expect((await inspect()).filter((text) => !text.startsWith('role_may_write_clients'))).toEqual([]);
  });
});
