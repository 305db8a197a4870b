import { mkdtempSync, rmSync } from 'node:fs';
import { hostname, tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { JoseKeySealer } from '../../../adapters/jwt/jose-key-sealer.ts';
import { readKeySecrets } from '../../../adapters/jwt/key-secrets.ts';
import type { Dependency } from '../../../application/ports/health-check.ts';
import type { KeyRingStore, SealedKey } from '../../../application/ports/key-ring-store.ts';
import { manageKeys } from '../../../config/programs/keys-program.ts';
import { threadsAtOnce } from '../../support/at-once.ts';
import { auditLinesIn } from '../../support/audit-lines.ts';
import { problemsOfAuditLine } from '../../support/audit-schema.ts';
import { CREATE_CLIENTS } from '../../support/clients-table.ts';
import { postgresKeyRing, sqliteKeyRing } from '../../support/key-rings.ts';
import { runProgram } from '../../support/program.ts';
import { runAtTerminal, runInProcess } from '../../support/run-in-process.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

let database: TestDatabase;
let store: KeyRingStore;
let dependency: Dependency;

beforeAll(async () => {
  database = await createTestDatabase();
  await database.query(CREATE_CLIENTS);
  ({ store, dependency } = await postgresKeyRing({ url: database.url, deadlineMs: 3_000 }, () => {}));
}, 120_000);
afterAll(async () => {
  await dependency.close();
  await database.drop();
});
beforeEach(() => database.query('delete from key_ring'));

/** `npm run keys --`, in this process. */
function keys(args: readonly string[], settings: Readonly<Record<string, string>> = { DATABASE_URL: database.url }) {
  return runInProcess(manageKeys, args, settings);
}

const list = async () => JSON.parse((await keys(['list', '--json'])).stdout);
const now = () => Math.floor(Date.now() / 1_000);

function aKey(kid: string, step: number, more: Partial<SealedKey> = {}): SealedKey {
  const times = { signsFrom: now() - 10 + step * 1_000, verifiesUntil: now() + 90_000, addedBefore: now() + 100 };
  return { algorithm: 'RS256', kid, step, sealed: `no seal`, publicationSeconds: 60, ...times, ...more };
}

describe('npm run keys', () => {
  it('lists no key of an empty ring', async () => {
    expect(await keys(['list'])).toEqual({
      exitCode: 0,
      stdout: '',
      stderr: 'There is no key. A service with KEY_DIRECTORY=database makes one when it starts.\n',
    });
    expect(await keys(['list', '--json'])).toMatchObject({ exitCode: 0, stdout: '[]\n' });
  });

  it('lists the keys with their states and the ids of their secrets, which it does not need', async () => {
    const secrets = readKeySecrets(Buffer.alloc(32, 7).toString('base64'));
    if (!secrets.ok) throw new Error('no secret');
    const made = await new JoseKeySealer(threadsAtOnce, secrets.value, () => secrets).make('ES256');
    const plan = aKey(made.kid, 1, { algorithm: 'ES256', signsFrom: now() - 5 });
    await store.add({ ...plan, sealed: await made.seal(plan) });
    await store.add(aKey('retired', 0, { algorithm: 'ES256' }));
    await store.add(aKey('next', 2, { algorithm: 'ES256' }));
    await store.add(aKey('ended', 0, { verifiesUntil: now() - 1 }));
    expect(await list()).toEqual([
      expect.objectContaining({ kid: 'retired', state: 'retired', secret_id: null }),
      {
        kid: made.kid,
        algorithm: 'ES256',
        state: 'signing',
        signs_from: expect.stringMatching(TIME),
        ends_at: null,
        verifies_until: expect.stringMatching(TIME),
        secret_id: secrets.value[0]?.id,
        revoked_at: null,
      },
      expect.objectContaining({ kid: 'next', state: 'published' }),
    ]);
    const { stdout } = await keys(['list']);
    expect(stdout).toContain(`${made.kid}  ES256      signing    `);
  });

  it('revokes a key, shows it as revoked, and records who did it, once', async () => {
    await store.add(aKey('leaked', 0));
    await store.add(aKey('other', 1));
    const first = await keys(['revoke', '--no-wait', 'leaked']);
    expect(first).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^state +revoked$/m) });
    expect(first.stderr).toContain('The key leaked is revoked.\n');
    expect((await list()).map(({ kid, state }: Record<string, string>) => [kid, state])).toEqual([
      ['leaked', 'revoked'],
      // It has taken over.
      ['other', 'signing'],
    ]);
    const again = await keys(['revoke', '--no-wait', 'leaked']);
    const [line, ...more] = auditLinesIn(first.stderr);
    expect([again.exitCode, more, auditLinesIn(again.stderr)]).toEqual([0, [], []]);
    expect(line).toMatchObject({
      event: 'directory_key_revoked',
      key_id: 'leaked',
      trusted_until: expect.any(Number),
      database_role: new URL(database.url).username,
      os_user: userInfo().username,
      host: hostname(),
    });
    expect(problemsOfAuditLine(line)).toEqual([]);
    expect(first.stdout).not.toContain('"log":"audit"');
  });

  it('does not revoke an id that the ring does not have, so that nobody believes that a leaked key stopped', async () => {
    await store.add(aKey('a-long-key-id', 0));
    const { exitCode, stderr, stdout } = await keys(['revoke', '--no-wait', 'a-long-key-ib']);
    expect([exitCode, stdout]).toEqual([1, '']);
    expect(stderr).toBe(
      'Nothing was revoked. The ring has no key a-long-key-ib, so none stopped signing: compare the id with list.\n' +
        'With --unknown, a key of this id is refused if a backup brings it back.\n',
    );
    expect((await store.read()).rows.map(({ kid }) => kid)).toEqual(['a-long-key-id']);
  });

  it('revokes such an id with --unknown, and says that no key has it', async () => {
    await store.add(aKey('a-long-key-id', 0));
    for (const _time of ['first', 'second']) {
      const { exitCode, stderr, stdout } = await keys(['revoke', '--no-wait', 'a-long-key-ib', '--unknown']);
      expect(exitCode).toBe(0);
      expect(stdout).toMatch(/^state +revoked, never in the ring$/m);
      expect(stderr).toMatch(/^The ring has no key a-long-key-ib, so none stopped /m);
      expect(stderr).not.toContain('a-long-key-ib is revoked');
    }
    expect((await keys(['list'])).stdout).toMatch(/^a-long-key-ib +revoked, never in the ring /m);
    expect((await list())[1]).toMatchObject({ kid: 'a-long-key-ib', algorithm: null, state: 'revoked' });
    expect((await store.read()).rows.find(({ kid }) => kid === 'a-long-key-ib')?.revokedAt).toBeDefined();
  });

  it.each([
    ['n', 1, 'signing'],
    ['y', 0, 'revoked'],
  ])('asks a person before it revokes: %s', async (response, exitCode, state) => {
    await store.add(aKey('asked', 0));
    const settings = { DATABASE_URL: database.url };
    const run = await runAtTerminal(
      manageKeys,
      ['revoke', '--no-wait', 'asked'],
      settings,
      async () => `${response}\n`,
    );
    expect(run.exitCode).toBe(exitCode);
    expect(run.stderr).toContain('Revoke the key asked, for good? [y/N] ');
    expect(await list()).toMatchObject([{ kid: 'asked', state }]);
  });

  it('revokes all keys, with a line for each', async () => {
    await store.add(aKey('one', 0));
    await store.add(aKey('two', 1));
    const { exitCode, stderr, stdout } = await keys(['revoke', '--no-wait', '--all', '--json']);
    expect([exitCode, JSON.parse(stdout)]).toEqual([
      0,
      [
        expect.objectContaining({ kid: 'one', state: 'revoked' }),
        expect.objectContaining({ kid: 'two', state: 'revoked' }),
      ],
    ]);
    expect(stderr).toContain('2 keys are revoked.');
    expect(auditLinesIn(stderr)).toHaveLength(2);
  });

  it('revokes nothing that cannot be recorded if AUDIT_REQUIRED is true', async () => {
    await store.add(aKey('kept', 0));
    const settings = { DATABASE_URL: database.url, AUDIT_FILE: '/dev/full', AUDIT_REQUIRED: 'true' };
    await using program = runProgram('config/keys.ts', settings, ['revoke', '--no-wait', 'kept']);
    expect([await program.ended(), program.stdout()]).toEqual([1, '']);
    expect(program.stderr()).toMatch(/^Nothing was changed: the audit log cannot be written: ENOSPC/);
    expect((await store.read()).rows[0]?.revokedAt).toBeUndefined();
  });

  it('rotates: the next key signs when it has been published, and not before all replicas know that', async () => {
    await store.add(aKey('current', 0));
    await store.add(aKey('next', 1, { publicationSeconds: 1_800, signsFrom: now() + 5_000 }));
    await store.add(aKey('other algorithm', 0, { algorithm: 'ES256' }));
    await store.add(aKey('its next', 1, { algorithm: 'ES256', publicationSeconds: 0 }));
    const { exitCode, stderr } = await keys(['rotate']);
    const { rows } = await store.read();
    const row = (name: string) => rows.find(({ kid }) => kid === name);
    expect([exitCode, row('current')?.endedAt]).toEqual([0, row('next')?.knownAt]);
    expect(row('other algorithm')?.endedAt).toBeGreaterThanOrEqual(now() + 10);
    expect(row('other algorithm')?.endedAt).toBeLessThan(now() + 100);
    expect(stderr).toMatch(/The key current signs until \S+Z, then the next one\./);
    const events = auditLinesIn(stderr);
    expect(events.map(({ event, key_id }) => [event, key_id])).toEqual([
      ['directory_key_ended', 'current'],
      ['directory_key_ended', 'other algorithm'],
    ]);
    expect(events.flatMap(problemsOfAuditLine)).toEqual([]);
    // Who lists the keys sees the plan.
    const listed: Record<string, string>[] = await list();
    const shown = (name: string) => listed.find(({ kid }) => kid === name);
    const plan = new Date(Number(row('current')?.endedAt) * 1_000).toISOString().replace('.000Z', 'Z');
    expect([shown('current')?.['ends_at'], shown('next')?.['signs_from']]).toEqual([plan, plan]);
    expect((await keys(['list'])).stdout).toMatch(/signs_from +ends_at +verifies_until/);
    // A second time changes nothing.
    const again = await keys(['rotate', '--json']);
    expect(JSON.parse(again.stdout)).toHaveLength(2);
    expect((await store.read()).rows.find(({ kid }) => kid === 'current')?.endedAt).toBe(row('current')?.endedAt);
  });

  it('rotates nothing without a next key, and says when there will be one', async () => {
    await store.add(aKey('current', 0));
    expect(await keys(['rotate'])).toEqual({
      exitCode: 1,
      stdout: '',
      stderr:
        'No key can be rotated: no next key is in the ring.\nA running service adds the next key within seconds after the current one began to sign.\n',
    });
  });

  it('works on the file beside the registrations of SQLite', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'keys-'));
    try {
      const settings = { DATABASE_FILE: join(folder, 'clients.db') };
      expect(await keys(['list'], settings)).toMatchObject({
        exitCode: 3,
        stderr: expect.stringMatching(
          /clients\.db\.keys does not exist: .*\nA service with KEY_DIRECTORY=database [^\n]*missing\.\n$/,
        ),
      });
      const ring = await sqliteKeyRing(join(folder, 'clients.db.keys'));
      await ring.add(aKey('one', 0));
      expect((await keys(['revoke', '--no-wait', '--all'], settings)).exitCode).toBe(0);
      expect((await ring.read()).rows[0]).toMatchObject({ kid: 'one', sealed: undefined });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('prints nothing that controls a terminal', async () => {
    await store.add(aKey('\u001b[2J\u202eevil', 0));
    const { stdout } = await keys(['list']);
    expect(stdout).toContain('evil');
    expect(stdout).not.toMatch(/[^\P{Cc}\n]|\p{Cf}/u);
  });

  it('says where the table comes from if it is missing', async () => {
    const other = await createTestDatabase();
    try {
      const { exitCode, stderr } = await keys(['list'], { DATABASE_URL: other.url });
      expect(exitCode).toBe(3);
      expect(stderr).toBe(
        'The key ring cannot be used: table key_ring does not exist: npm run migrate creates it\n' +
          'A service with KEY_DIRECTORY=database creates the key ring when it starts, if it is missing.\n',
      );
    } finally {
      await other.drop();
    }
  });

  it.each([[[]], [['revoke']], [['revoke', '--no-wait', '--all', 'x']], [['list', 'more']], [['remove', 'x']]])(
    'reports wrong usage: %j',
    async (args) => {
      expect((await keys(args)).exitCode).toBe(2);
    },
  );

  it('reports a missing database, and one that cannot be reached, without the password', async () => {
    expect(await keys(['list'], {})).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('DATABASE_URL') });
    const DATABASE_URL = 'postgresql://someone:secret-word@127.0.0.1:1/none';
    await using program = runProgram('config/keys.ts', { DATABASE_URL }, ['list']);
    expect(await program.ended()).toBe(3);
    const stderr = program.stderr();
    expect(stderr).toMatch(/^The key ring cannot be used: .*\n.*npm run doctor.* says what to do\.\n$/);
    expect(stderr).not.toContain('secret-word');
  });
});
