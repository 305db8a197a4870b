import { hostname, userInfo } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { SIGNING_KEY_STATES, SIGNING_KEYS } from '../../../adapters/postgres/key-directory/key-tables.ts';
import { PostgresKeyDirectory } from '../../../adapters/postgres/key-directory/postgres-key-directory.ts';
import { type OpenTable, openTable } from '../../../adapters/postgres/table.ts';
import { manageKeys } from '../../../config/capabilities/keys-program.ts';
import { aKey, kidsIn } from '../../contracts/key-directory.ts';
import { auditLinesIn } from '../../support/audit-lines.ts';
import { problemsOfAuditLine } from '../../support/audit-schema.ts';
import { runProgram } from '../../support/program.ts';
import { runInProcess } from '../../support/run-in-process.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';

const TIME = '\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ';

let database: TestDatabase;
let table: OpenTable;
let directory: PostgresKeyDirectory;

beforeAll(async () => {
  database = await createTestDatabase();
  const options = { url: database.url, poolSize: 1, deadlineMs: 10_000 };
  table = await openTable('key directory', SIGNING_KEYS, options, () => {}, undefined, SIGNING_KEY_STATES);
  directory = new PostgresKeyDirectory(table.runner);
}, 120_000);
afterAll(async () => {
  await table.close();
  await database.drop();
});

/** `npm run keys --`, in this process. */
function keys(args: readonly string[], url = database.url, settings: Readonly<Record<string, string>> = {}) {
  return runInProcess(manageKeys, args, { DATABASE_URL: url, ...settings });
}

describe('npm run keys', () => {
  it('lists no key of an empty directory', async () => {
    expect(await keys(['list'])).toEqual({
      exitCode: 0,
      stdout: '',
      stderr: 'No key is published. Only services with KEY_DIRECTORY=postgres publish keys here.\n',
    });
    await using program = runProgram('config/keys.ts', { DATABASE_URL: database.url }, ['list', '--json']);
    expect([await program.ended(), program.stdout()]).toEqual([0, '[]\n']);
  });

  it('lists the keys, revokes one, and shows it as revoked', async () => {
    await directory.publish([aKey('leaked'), aKey('other')]);
    const before = await keys(['list']);
    expect(before.stdout).toMatch(
      new RegExp(`│ leaked │ RS256 +│ active │ \\S+:${process.pid} +│ ${TIME} +│ ${TIME} +│ +│`),
    );

    const revoked = await keys(['revoke', 'leaked']);
    expect(revoked.exitCode).toBe(0);
    expect(revoked.stdout).toMatch(/│ state +│ revoked +│/);
    expect(revoked.stderr).toContain(
      'The key leaked is revoked. Replicas that reach the directory drop it within 15 s.',
    );
    expect(await kidsIn(directory)).toEqual(['other']);

    const after = JSON.parse((await keys(['list', '--json'])).stdout);
    expect(after).toEqual([
      {
        kid: 'leaked',
        algorithm: 'RS256',
        state: 'revoked',
        replica: expect.any(String),
        published_at: expect.stringMatching(TIME),
        trusted_until: null,
        revoked_at: expect.stringMatching(TIME),
      },
      expect.objectContaining({ kid: 'other', state: 'active', revoked_at: null }),
    ]);
  });

  it('records who revoked which key, once', async () => {
    await directory.publish([aKey('recorded')]);
    const first = await keys(['revoke', 'recorded']);
    const again = await keys(['revoke', 'recorded']);
    expect([first.exitCode, again.exitCode]).toEqual([0, 0]);
    const [line, ...more] = auditLinesIn(first.stderr);
    expect([more, auditLinesIn(again.stderr)]).toEqual([[], []]);
    expect(line).toMatchObject({
      event: 'directory_key_revoked',
      key_id: 'recorded',
      replica: expect.stringContaining(`:${process.pid}`),
      trusted_until: expect.any(Number),
      database_role: new URL(database.url).username,
      os_user: userInfo().username,
      host: hostname(),
    });
    expect(problemsOfAuditLine(line)).toEqual([]);
    expect(first.stdout).not.toContain('"log":"audit"');
  });

  it('revokes nothing that cannot be recorded if AUDIT_REQUIRED is true', async () => {
    await directory.publish([aKey('kept')]);
    const settings = { DATABASE_URL: database.url, AUDIT_FILE: '/dev/full', AUDIT_REQUIRED: 'true' };
    await using program = runProgram('config/keys.ts', settings, ['revoke', 'kept']);
    expect([await program.ended(), program.stdout()]).toEqual([1, '']);
    expect(program.stderr()).toMatch(/^Nothing was changed: the audit log cannot be written: ENOSPC/);
    expect(await kidsIn(directory)).toContain('kept');
    expect((await keys(['revoke', 'kept'], database.url, { AUDIT_FILE: '/dev/full' })).exitCode).toBe(0);
    expect(await kidsIn(directory)).not.toContain('kept');
  });

  it('refuses an id that the directory does not know', async () => {
    const run = await keys(['revoke', 'unknown']);
    expect(run).toEqual({ exitCode: 1, stdout: '', stderr: 'No key has the id unknown.\n' });
  });

  it('prints nothing that controls a terminal', async () => {
    await directory.publish([aKey('\u001b[2J\u202eevil')]);
    const { stdout } = await keys(['list']);
    expect(stdout).toContain('evil');
    expect(stdout).not.toMatch(/[^\P{Cc}\n]|\p{Cf}/u);
  });

  it('says where the tables come from if they are missing', async () => {
    const other = await createTestDatabase();
    try {
      const { exitCode, stderr } = await keys(['list'], other.url);
      expect(exitCode).toBe(3);
      expect(stderr).toBe(
        'The key directory cannot be used: table signing_keys does not exist\n' +
          'A service with KEY_DIRECTORY=postgres creates these tables when it starts, if they are missing. If they are there: grant select, insert, update, delete on signing_keys, signing_key_states to this role.\n',
      );
    } finally {
      await other.drop();
    }
  });

  it.each([[[]], [['revoke']], [['list', 'more']], [['remove', 'x']]])('reports wrong usage: %j', async (args) => {
    expect((await keys(args)).exitCode).toBe(2);
  });

  it('reports a missing DATABASE_URL, and a database that cannot be reached, without the password', async () => {
    expect(await keys(['list'], '')).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('DATABASE_URL') });
    const DATABASE_URL = 'postgresql://someone:secret-word@127.0.0.1:1/none';
    await using program = runProgram('config/keys.ts', { DATABASE_URL }, ['list']);
    expect(await program.ended()).toBe(3);
    const stderr = program.stderr();
    expect(stderr).toMatch(/^The key directory cannot be used: .*\n.*npm run doctor.* says what to do\.\n$/);
    expect(stderr).not.toContain('secret-word');
  });
});
