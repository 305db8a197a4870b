import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import bcrypt from 'bcrypt';
import { migrateTables } from '../../config/programs/migrate-tables.ts';
import { A_CLIENT } from '../contracts/client-repository.ts';
import { CREATE_CLIENTS, clientsTable } from '../support/clients-table.ts';
import { requestToken } from '../support/http.ts';
import { runProgram } from '../support/program.ts';
import { runInProcess } from '../support/run-in-process.ts';
import { SEALED_KEYS } from '../support/sealed-keys.ts';
import { startServiceProcess } from '../support/service-process.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { until } from '../support/until.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
}, 120_000);
afterAll(() => database.drop());

/** `npm run migrate`, in this process. */
function migrate(url: string, args: readonly string[] = []) {
  return runInProcess(migrateTables, args, { DATABASE_URL: url });
}

/** The same as its own process. */
async function startMigrate(url: string) {
  await using program = runProgram('config/migrate.ts', { DATABASE_URL: url });
  const exitCode = await program.ended();
  return { exitCode, stdout: program.stdout(), stderr: program.stderr() };
}

async function tables(): Promise<readonly unknown[]> {
  const rows = await database.query(`select table_name::text as name from information_schema.tables
    where table_schema = 'public' order by 1`);
  return rows.map(({ name }) => name);
}

