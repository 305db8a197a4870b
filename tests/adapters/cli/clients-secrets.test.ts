import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import bcrypt from 'bcrypt';
import { runProgram } from '../../support/program.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';
import { clientsInProcess, type Run, type RunClients } from './clients-program.ts';

const BILLING = ['--name', 'Billing', '--scope', 'read write', '--cost', '4'];
const HASH = /\$2[aby]\$/;

let database: TestDatabase;
let clients: RunClients;

beforeAll(async () => {
  database = await createTestDatabase();
  clients = clientsInProcess(database.url);
}, 120_000);
afterAll(() => database.drop());
beforeEach(async () => {
  await database.query('drop table if exists clients');
});

async function storedSecret(clientId: string): Promise<string> {
  const [row] = await database.query('select client_secret from clients where client_id = $1', [clientId]);
  return String(row?.['client_secret']);
}

function expectNoHash({ stdout, stderr }: Run): void {
  expect(stdout + stderr).not.toMatch(HASH);
}

describe('clients add', () => {
  it('creates the table as the service does, registers the client and shows its secret once', async () => {
    const run = await clients(['add', 'billing', ...BILLING]);
    expect(run.exitCode).toBe(0);
    const [secret = '', ...others] = run.stdout.match(/\b[A-Za-z0-9]{43}\b/g) ?? [];
    expect(others).toEqual([]);
    expect(run.stdout).toContain('Billing');
    expect(run.stderr).toBe(
      'Client billing is added.\nThe secret is shown only this once: the table stores only its BCrypt hash.\n',
    );
    expectNoHash(run);
    expect(await database.query('select client_id, client_name, scope from clients')).toEqual([
      { client_id: 'billing', client_name: 'Billing', scope: 'read write' },
    ]);
    expect(await storedSecret('billing')).toMatch(/^\$2b\$04\$/);
    expect(await bcrypt.compare(secret, await storedSecret('billing'))).toBe(true);
  });

  it('prints one JSON document with the member names of a clients file', async () => {
    const run = await clients(['add', 'billing', ...BILLING, '--json']);
    expect(run.json()).toEqual({
      id: '1',
      client_id: 'billing',
      client_secret: expect.stringMatching(/^[A-Za-z0-9]{43}$/),
      client_name: 'Billing',
      scope: 'read write',
      state: 'enabled',
      bcrypt_cost: 4,
      problem: null,
    });
    expectNoHash(run);
  });

  it('generates an id if none is given', async () => {
    const run = await clients(['add', ...BILLING, '--json']);
    expect(run.json()['client_id']).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('encodes a generated secret at cost 4 by default, and one from standard input at cost 10', async () => {
    const add = async (id: string, option: readonly string[], input = '') =>
      (await clients(['add', id, ...BILLING.slice(0, 4), ...option, '--json'], input)).json()['bcrypt_cost'];
    expect(await add('billing', [])).toBe(4);
    expect(await add('chosen', ['--secret-stdin'], 'a-good-long-secret')).toBe(10);
  });

  it('reads a secret from standard input, removes one line break at its end, and never shows it', async () => {
    const run = await clients(['add', 'billing', ...BILLING, '--secret-stdin', '--json'], ' my sécret phrase \n');
    expect(run.exitCode).toBe(0);
    expect(run.json()).not.toHaveProperty('client_secret');
    expect(run.stdout + run.stderr).not.toContain('my s');
    expect(await bcrypt.compare(' my sécret phrase ', await storedSecret('billing'))).toBe(true);
  });

  it('changes nothing if the secret on standard input is unusable', async () => {
    const run = await clients(['add', 'billing', ...BILLING, '--secret-stdin'], '\n');
    expect(run).toMatchObject({ exitCode: 1, stdout: '', stderr: 'The secret on standard input is empty.\n' });
    expect(await database.query("select to_regclass('clients') as found")).toEqual([{ found: null }]);
  });

  it('refuses an id that is taken, and shows no secret', async () => {
    await clients(['add', 'billing', ...BILLING]);
    const before = await storedSecret('billing');
    const run = await clients(['add', 'billing', ...BILLING, '--json']);
    expect(run).toMatchObject({ exitCode: 1, stdout: '' });
    expect(run.stderr).toBe('The client id billing is taken; nothing was changed.\n');
    expect(await storedSecret('billing')).toBe(before);
  });

  it('distinguishes ids that differ only in case or in a space', async () => {
    const ids = ['-billing', '-BILLING', '-billing '];
    const runs = await Promise.all(ids.map((id) => clients(['add', ...BILLING, '--', id])));
    expect(runs.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0]);
    expect(await database.query('select count(*)::int as rows from clients')).toEqual([{ rows: 3 }]);
  });

  it.each([
    ['an empty id', ['add', '', ...BILLING], 'client_id must have 1 to 255 characters and no control character.'],
    ['an empty name', ['add', 'x', '--name', '', '--scope', 'read'], 'client_name must not be empty.'],
    [
      'a malformed scope',
      ['add', 'x', '--name', 'X', '--scope', 'a  b'],
      'scope must be one or more scope tokens with single spaces between (RFC 6749 section 3.3).',
    ],
  ])('refuses %s as a usage error', async (_what, args, message) => {
    expect(await clients(args)).toMatchObject({ exitCode: 2, stdout: '', stderr: `${message}\n` });
  });
});

describe('clients rotate', () => {
  it('replaces the secret and shows the new one once', async () => {
    const old = String((await clients(['add', 'billing', ...BILLING, '--json'])).json()['client_secret']);
    const run = await clients(['rotate', 'billing', '--cost', '5', '--json']);
    expect(run.stderr).toContain('Client billing has a new secret.');
    expect(run.json()).toMatchObject({ client_id: 'billing', state: 'enabled', bcrypt_cost: 5 });
    const stored = await storedSecret('billing');
    expect(await bcrypt.compare(String(run.json()['client_secret']), stored)).toBe(true);
    expect(await bcrypt.compare(old, stored)).toBe(false);
    expectNoHash(run);
  });

  it('reads the secret from standard input', async () => {
    await clients(['add', 'billing', ...BILLING]);
    const run = await clients(['rotate', 'billing', '--cost', '4', '--secret-stdin'], 'from-a-safe-vault\r\n');
    expect(run.exitCode).toBe(0);
    expect(run.stdout + run.stderr).not.toContain('vault');
    expect(await bcrypt.compare('from-a-safe-vault', await storedSecret('billing'))).toBe(true);
  });

  it('refuses an unknown id', async () => {
    const run = await clients(['rotate', 'unknown', '--cost', '4']);
    expect(run).toMatchObject({ exitCode: 1, stdout: '', stderr: 'No client has the id unknown.\n' });
  });
});

describe('clients hash', () => {
  it('prints the BCrypt encoding of the secret on standard input, without a database', async () => {
    const run = await clientsInProcess('')(['hash', '--cost', '4'], 'a-good-long-secret\n');
    expect(run).toMatchObject({ exitCode: 0, stderr: '' });
    expect(run.stdout).toMatch(/^\$2b\$04\$.{53}\n$/);
    expect(await bcrypt.compare('a-good-long-secret', run.stdout.trim())).toBe(true);
  });
});

describe('a secret of one character on standard input', () => {
  const short = /^The secret on standard input has fewer than 16 characters\./;

  it('is refused by hash, add and rotate, which change nothing', async () => {
    await clients(['add', 'billing', ...BILLING]);
    const before = await storedSecret('billing');
    for (const args of [
      ['hash', '--cost', '4'],
      ['add', 'other', ...BILLING, '--secret-stdin'],
      ['rotate', 'billing', '--cost', '4', '--secret-stdin'],
    ]) {
      const run = await clients(args, 'x\n');
      expect(run).toMatchObject({ exitCode: 1, stdout: '', stderr: expect.stringMatching(short) });
    }
    expect(await database.query('select client_secret from clients')).toEqual([{ client_secret: before }]);
  });

  it('is accepted with --allow-short-secret', async () => {
    const added = await clients(['add', 'billing', ...BILLING, '--secret-stdin', '--allow-short-secret'], 'x');
    expect(added.exitCode).toBe(0);
    expect(await bcrypt.compare('x', await storedSecret('billing'))).toBe(true);
    const rotated = await clients(['rotate', 'billing', '--cost', '4', '--secret-stdin', '--allow-short-secret'], 'y');
    expect(rotated.exitCode).toBe(0);
    expect(await bcrypt.compare('y', await storedSecret('billing'))).toBe(true);
    const { stdout } = await clients(['hash', '--cost', '4', '--allow-short-secret'], 'z');
    expect(await bcrypt.compare('z', stdout.trim())).toBe(true);
  });
});

describe('what other users of the machine see', () => {
  it('is only the command: the process list contains no secret and no database password', async () => {
    const args = ['add', 'billing', ...BILLING, '--secret-stdin'];
    await using program = runProgram('config/clients.ts', { DATABASE_URL: database.url }, args);
    program.process.stdin?.write('a-secret-in-a-pipe');
    const { stdout } = await promisify(execFile)('ps', ['-ww', '-o', 'args=', '-p', String(program.process.pid)]);
    expect(stdout).toContain('config/clients.ts add billing');
    expect(stdout).not.toContain('a-secret-in-a-pipe');
    expect(stdout).not.toContain('postgresql:');
    program.process.stdin?.end();
    expect(await program.ended()).toBe(0);
  });
});
