import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { isInstalled, where } from '../../support/installed.ts';
import { runLine } from '../../support/program.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';
import { clientsInProcess, type RunClients } from './clients-program.ts';

let database: TestDatabase;
let clients: RunClients;

beforeAll(async () => {
  database = await createTestDatabase();
  clients = clientsInProcess(database.url);
  await clients(['list']);
}, 120_000);
afterAll(() => database.drop());
beforeEach(async () => {
  await database.query('delete from clients');
  await clients(['add', 'billing', '--name', 'Billing', '--scope', 'read', '--cost', '4']);
});

async function storedSecret(): Promise<unknown> {
  return (await database.query("select client_secret from clients where client_id = 'billing'"))[0]?.['client_secret'];
}

/** What a person sees and answers: `script` gives the program a pseudo-terminal. */
async function atTerminal(args: string, answer: string, settings: Readonly<Record<string, string>> = {}) {
  const command = `'${process.execPath}' config/clients.ts ${args}`;
  await using program = runLine(`script --quiet --return --command "${command}" /dev/null`, {
    DATABASE_URL: database.url,
    ...settings,
  });
  const { stdin } = program.process;
  if (answer !== '') {
    await program.printed(/\[y\/N\] /);
    stdin?.write(answer);
  }
  const exitCode = await program.ended();
  return { exitCode, shown: program.stdout().replaceAll('\r', '') };
}

where(isInstalled('script'), describe)('npm run clients at a terminal', () => {
  it.each(['n\n', '\n', 'yesterday\n'])('removes nothing after the answer %j', async (answer) => {
    const { exitCode, shown } = await atTerminal('remove billing', answer);
    expect({ exitCode, shown }).toMatchObject({ exitCode: 1, shown: expect.stringContaining('Nothing was changed.') });
    expect(shown).toContain('Delete client billing with all its secrets and keys? [y/N]');
    expect(await storedSecret()).toBeDefined();
  });

  it('rotates after a yes, and says in one line that no record is kept', async () => {
    const before = await storedSecret();
    const { exitCode, shown } = await atTerminal('rotate billing --cost 4', 'y\n');
    expect(exitCode).toBe(0);
    expect(shown).toMatch(/^Change [\w-]{36} \(client_changed\) is not recorded: AUDIT_FILE names a file/m);
    expect(shown).not.toContain('"log"');
    expect(await storedSecret()).not.toBe(before);
  });

  it('asks nothing with --yes, or where an old secret stays valid', async () => {
    expect((await atTerminal('rotate billing --keep-old-for 1h', '')).shown).toContain('has no id');
    expect((await atTerminal('remove billing --yes', '')).exitCode).toBe(0);
    expect(await storedSecret()).toBeUndefined();
  });

  it('shows the whole record where AUDIT_REQUIRED says that a change needs one', async () => {
    const { shown } = await atTerminal('disable billing', '', { AUDIT_REQUIRED: 'true' });
    expect(shown).toContain('"log":"audit"');
  });
});