describe('npm run migrate', () => {
  it('refuses to run without a database URL, and prints no part of one that is unusable', async () => {
    expect(await migrate('')).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('DATABASE_URL') });
    const refused = await startMigrate('postgresql://auth:its-password@127.0.0.1:1/none');
    expect(refused.exitCode).toBe(3);
    expect(refused.stderr).toMatch(/^The database cannot be migrated: .*ECONNREFUSED/);
    expect(refused.stderr + refused.stdout).not.toContain('its-password');
  });

  it('refuses arguments that it does not know, and explains itself', async () => {
    expect((await migrate(database.url, ['--down'])).exitCode).toBe(2);
    expect((await migrate(database.url, ['now'])).exitCode).toBe(2);
    const help = await migrate('', ['--help']);
    expect(help).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('Exit codes') });
    expect(await tables()).toEqual([]);
  });

  it('says which right the role lacks, and changes nothing', async () => {
    const role = await database.createRole();
    const refused = await migrate(role.url);
    expect(refused.exitCode).toBe(3);
    expect(refused.stderr).toMatch(/permission denied for schema public; a role that may, .*: create table "clients"/);
    expect(await tables()).toEqual([]);
  });

  it('creates each table once, although several programs run at the same time', async () => {
    const runs = await Promise.all(Array.from({ length: 3 }, () => startMigrate(database.url)));
    expect(runs.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0]);
    const texts = runs.map(({ stderr }) => stderr).toSorted();
    expect(texts.filter((text) => text === 'The database is up to date.\n')).toHaveLength(2);
    const [report, ...others] = texts.filter((text) => text.includes('Created: clients\n'));
    expect(others).toEqual([]);
    expect(report).toMatch(/^If the service has its own role, .* --grant-to <role>\.$/m);
    expect(await tables()).toEqual(['clients', 'key_ring', 'last_used', 'revocations', 'used_assertions']);
    expect(await migrate(database.url)).toEqual({ exitCode: 0, stdout: '', stderr: 'The database is up to date.\n' });
  });

  it('creates a table again that somebody has dropped, and leaves the others alone', async () => {
    await migrate(database.url);
    await clientsTable(database).add(A_CLIENT);
    await database.query('drop table used_assertions');
    expect(await migrate(database.url)).toMatchObject({
      exitCode: 0,
      stderr: expect.stringContaining('Created: used_assertions\n'),
    });
    expect(await database.query('select from clients')).toHaveLength(1);
    expect(await migrate(database.url)).toMatchObject({ exitCode: 0, stderr: 'The database is up to date.\n' });
  });

  it('creates no empty table clients where one was lost, and says to bring it back', async () => {
    await migrate(database.url);
    await database.query('alter table clients rename to clients_elsewhere');
    const before = await tables();
    for (const args of [[], ['--dry-run']]) {
      const { exitCode, stdout, stderr } = await migrate(database.url, args);
      expect([exitCode, stdout]).toEqual([3, '']);
      expect(stderr).toMatch(
        /table clients does not exist, and used_assertions, revocations, last_used, key_ring do: bring it back/,
      );
    }
    expect(await tables()).toEqual(before);
    await database.query('alter table clients_elsewhere rename to clients');
    expect(await migrate(database.url)).toMatchObject({ exitCode: 0, stderr: 'The database is up to date.\n' });
  });

  it('refuses a table clients that lacks a column or has another shape, and says what the service would say', async () => {
    await migrate(database.url);
    const expected = 'The database cannot be migrated: table clients has no column scope as the service needs it';
    for (const [change, back] of [
      ['rename scope to scopes', 'rename scopes to scope'],
      ['alter scope drop not null', 'alter scope set not null'],
    ] as const) {
      await database.query(`alter table clients ${change}`);
      for (const args of [[], ['--dry-run']]) {
        const { exitCode, stdout, stderr } = await migrate(database.url, args);
        expect([exitCode, stdout]).toEqual([3, '']);
        expect(stderr).toContain(expected);
      }
      await database.query(`alter table clients ${back}`);
    }
    expect(await migrate(database.url)).toMatchObject({ exitCode: 0, stderr: 'The database is up to date.\n' });
  });

  it('does not disturb a service that runs: it goes on with its one secret for each client, also while it finds the new column', async () => {
    const other = await createTestDatabase();
    const settings = { CLIENT_REPOSITORY: 'postgres', DATABASE_URL: other.url, CLIENT_SECRET_COST: '4' };
    await other.query(`${CREATE_CLIENTS}; alter table clients drop column credentials, drop column details`);
    const service = await startServiceProcess(settings);
    await clientsTable(other).add({ ...A_CLIENT, clientSecret: await bcrypt.hash('an-id.its-secret', 4) });
    const ask = () =>
      requestToken(service.url, {
        grant_type: 'client_credentials',
        client_id: A_CLIENT.clientId,
        client_secret: 'an-id.its-secret',
      });
    expect((await ask()).status).toBe(200);
    let migrated = false;
    const migration = startMigrate(other.url).finally(() => {
      migrated = true;
    });
    const statuses: number[] = [];
    while (!migrated) statuses.push((await ask()).status);
    expect((await migration).exitCode).toBe(0);
    for (let count = 0; count < 10; count += 1) statuses.push((await ask()).status);
    expect(new Set(statuses)).toEqual(new Set([200]));
    await service.program[Symbol.asyncDispose]();
    await other.drop();
  });

  it('changes nothing of a table clients that another application may own, except that it adds its columns', async () => {
    await database.query('drop table clients');
    await database.query(`create table clients (id integer not null, client_id text not null unique, client_secret text not null,
      client_name text not null, scope text not null, ours integer)`);
    expect((await migrate(database.url)).exitCode).toBe(0);
    const columns = await database.query(`select column_name::text as name from information_schema.columns
      where table_name = 'clients' order by ordinal_position`);
    const given = ['id', 'client_id', 'client_secret', 'client_name', 'scope', 'ours'];
    expect(columns.map(({ name }) => name)).toEqual([...given, 'credentials', 'details']);
  });

  describe('with --grant-to', () => {
    const KEYS = {
      ...SEALED_KEYS,
      KEY_PUBLICATION_SECONDS: '1',
      MANAGEMENT_TOKEN: 'a-token-of-32-characters-or-more',
    };
    let own: TestDatabase;
    beforeAll(async () => {
      own = await createTestDatabase();
    });
    afterAll(() => own.drop());

    it('gives the role of the service and that of the program what they need, and nothing else', async () => {
      const [service, clients] = [await own.createRole(), await own.createRole()];
      const first = await migrate(own.url, ['--grant-to', service.name]);
      expect(first).toMatchObject({
        exitCode: 0,
        stderr: expect.stringMatching(/^Created: clients$[\s\S]*^Granted: select \(id, /m),
      });
      expect((await migrate(own.url, ['--grant-to', clients.name, '--role-for', 'clients'])).exitCode).toBe(0);
      for (const args of [['--grant-to', service.name], ['--grant-to', clients.name, '--role-for', 'clients'], []]) {
        expect(await migrate(own.url, args)).toMatchObject({ exitCode: 0, stderr: 'The database is up to date.\n' });
      }

      await using added = runProgram('config/clients.ts', { DATABASE_URL: clients.url }, [
        ...['add', 'billing', '--name', 'Billing', '--scope', 'read', '--cost', '4', '--json'],
        ...['--resource', 'https://api.example'],
      ]);
      expect(await added.ended()).toBe(0);
      const { client_secret } = JSON.parse(added.stdout());
      const methods = 'client_secret_post,private_key_jwt';
      const settings = { CLIENT_REPOSITORY: 'postgres', CLIENT_AUTHENTICATION_METHODS: methods, ...KEYS };
      const running = await startServiceProcess({ ...settings, DATABASE_URL: service.url });
      const request = {
        grant_type: 'client_credentials',
        client_id: 'billing',
        client_secret,
        resource: 'https://api.example',
      };
      expect((await requestToken(running.url, request)).status).toBe(200);
      await running.program[Symbol.asyncDispose]();

      await using refused = runProgram('config/clients.ts', { DATABASE_URL: service.url }, ['remove', 'billing']);
      expect(await refused.ended()).toBe(3);
      expect(refused.stderr()).toContain('permission denied');
      await using keys = runProgram('config/keys.ts', { DATABASE_URL: clients.url }, ['list']);
      expect(await keys.ended()).toBe(3);
    });

    it('does nothing where npm has kept --dry-run for itself', async () => {
      const settings = { DATABASE_URL: database.url, npm_config_dry_run: 'true' };
      expect(await runInProcess(migrateTables, [], settings)).toMatchObject({
        exitCode: 2,
        stderr: 'npm has kept --dry-run for itself: write two dashes before the command, npm run migrate -- …\n',
      });
    });

    it('prints with --dry-run what a person can run, and changes nothing', async () => {
      const other = await createTestDatabase();
      const role = await other.createRole();
      const args = ['--grant-to', role.name];
      const { exitCode, stdout } = await migrate(other.url, [...args, '--dry-run']);
      expect([exitCode, stdout.startsWith('begin;\n'), stdout.endsWith('\ncommit;\n')]).toEqual([0, true, true]);
      expect(await other.query(`select from pg_catalog.pg_tables where schemaname = 'public'`)).toEqual([]);
      await other.query(stdout);
      expect(await migrate(other.url, args)).toMatchObject({ exitCode: 0, stderr: 'The database is up to date.\n' });
      await other.drop();
    });

    it('says what to do if there is no such role, whatever its name is', async () => {
      const name = `nobody"; drop table clients; --`;
      const { exitCode, stderr } = await migrate(own.url, ['--grant-to', name]);
      expect(exitCode).toBe(3);
      expect(stderr).toContain('does not exist: create role "nobody""; drop table clients; --" login password');
    });

    it('names the statements that the owner has to run if clients belongs to another role', async () => {
      const other = await createTestDatabase();
      const [owner, migrator, service] = [await other.createRole(), await other.createRole(), await other.createRole()];
      await other.query(`${CREATE_CLIENTS}; alter table clients drop column credentials, drop column details;
        alter table clients owner to ${owner.name}; grant create, usage on schema public to ${migrator.name}, ${owner.name}`);
      const args = ['--grant-to', service.name];
      const refusedWith = async (options: readonly string[]) => {
        const refused = await migrate(migrator.url, options);
        expect([refused.exitCode, refused.stdout]).toEqual([3, '']);
        return /such as the owner, has to run: (.*;)$/m.exec(refused.stderr)?.[1] ?? refused.stderr;
      };
      const statements = await refusedWith(args);
      expect(statements).toMatch(
        /alter table clients add column credentials .*; create index .*; comment on .*; grant select \(id, .*\) on clients to ".*";/,
      );
      // As the warning of a role that may not pass on its privileges, which PostgreSQL takes for a success.
      await other.query(`grant select on clients to ${migrator.name}`);
      await refusedWith(args);
      await other.query(`set role ${owner.name}; ${statements} reset role`);
      expect(await migrate(migrator.url, args)).toMatchObject({ exitCode: 0 });
      await other.drop();
    });

    it('says what to do if no schema of the search path is there, and grants the use of one once', async () => {
      const other = await createTestDatabase();
      const role = await other.createRole();
      const url = `${other.url}?options=-c%20search_path%3Dauth`;
      const args = ['--grant-to', role.name];
      const refused = await migrate(url, args);
      expect([refused.exitCode, refused.stderr]).toEqual([3, expect.stringContaining('create schema "auth";')]);
      await other.query(`create schema auth;
        create table auth.clients (id bigint not null, client_id text not null unique, client_secret text not null,
          client_name text not null, scope text not null)`);
      const { stdout } = await migrate(url, [...args, '--dry-run']);
      expect(stdout.match(/usage on schema/g)).toHaveLength(1);
      await other.drop();
    });

    it('needs no restart: a service that runs without the column uses it, also with a role that may read only columns', async () => {
      const other = await createTestDatabase();
      const role = await other.createRole();
      await other.query(`${CREATE_CLIENTS}; alter table clients drop column credentials, drop column details`);
      await other.query(`grant select (id, client_id, client_secret, client_name, scope) on clients to ${role.name}`);
      const service = await startServiceProcess({ CLIENT_REPOSITORY: 'postgres', DATABASE_URL: role.url });
      await clientsTable(other).add({ ...A_CLIENT, clientSecret: await bcrypt.hash('a-secret', 4) });
      const request = { grant_type: 'client_credentials', client_id: A_CLIENT.clientId, client_secret: 'a-secret' };
      const ask = async () => (await requestToken(service.url, { ...request, resource: 'urn:api' })).status;
      expect(await ask()).toBe(400);
      expect((await migrate(other.url)).exitCode).toBe(0);
      await clientsTable(other).setDetails(A_CLIENT.clientId, { resources: ['urn:api'] });
      // The service looks once a second whether the columns are there.
      await until(async () => (await ask()) === 200, 'the columns are used');
      await service.program[Symbol.asyncDispose]();
      await other.drop();
    });
  });
});
