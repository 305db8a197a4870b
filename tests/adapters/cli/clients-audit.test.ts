import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { readAuditFile } from '../../support/audit-lines.ts';
import { problemsOfAuditLine } from '../../support/audit-schema.ts';
import { freshTables } from '../../support/details-tables.ts';
import { GOOD_CLIENT, PLAIN_CLIENT } from '../../support/running-service.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';
import { clientsInProcess, clientsProgram } from './clients-program.ts';

const BILLING = ['--name', 'Billing', '--scope', 'read write', '--cost', '4'];
const WHO = { database_role: expect.any(String), os_user: userInfo().username, host: hostname() };
const NEW_CLIENT = {
  client_name: 'Billing',
  scope: 'read write',
  state: 'enabled',
  bcrypt_cost: 4,
  secrets: [{ secret_id: null, name: null, expires_at: null }],
  keys: [],
  federated_subjects: [],
  resources: [],
};

let database: TestDatabase;
let folder: string;
let path: string;
beforeAll(async () => {
  database = await createTestDatabase();
}, 120_000);
afterAll(() => database.drop());
beforeEach(async () => {
  await freshTables(database);
  folder = mkdtempSync(join(tmpdir(), 'clients-audit-'));
  path = join(folder, 'audit.log');
});
afterEach(() => rmSync(folder, { recursive: true }));

/** The program with these settings, in this process. */
function program(settings: Readonly<Record<string, string>> = {}, url = database.url) {
  return clientsInProcess(url, { AUDIT_FILE: path, ...settings });
}

/** The lines so far, without what differs each time. */
function recorded() {
  const lines = readAuditFile(path);
  expect(lines.flatMap(problemsOfAuditLine)).toEqual([]);
  return lines.map(({ log: _log, level: _level, time: _time, at: _at, change_id: _id, ...rest }) => rest);
}

async function storedClients(): Promise<readonly unknown[]> {
  return database.query('select client_id, client_secret from clients order by client_id');
}

/** The role of the first test owns the table and may create others, of which the program warns. */
function withoutWarnings(stderr: string): string {
  return stderr.replace(/^Warning: other roles .*\n/gm, '');
}

describe('npm run clients, in the audit log', () => {
  it('says of each change who made it, and what was before and after, without a secret', async () => {
    const role = await database.createRole();
    await database.query(`grant select, insert, update, delete on all tables in schema public to ${role.name}`);
    // The table of the clients belongs to who uses the program first.
    await database.query(`grant create on schema public to ${role.name}`);
    const clients = program({}, role.url);
    const added = await clients(['add', 'billing', ...BILLING, '--json']);
    expect(added).toMatchObject({ exitCode: 0, audit: [] });
    await clients(['rotate', 'billing', '--cost', '5']);
    await clients(['disable', 'billing']);
    await clients(['enable', 'billing']);
    await clients(['resources', 'add', 'billing', 'https://api.example/']);
    await clients(['secrets', 'add', 'billing', '--name', 'autumn', '--cost', '4']);
    await clients(['remove', 'billing']);
    const who = { ...WHO, database_role: role.name, client_id: 'billing' };
    const autumn = { secret_id: expect.any(String), name: 'autumn', expires_at: null };
    const [nameless] = NEW_CLIENT.secrets;
    expect(recorded()).toEqual([
      { event: 'client_added', ...who, after: NEW_CLIENT },
      {
        event: 'client_changed',
        ...who,
        changed: ['bcrypt_cost', 'client_secret'],
        before: { bcrypt_cost: 4 },
        after: { bcrypt_cost: 5 },
      },
      {
        event: 'client_changed',
        ...who,
        changed: ['state'],
        before: { state: 'enabled' },
        after: { state: 'disabled' },
      },
      {
        event: 'client_changed',
        ...who,
        changed: ['state'],
        before: { state: 'disabled' },
        after: { state: 'enabled' },
      },
      {
        event: 'client_changed',
        ...who,
        changed: ['resources'],
        before: { resources: [] },
        after: { resources: ['https://api.example/'] },
      },
      {
        event: 'client_changed',
        ...who,
        changed: ['secrets'],
        before: { secrets: [nameless] },
        after: { secrets: [nameless, autumn] },
      },
      {
        event: 'client_removed',
        ...who,
        before: {
          ...NEW_CLIENT,
          bcrypt_cost: 5,
          secrets: [nameless, autumn],
          resources: ['https://api.example/'],
        },
      },
    ]);
    const text = JSON.stringify(recorded());
    expect(text).not.toMatch(/\$2[aby]\$/);
    expect(text).not.toContain(String(added.json()['client_secret']));
  }, 60_000);

  it('has nothing of what was not changed', async () => {
    const clients = program();
    await clients(['add', 'billing', ...BILLING]);
    await clients(['add', 'billing', ...BILLING]);
    await clients(['disable', 'unknown']);
    expect(recorded()).toEqual([{ event: 'client_added', ...WHO, client_id: 'billing', after: NEW_CLIENT }]);
  });

  it('has a line for each row of an id that the table has twice', async () => {
    await database.query(
      'create table clients (id bigint, client_id text, client_secret text, client_name text, scope text)',
    );
    await database.query(
      "insert into clients values (1, 'twice', '!', 'First', 'read'), (2, 'twice', '*', 'Second', 'read')",
    );
    const clients = program();
    await clients(['disable', 'twice']);
    await clients(['resources', 'add', 'twice', 'https://api.example/']);
    await clients(['remove', 'twice']);
    expect(recorded()).toMatchObject([
      { event: 'client_changed', client_id: 'twice', changed: ['state'] },
      { event: 'client_changed', client_id: 'twice', changed: ['resources'] },
      { event: 'client_changed', client_id: 'twice', changed: ['resources'] },
      { event: 'client_removed', client_id: 'twice', before: { client_name: 'First' } },
      { event: 'client_removed', client_id: 'twice', before: { client_name: 'Second' } },
    ]);
    const ids = readAuditFile(path).map((line) => line['change_id']);
    expect(ids.map((id) => ids.indexOf(id))).toEqual([0, 1, 1, 3, 3]);
  });

  it('has one line of an import, with the name and the hash of the file, and counts', async () => {
    const file = join(folder, 'clients.json');
    // Of several chunks, the last of which has no client.
    const text = `${JSON.stringify([GOOD_CLIENT, PLAIN_CLIENT])}${' '.repeat(600_000)}\n`;
    writeFileSync(file, text);
    await program()(['import', file]);
    const sha256 = createHash('sha256').update(text).digest('hex');
    const counts = { added: 2, replaced: 0, still_disabled: 0 };
    expect(recorded()).toEqual([{ event: 'clients_imported', ...WHO, file: 'clients.json', sha256, ...counts }]);
  });

  it('stays one line, whatever the name of a client contains', async () => {
    const name = 'x\n{"log":"audit","event":"client_removed"}\u2028\u2029\u0085\u007f\u009b2K';
    await program()(['add', 'billing', '--name', name, '--scope', 'read', '--cost', '4']);
    expect(recorded()).toEqual([
      {
        event: 'client_added',
        ...WHO,
        client_id: 'billing',
        after: { ...NEW_CLIENT, client_name: name, scope: 'read' },
      },
    ]);
  });

  it('is on standard error without AUDIT_FILE, and standard output has only the answer', async () => {
    const run = await program({ AUDIT_FILE: '' })(['add', 'billing', ...BILLING, '--json']);
    expect(run.json()).toMatchObject({ client_id: 'billing' });
    expect(run.audit).toMatchObject([{ event: 'client_added', client_id: 'billing' }]);
    expect(run.audit.flatMap(problemsOfAuditLine)).toEqual([]);
  });

  it('says that a change may not have been made if the database does not confirm it', async () => {
    const clients = program();
    await clients(['add', 'billing', ...BILLING]);
    await database.query(
      "create function refuse() returns trigger language plpgsql as $$ begin raise exception 'no' using errcode = '40001'; end $$",
    );
    await database.query(
      'create constraint trigger refuse after update on clients deferrable initially deferred for each row execute function refuse()',
    );
    expect((await clients(['disable', 'billing'])).exitCode).not.toBe(0);
    await database.query('drop function refuse cascade');
    const lines = readAuditFile(path);
    expect(lines.map(({ event }) => event)).toEqual(['client_added', 'client_changed', 'change_unconfirmed']);
    expect(lines[2]?.['change_id']).toBe(lines[1]?.['change_id']);
    expect(lines.flatMap(problemsOfAuditLine)).toEqual([]);
    expect((await clients(['show', 'billing', '--json'])).json()).toMatchObject({ state: 'enabled' });
  });
});

