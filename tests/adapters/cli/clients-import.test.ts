import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import bcrypt from 'bcrypt';
import { writeClientsFile } from '../../support/bulk-clients.ts';
import { GOOD_CLIENT, GOOD_SECRET, PLAIN_CLIENT } from '../../support/running-service.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';
import { clientsInProcess, clientsProgram, type Run, type RunClients } from './clients-program.ts';

let database: TestDatabase;
let clients: RunClients;
let folder: string;
let file: string;

beforeAll(async () => {
  database = await createTestDatabase();
  clients = clientsInProcess(database.url);
  folder = await mkdtemp(join(tmpdir(), 'clients-file-'));
  file = join(folder, 'clients.json');
}, 120_000);
afterAll(async () => {
  await database.drop();
  await rm(folder, { recursive: true });
});
beforeEach(async () => {
  await database.query('drop table if exists clients');
});

async function importClients(entries: unknown, ...options: readonly string[]): Promise<Run> {
  await writeFile(file, JSON.stringify(entries));
  return clients(['import', file, '--cost', '4', ...options]);
}

function rows() {
  return database.query('select client_id, client_secret, client_name, scope from clients order by client_id');
}

describe('clients import', () => {
  it('registers every client of a clients file, and hashes plain secrets', async () => {
    const run = await importClients([PLAIN_CLIENT, GOOD_CLIENT]);
    expect(run).toMatchObject({ exitCode: 0, stdout: '', stderr: '2 added, 0 replaced.\n' });
    const [good, plain] = await rows();
    expect(good).toEqual(GOOD_CLIENT);
    expect(plain).toEqual({ ...PLAIN_CLIENT, client_secret: expect.stringMatching(/^\$2b\$04\$/) });
    expect(await bcrypt.compare('plain-secret', String(plain?.['client_secret']))).toBe(true);
  });

  it('registers all clients or none, and reports taken ids with their positions', async () => {
    await importClients([GOOD_CLIENT]);
    const before = await rows();
    const another = { ...PLAIN_CLIENT, client_id: 'another' };
    const run = await importClients([PLAIN_CLIENT, GOOD_CLIENT, another], '--json');
    expect(run).toMatchObject({
      exitCode: 1,
      stdout: '',
      stderr: `The file ${file} is refused; nothing was changed:\n  entry 1: client_id is registered already\n`,
    });
    expect(await rows()).toEqual(before);
  });

  it('says with --dry-run what it would do, refuses what it would refuse, and stores and records nothing', async () => {
    await importClients([GOOD_CLIENT]);
    const before = await rows();
    const entries = [PLAIN_CLIENT, { ...GOOD_CLIENT, client_name: 'Renamed' }];
    expect(await importClients(entries, '--dry-run')).toMatchObject({
      exitCode: 1,
      stderr: `The file ${file} is refused; nothing was changed:\n  entry 1: client_id is registered already\n`,
    });
    const stderr = '1 would be added, 1 replaced, 0 of them still disabled. Nothing was changed.\n';
    const rehearsed = await importClients(entries, '--dry-run', '--replace');
    expect(rehearsed).toMatchObject({ exitCode: 0, stdout: '', stderr, audit: [] });
    expect(await rows()).toEqual(before);
    expect(await importClients(entries, '--dry-run', '--json')).toMatchObject({ exitCode: 2 });
    expect((await importClients(entries, '--replace')).stderr).toBe('1 added, 1 replaced.\n');
  });

  it('does nothing where npm has kept --dry-run for itself', async () => {
    await importClients([GOOD_CLIENT]);
    await writeFile(file, JSON.stringify([PLAIN_CLIENT]));
    const withNpm = clientsInProcess(database.url, { npm_config_dry_run: 'true' });
    const stderr = 'npm has kept --dry-run for itself: write two dashes before the command, npm run clients -- …\n';
    expect(await withNpm(['import', file])).toMatchObject({ exitCode: 2, stderr });
    expect(await rows()).toHaveLength(1);
  });

  it('replaces existing clients with --replace, and keeps disabled clients disabled', async () => {
    await importClients([GOOD_CLIENT, { ...GOOD_CLIENT, client_id: 'locked' }]);
    await clients(['disable', 'locked']);
    const renamed = { ...PLAIN_CLIENT, client_name: 'Renamed', scope: 'admin' };
    const entries = [PLAIN_CLIENT, { ...renamed, client_id: 'locked' }, { ...renamed, client_id: 'good-client' }];
    const run = await importClients(entries, '--replace', '--json');
    expect(run).toMatchObject({ exitCode: 0, stderr: '1 added, 2 replaced.\nClient locked stays disabled.\n' });
    expect(run.json()).toEqual({
      added: ['plain-client'],
      replaced: expect.arrayContaining(['good-client', 'locked']),
      still_disabled: ['locked'],
    });
    const [good, locked] = await rows();
    expect(good).toMatchObject({ client_name: 'Renamed', scope: 'admin' });
    expect(await bcrypt.compare(GOOD_SECRET, String(good?.['client_secret']))).toBe(false);
    expect(await bcrypt.compare('plain-secret', String(good?.['client_secret']))).toBe(true);
    expect(locked).toMatchObject({ client_name: 'Renamed', client_secret: expect.stringMatching(/^!\$2b\$04\$/) });
  });

  it('accepts an empty array', async () => {
    expect(await importClients([])).toMatchObject({ exitCode: 0, stderr: '0 added, 0 replaced.\n' });
  });

  it.each([
    ['is not an array', { ...PLAIN_CLIENT }, 'must be a JSON array'],
    ['lacks a member', [GOOD_CLIENT, { ...PLAIN_CLIENT, scope: undefined }], 'entry 1: scope is missing'],
    ['names a client twice', [GOOD_CLIENT, GOOD_CLIENT], 'entry 1: client_id is that of entry 0'],
    [
      'has half a surrogate pair',
      [{ ...PLAIN_CLIENT, client_id: '\ud800' }],
      'entry 0: client_id must be Unicode text without NUL',
    ],
    [
      'has a NUL',
      [GOOD_CLIENT, { ...PLAIN_CLIENT, client_name: 'a\0b' }],
      'entry 1: client_name must be Unicode text without NUL',
    ],
  ])('refuses a file that %s, and shows none of its secrets', async (_what, entries, message) => {
    const run = await importClients(entries);
    expect(run).toMatchObject({
      exitCode: 1,
      stdout: '',
      stderr: `The file ${file} is refused; nothing was changed:\n  ${message}\n`,
    });
  });

  it.each([
    ['ends in the middle', '[{"client_id": "a"', 'entry 0: it is not complete: the text ends inside the array'],
    [
      'is not JSON at one position',
      JSON.stringify([GOOD_CLIENT]).replace(/\]$/, ', nothing]'),
      'entry 1: it is not JSON; it begins in line 1',
    ],
    [
      'has a comma before its end',
      `${JSON.stringify([GOOD_CLIENT], undefined, 2).replace(/\n\]$/, ',\n]')}`,
      'entry 1: it is missing: a comma before the end of the array, in line 7',
    ],
    [
      'has an entry of 2 MB',
      JSON.stringify([GOOD_CLIENT, { ...PLAIN_CLIENT, client_name: 'x'.repeat(2_000_000) }]),
      'entry 1: it is longer than 1048576 bytes',
    ],
  ])('refuses a file that %s, and says where', async (_what, text, message) => {
    await writeFile(file, text);
    const run = await clients(['import', file]);
    expect(run).toMatchObject({ exitCode: 1, stdout: '' });
    expect(run.stderr).toContain(`refused; nothing was changed:\n  ${message}\n`);
    expect(await rows()).toEqual([]);
  });

  it('reports at most a hundred problems', async () => {
    const run = await importClients(
      Array.from({ length: 5_000 }, (_, number) => ({ ...GOOD_CLIENT, client_id: `${number}`, scope: '' })),
    );
    expect(run.stderr.split('\n').length).toBe(103);
    expect(run.stderr).toMatch(/There may be more problems.\n$/);
  });

  // tests/faults/bulk-clients.fault.ts has many more, in little memory.
  it('imports, lists and replaces 5,000 clients', async () => {
    await writeClientsFile(file, 5_000);
    expect(await clients(['import', file])).toMatchObject({ exitCode: 0, stderr: '5000 added, 0 replaced.\n' });
    expect((await clients(['list', '--json'])).json()).toHaveLength(5_000);
    expect((await clients(['import', file])).exitCode).toBe(1);
    expect(await clients(['import', file, '--replace'])).toMatchObject({
      exitCode: 0,
      stderr: '0 added, 5000 replaced.\n',
    });
    expect(await database.query('select count(*)::int as count from clients')).toEqual([{ count: 5_000 }]);
  });

  it('needs the privilege to create temporary tables, and says so', async () => {
    await clients(['list']);
    const role = await database.createRole();
    await database.query(`grant select, insert, update, delete on clients to ${role.name}`);
    await database.query(`revoke temporary on database ${new URL(database.url).pathname.slice(1)} from public`);
    await writeFile(file, JSON.stringify([GOOD_CLIENT]));
    const run = await clientsInProcess(role.url)(['import', file]);
    expect(run).toMatchObject({ exitCode: 3, stdout: '' });
    expect(run.stderr).toContain('permission denied to create temporary tables');
    await database.query(`grant temporary on database ${new URL(database.url).pathname.slice(1)} to public`);
    await database.query(`drop table clients`);
  });

  it('reports a file that cannot be read', async () => {
    expect(await clients(['import', 'no-such-file'])).toMatchObject({
      exitCode: 1,
      stdout: '',
      stderr: `The file ${process.cwd()}/no-such-file cannot be read (ENOENT).\n`,
    });
    expect(await clientsProgram(database.url)(['import', folder])).toMatchObject({
      exitCode: 1,
      stdout: '',
      stderr: `The file ${folder} cannot be read (EISDIR).\n`,
    });
  });
});
