import { chmod, copyFile, mkdir, mkdtemp, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { storeFault } from '../../adapters/sqlite/file-fault.ts';
import { SCHEMA_VERSION } from '../../adapters/sqlite/file-schema.ts';
import { migrateFile } from '../../adapters/sqlite/migrate-file.ts';
import { PARTS } from '../../config/container.ts';
import { manageClients } from '../../config/programs/clients-program.ts';
import { inWords } from '../../domain/problem.ts';
import { requestToken } from '../support/http.ts';
import { runProgram } from '../support/program.ts';
import { REGISTERED_CLIENT, REGISTERED_SECRET } from '../support/registered-client.ts';
import { runInProcess } from '../support/run-in-process.ts';
import { type ServiceUnderTest, startServiceUnderTest } from '../support/running-service.ts';
import { createSqliteFile, type SqliteFile } from '../support/sqlite-file.ts';
import { until } from '../support/until.ts';

let file: SqliteFile;
let other: string;
let service: ServiceUnderTest | undefined;

beforeEach(async () => {
  file = await createSqliteFile();
  other = await mkdtemp(join(tmpdir(), 'sqlite-other-'));
  await file.add(REGISTERED_CLIENT);
});
afterEach(async () => {
  await service?.stop();
  service = undefined;
  await file.remove();
  await rm(other, { recursive: true });
});

async function start(path = file.path): Promise<void> {
  service = await startServiceUnderTest({ environment: { CLIENT_REPOSITORY: 'sqlite', DATABASE_FILE: path } });
}

async function ask(client_id = REGISTERED_CLIENT.clientId): Promise<number> {
  const form = { grant_type: 'client_credentials', client_id, client_secret: REGISTERED_SECRET };
  return (await requestToken(service?.url ?? '', form)).status;
}

/** Why the service is not ready; undefined if it is. */
function reason(): string | undefined {
  const readiness = service?.container.resolve(PARTS.storage).dependency?.readiness();
  return readiness?.ready === false ? inWords(readiness.reason) : undefined;
}

/** Puts another file into the place of the registrations, as `mv` does. */
async function replaceBy(write: (path: string) => unknown): Promise<void> {
  const path = join(other, 'new.db');
  await write(path);
  await rename(path, file.path);
}

function changeSchema(...statements: readonly string[]): void {
  for (const statement of statements) file.run(statement);
}

const ofAnotherProgram = (path: string) => {
  const database = new DatabaseSync(path);
  database.exec('create table clients (id integer)');
  database.close();
};

describe('a service whose file changes while it runs', () => {
  it.each<[string, () => unknown, RegExp, (() => unknown)?]>([
    ['is deleted', () => rename(file.path, join(other, 'moved.db')), /does not exist: bring it back/],
    [
      'is replaced by a text',
      () => replaceBy((path) => writeFile(path, 'text '.repeat(500))),
      /is not a database of SQLite: /,
    ],
    [
      'is replaced by that of another program',
      () => replaceBy(ofAnotherProgram),
      /is the database of another program: /,
    ],
    [
      'is replaced by an empty file',
      () => replaceBy((path) => writeFile(path, '')),
      /has no table clients.*: bring it back/,
    ],
    [
      'gets a newer schema',
      () => file.run('pragma user_version = 999'),
      /has a newer schema: install/,
      () => file.run(`pragma user_version = ${SCHEMA_VERSION}`),
    ],
    [
      'is of a version before 1.0.0',
      () => file.run('pragma user_version = 1'),
      /was written by a version before 1.0.0: export its clients/,
      () => file.run(`pragma user_version = ${SCHEMA_VERSION}`),
    ],
    [
      'lacks a column',
      () => file.run('alter table clients rename column scope to scopes'),
      /has tables or texts that this service has not written: restore/,
      () => file.run('alter table clients rename column scopes to scope'),
    ],
    [
      'has a view in the place of a table',
      () => changeSchema('alter table clients rename to stored', 'create view clients as select * from stored'),
      /has a clients that this service has not created: restore/,
      () => changeSchema('drop view clients', 'alter table stored rename to clients'),
    ],
    ['is truncated', () => truncate(file.path, 0), /has no table clients|is damaged/],
  ])(
    'answers 503 while the file %s, says why, and recovers without a restart',
    async (_what, damage, expected, repair = () => rename(join(other, 'copy.db'), file.path)) => {
      await copyFile(file.path, join(other, 'copy.db'));
      await start();
      expect(await ask()).toBe(200);
      await damage();
      const seen = new Set<number>();
      await until(async () => {
        const status = await ask();
        seen.add(status);
        return status === 503;
      }, 'a 503');
      expect(reason()).toMatch(expected);
      expect(service?.logText()).toMatch(/"event":"database_unavailable"/);
      await repair();
      await until(async () => {
        const status = await ask();
        seen.add(status);
        return status === 200;
      }, 'a token');
      expect(seen).toEqual(new Set([200, 503]));
      expect(reason()).toBeUndefined();
      expect(service?.logText()).toMatch(/"event":"database_available"/);
    },
  );

  it.each<[string, (changed: string) => unknown]>([
    ['a copy is written over it', (changed) => copyFile(changed, file.path)],
    [
      'its -wal and -shm are deleted, and clients changed',
      async () => {
        for (const ending of ['-wal', '-shm']) await rm(file.path + ending);
        const environment = { CLIENT_REPOSITORY: 'sqlite', DATABASE_FILE: file.path };
        // In this process, SQLite would go on with the files that are deleted.
        await using program = runProgram('config/clients.ts', environment, [
          'remove',
          REGISTERED_CLIENT.clientId,
          '--yes',
        ]);
        expect(await program.ended()).toBe(0);
      },
    ],
  ])('notices that %s', async (_what, change) => {
    const changed = join(other, 'changed.db');
    await migrateFile(changed);
    await start();
    expect(await ask()).toBe(200);
    await change(changed);
    await until(async () => (await ask()) === 401, 'the client is unknown');
    expect(reason()).toBeUndefined();
  });

  it('notices that the file was replaced, and reads the new one', async () => {
    await using newer = await createSqliteFile();
    await newer.add({ ...REGISTERED_CLIENT, clientId: 'newer' });
    await start();
    expect(await ask()).toBe(200);
    expect(await ask('newer')).toBe(401);
    await rename(newer.path, file.path);
    await until(async () => (await ask('newer')) === 200, 'a client of the new file');
    expect(await ask()).toBe(401);
  });
});

describe('a service whose file is locked when it starts', () => {
  it('starts, answers 503, and works once the lock is released', async () => {
    const holder = new DatabaseSync(file.path);
    holder.exec('pragma locking_mode = exclusive; begin exclusive');
    try {
      await start();
      expect(await ask()).toBe(503);
      expect(reason()).toMatch(/is locked by another program: /);
    } finally {
      holder.close();
    }
    await until(async () => (await ask()) === 200, 'a token');
  });
});

describe('a file that cannot be used', () => {
  it.each<[string, () => unknown, string, RegExp]>([
    [
      'in a folder that does not exist',
      () => {},
      'none/clients.db',
      /is in a folder that does not exist: create the folder/,
    ],
    [
      'of another program',
      () => ofAnotherProgram(join(file.folder, 'b.db')),
      'b.db',
      /is the database of another program/,
    ],
    [
      'that is a text',
      () => writeFile(join(file.folder, 'b.db'), 'text '.repeat(500)),
      'b.db',
      /is not a database of SQLite/,
    ],
    [
      'that was cut',
      async () => {
        await copyFile(file.path, join(file.folder, 'b.db'));
        await truncate(join(file.folder, 'b.db'), 5_000);
      },
      'b.db',
      /is damaged: restore it from a backup/,
    ],
    ['that is a folder', () => mkdir(join(file.folder, 'b.db')), 'b.db', /b\.db is a folder: name a file in it/],
    [
      'in a file',
      () => writeFile(join(file.folder, 'b'), ''),
      'b/clients.db',
      /is in a file, which is no folder: correct DATABASE_FILE/,
    ],
    ['that is no file', () => {}, '/dev/null', /is a device, a pipe or a socket: name a file/],
    [
      'behind links that lead to themselves',
      () => symlink('b.db', join(file.folder, 'b.db')),
      'b.db',
      /is behind symbolic links that lead in a circle: correct DATABASE_FILE/,
    ],
  ])('stops the start of the service and the program if it is one %s', async (_what, make, name, expected) => {
    await make();
    const path = resolve(file.folder, name);
    await expect(start(path)).rejects.toThrow(expected);
    const { exitCode, stderr } = await runInProcess(manageClients, ['list'], { DATABASE_FILE: path });
    expect([exitCode, stderr]).toEqual([3, expect.stringMatching(expected)]);
    expect(stderr).not.toMatch(/doctor/);
  });

  it.each([
    ['EACCES', /cannot be opened or created by this user: give this user .*, or set DATABASE_FILE to another file$/],
    ['EROFS', /is on a file system that is read-only: set DATABASE_FILE/],
    ['ENOSPC', /has no space left on its disk: make room$/],
    ['EIO', /cannot be opened \(EIO\): look for/],
  ])('is reported with a fix for %s of the system, unless that is about another file', (code, message) => {
    const fault = { code, path: dirname(file.path) };
    expect(storeFault(file.path, fault)).toMatchObject({ cause: { message: expect.stringMatching(message) } });
    const another = { code, path: join(file.folder, 'audit.log') };
    expect(storeFault(file.path, another)).toBe(another);
  });

  it('is reported with what is missing if the disk is full', () => {
    const database = new DatabaseSync(file.path);
    database.exec('pragma max_page_count = 1');
    let fault: unknown;
    try {
      database.exec(
        `insert into clients (client_id, client_secret, client_name, scope) values ('a', '${'x'.repeat(20_000)}', '', '')`,
      );
    } catch (full) {
      fault = storeFault(file.path, full);
    }
    database.close();
    expect(fault).toMatchObject({
      dependency: 'client store',
      cause: { message: expect.stringMatching(/has no space left on its disk: make room$/) },
    });
  });
});

describe('a folder that this user may only read', () => {
  /** Reads as another user, or as this one who has lost the right to write. */
  const READER = `
    const { FileReader } = await import('./adapters/sqlite/file-reader.ts');
    const { openClientsFile } = await import('./adapters/sqlite/clients-program/sqlite-clients-database.ts');
    const { SqlClientStore } = await import('./adapters/sql/sql-client-store.ts');
    const [path, client] = process.argv.slice(1);
    if (process.getuid() === 0) process.setgroups([]), process.setegid(65534), process.seteuid(65534);
    const messageOf = (fault) => fault.cause?.message ?? fault.message;
    try {
      const file = await FileReader.open(path, () => {});
      console.log('read', file.read('select count(*) as n from clients')[0].n);
    } catch (fault) { console.log(messageOf(fault)); }
    const store = new SqlClientStore(openClientsFile(path), () => ({ ok: true, value: {} }));
    await store.remove(client).catch((fault) => console.log(messageOf(fault)));`;

  async function read(): Promise<string> {
    await using program = runProgram(
      '-e',
      {},
      [READER, file.path, REGISTERED_CLIENT.clientId],
      ['--input-type=module', '--no-warnings'],
    );
    await program.ended();
    return program.stdout() + program.stderr();
  }

  it('is enough for the service once a program has written there, and not for the program', async () => {
    await chmod(file.folder, 0o755);
    for (const end of ['', '-wal', '-shm']) await chmod(file.path + end, 0o644);
    if (process.getuid?.() !== 0) await chmod(file.folder, 0o555);
    const response = await read();
    await chmod(file.folder, 0o755);
    expect(response).toMatch(/^read 1\n.*read-only: let this user write to both/);
  });

  it('stops a program that has to create the file there, with the fix and its exit code', async () => {
    const MIGRATING = `
      await import('./adapters/sqlite/migrate-file.ts');
      const { migrateTables } = await import('./config/programs/migrate-tables.ts');
      const [folder] = process.argv.slice(1);
      if (process.getuid() === 0) process.setgroups([]), process.setegid(65534), process.seteuid(65534);
      process.exitCode = await migrateTables([], process, { DATABASE_FILE: folder + '/new.db' });`;
    await chmod(file.folder, process.getuid?.() === 0 ? 0o755 : 0o555);
    const flags = ['--input-type=module', '--no-warnings'];
    await using program = runProgram('-e', {}, [MIGRATING, file.folder], flags);
    expect(await program.ended()).toBe(3);
    await chmod(file.folder, 0o755);
    const expected = 'cannot be opened or created by this user: give this user the rights to the file and its folder, ';
    expect(program.stderr()).toMatch(
      new RegExp(`^The database cannot be migrated: \\S+/new\\.db ${expected}[^\n]*\n$`),
    );
  });

  it('is not enough if -wal and -shm are missing, which the message says', async () => {
    await chmod(file.path, 0o644);
    for (const end of ['-wal', '-shm']) await rm(file.path + end);
    await chmod(file.folder, process.getuid?.() === 0 ? 0o755 : 0o555);
    expect(await read()).toMatch(
      /^\S+ or its folder is read-only: .* -wal and -shm beside it suffice, which npm run migrate creates/,
    );
    await chmod(file.folder, 0o755);
    await migrateFile(file.path);
    expect(await read()).toMatch(/^read 1\n/);
  });
});