describe('npm run clients, if the audit log cannot be written', () => {
  const commands: readonly (readonly string[])[] = [
    ['add', 'second', ...BILLING],
    ['disable', 'billing'],
    ['remove', 'billing'],
    ['import', 'CLIENTS', '--replace'],
  ];

  it('changes nothing with AUDIT_REQUIRED=true', async () => {
    await program()(['add', 'billing', ...BILLING]);
    const before = await storedClients();
    const file = join(folder, 'clients.json');
    writeFileSync(file, JSON.stringify([PLAIN_CLIENT]));
    const clients = clientsProgram(database.url, [], { AUDIT_FILE: '/dev/full', AUDIT_REQUIRED: 'true' });
    for (const command of commands) {
      const run = await clients(command.map((argument) => (argument === 'CLIENTS' ? file : argument)));
      expect([command, run.exitCode, run.stdout]).toEqual([command, 1, '']);
      expect(withoutWarnings(run.stderr)).toMatch(/^Nothing was changed: the audit log cannot be written: ENOSPC/);
    }
    expect(await storedClients()).toEqual(before);
    expect((await clients(['show', 'billing'])).exitCode).toBe(0);
  }, 60_000);

  it('names AUDIT_FILE where it cannot be opened', async () => {
    const clients = program({ AUDIT_FILE: join(folder, 'absent', 'audit.log'), AUDIT_REQUIRED: 'true' });
    const run = await clients(['add', 'billing', ...BILLING]);
    expect({ ...run, stderr: withoutWarnings(run.stderr) }).toMatchObject({
      exitCode: 1,
      stderr:
        'Nothing was changed: the audit log cannot be written: AUDIT_FILE: cannot be opened for writing: its directory does not exist (ENOENT)\n',
    });
    expect(await storedClients()).toEqual([]);
  });

  it('makes the change otherwise, and says that it could not be recorded', async () => {
    const run = await program({ AUDIT_FILE: '/dev/full' })(['add', 'billing', ...BILLING]);
    expect(run.exitCode).toBe(0);
    expect(run.stderr).toContain('The change could not be recorded in the audit log: ENOSPC');
    expect(await storedClients()).toHaveLength(1);
  });

  it.each([
    [{ AUDIT_REQUIRED: 'yes' }, 'AUDIT_REQUIRED: must be true or false'],
    [{ AUDIT_FLIE: 'audit.log' }, 'AUDIT_FLIE: is not a setting of this service: did you mean AUDIT_FILE?'],
  ])('refuses settings that are wrong: %j', async (settings, problem) => {
    const run = await program(settings as Record<string, string>)(['list']);
    expect(run).toMatchObject({ exitCode: 2, stderr: `${problem}\n` });
  });
});
