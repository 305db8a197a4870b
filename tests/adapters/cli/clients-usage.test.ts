import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { manageClients } from '../../../config/capabilities/clients-program.ts';
import { freePort } from '../../support/free-port.ts';
import { runProgram } from '../../support/program.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';
import { clientsInProcess, clientsProgram } from './clients-program.ts';

const COMMANDS = ['add', 'list', 'show', 'update', 'rotate', 'disable', 'enable', 'remove', 'import', 'export', 'hash'];
const withoutDatabase = clientsInProcess('');

describe('npm run clients', () => {
  it('lists its commands and exit codes for --help', async () => {
    const run = await withoutDatabase(['--help']);
    expect(run).toMatchObject({ exitCode: 0, stderr: '' });
    for (const command of COMMANDS) expect(run.stdout).toMatch(new RegExp(`^  ${command} `, 'm'));
    expect(run.stdout).toContain('Exit codes: 0 done; 1 refused');
  });

  it('wraps its help at the width of the terminal that it is written to', async () => {
    const linesAt = async (columns: number) => {
      const stdout = Object.assign(new PassThrough(), { columns });
      const stderr = Object.assign(new PassThrough(), { fd: 2 });
      expect(await manageClients(['--help'], { stdin: Readable.from([]), stdout, stderr }, {})).toBe(0);
      return (await text(stdout.end())).split('\n').length;
    };
    expect(await linesAt(60)).toBeGreaterThan(await linesAt(200));
  });

  it.each(COMMANDS)('explains %s, with examples', async (command) => {
    const run = await withoutDatabase([command, '--help']);
    expect(run).toMatchObject({ exitCode: 0, stderr: '' });
    expect(run.stdout).toContain(`Usage: npm run clients -- ${command}`);
    expect(run.stdout).toMatch(new RegExp(`Examples:\n  .*clients -- ${command}`));
  });

  it.each([
    ['nothing', [], 'Usage: npm run clients -- [options] [command]'],
    ['an unknown command', ['frobnicate'], "error: unknown command 'frobnicate'\n"],
    ['a typo', ['ad'], "error: unknown command 'ad'\n(Did you mean add?)\n"],
    ['a typo in an inner command', ['secrets', 'ad'], '(Did you mean add?)'],
    ['a typo in an option', ['hash', '--cots', '4'], "error: unknown option '--cots'\n(Did you mean --cost?)"],
    ['a missing argument', ['show'], "error: missing required argument 'client-id'"],
    ['a missing option', ['add', 'x', '--scope', 'a'], "error: required option '--name <name>' not specified"],
    ['a secret as an option', ['rotate', 'x', '--secret=hunter2'], "error: unknown option '--secret'"],
    ['a secret as an argument', ['rotate', 'x', 'hunter2'], 'error: too many arguments'],
    ['a cost of 15', ['hash', '--cost', '15'], 'It must be a whole number from 4 to 14.'],
    ['a cost of 4.5', ['hash', '--cost', '4.5'], 'It must be a whole number from 4 to 14.'],
    [
      'no database',
      ['list'],
      'The database: set DATABASE_FILE (SQLite) or DATABASE_URL (PostgreSQL) in the environment.\n',
    ],
  ])('refuses %s with exit code 2, and repeats no secret', async (_what, args, message) => {
    const run = await withoutDatabase(args);
    expect(run).toMatchObject({ exitCode: 2, stdout: '', stderr: expect.stringContaining(message) });
    expect(run.stderr).not.toContain('hunter2');
  });

  it('refuses a DATABASE_URL of another database without showing it', async () => {
    const run = await clientsInProcess('mysql://someone:hunter2@127.0.0.1/x')(['list']);
    expect(run.exitCode).toBe(2);
    expect(run.stderr).not.toContain('hunter2');
  });
});

describe('npm run clients, on a database that cannot be used', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
  }, 120_000);
  afterAll(() => database.drop());

  it('ends the program with exit code 3 if nothing listens, without showing the password', async () => {
    const clients = clientsProgram(`postgresql://somebody:hunter2@127.0.0.1:${await freePort()}/clients`);
    const run = await clients(['list', '--json']);
    expect(run).toMatchObject({ exitCode: 3, stdout: '' });
    expect(run.stderr).toMatch(
      /^The database cannot be used: .*ECONNREFUSED.*\nCLIENT_REPOSITORY=postgres npm run doctor.* says what to do\.\n$/,
    );
    expect(run.stderr).not.toContain('hunter2');
  });

  it('ends the program with exit code 3 if the role may not create the table, or may only read it', async () => {
    const role = await database.createRole();
    const clients = clientsInProcess(role.url);
    expect(await clients(['list'])).toMatchObject({
      exitCode: 3,
      stderr:
        'The database cannot be used: table clients does not exist, and the database role may not create it\nCLIENT_REPOSITORY=postgres npm run doctor, with the same DATABASE_URL, says what to do.\n',
    });
    await clientsInProcess(database.url)(['list']);
    await database.query(`grant select on clients to ${role.name}`);
    expect((await clients(['list'])).exitCode).toBe(0);
    const run = await clients(['add', 'x', '--name', 'X', '--scope', 'read', '--cost', '4']);
    expect(run).toMatchObject({ exitCode: 3, stdout: '' });
    expect(run.stderr).toBe(
      'The database cannot be used: permission denied for table clients (42501)\nUse a role with this right: npm run migrate -- --grant-to <role>, with --role-for clients or --role-for keys, gives a role what it needs.\n',
    );
    await database.query(`revoke all on clients from ${role.name}`);
  });

  it('needs only four privileges on the table', async () => {
    await clientsInProcess(database.url)(['list']);
    const role = await database.createRole();
    await database.query(`grant select, insert, update, delete on clients to ${role.name}`);
    const clients = clientsInProcess(role.url);
    const steps = [
      ['add', 'x', '--name', 'X', '--scope', 'read', '--cost', '4'],
      ['rotate', 'x', '--cost', '4'],
      ['disable', 'x'],
      ['enable', 'x'],
      ['remove', 'x'],
    ];
    for (const step of steps) expect(await clients(step)).toMatchObject({ exitCode: 0 });
    await database.query(`revoke all on clients from ${role.name}`);
  });

  it('exits with code 1 if standard output is closed before the whole answer is written', async () => {
    const args = ['add', 'unread', '--name', 'X', '--scope', 'read', '--cost', '4'];
    await using program = runProgram('config/clients.ts', { DATABASE_URL: database.url }, args);
    program.process.stdout?.destroy();
    expect(await program.ended()).toBe(1);
    expect(program.stderr()).toContain('Standard output was closed before the whole answer was written.\n');
  });
});
