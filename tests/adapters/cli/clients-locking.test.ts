import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import bcrypt from 'bcrypt';
import pg from 'pg';
import { clientsTable } from '../../support/clients-table.ts';
import { GOOD_CLIENT } from '../../support/running-service.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';
import { until } from '../../support/until.ts';
import { clientsInProcess, clientsProgram, type RunClients } from './clients-program.ts';

let database: TestDatabase;
let clients: RunClients;

beforeAll(async () => {
  database = await createTestDatabase();
  clients = clientsInProcess(database.url);
  // Creates the table.
  await clients(['list']);
}, 120_000);
afterAll(() => database.drop());
beforeEach(async () => {
  await database.query('delete from clients');
  await clientsTable(database).add({
    clientId: 'billing',
    clientSecret: GOOD_CLIENT.client_secret,
    clientName: 'Billing',
    scope: 'read',
  });
});

async function storedSecret(): Promise<string> {
  const [row] = await database.query("select client_secret from clients where client_id = 'billing'");
  return String(row?.['client_secret']);
}

describe('clients disable and enable', () => {
  it('lock and unlock the hash, and change nothing the second time', async () => {
    const hash = await storedSecret();
    const steps: [string, string, string][] = [
      ['disable', 'Client billing is disabled.\n', `!${hash}`],
      ['disable', 'Client billing was disabled already; nothing was changed.\n', `!${hash}`],
      ['enable', 'Client billing is enabled.\n', hash],
      ['enable', 'Client billing was not disabled; nothing was changed.\n', hash],
    ];
    for (const [command, stderr, stored] of steps) {
      const run = await clients([command, 'billing', '--json']);
      expect(run).toMatchObject({ exitCode: 0, stderr });
      expect(run.json()).toMatchObject({ client_id: 'billing', state: `${command}d` });
      expect(await storedSecret()).toBe(stored);
    }
  });

  it('keep a disabled client disabled when its secret is rotated', async () => {
    await clients(['disable', 'billing']);
    const run = await clients(['rotate', 'billing', '--cost', '4', '--secret-stdin', '--json'], 'a-new-long-secret');
    expect(run.stderr).toBe('Client billing has a new secret. It stays disabled.\n');
    expect(run.json()['state']).toBe('disabled');
    await clients(['enable', 'billing']);
    expect(await bcrypt.compare('a-new-long-secret', await storedSecret())).toBe(true);
  });

  it('do not unlock a client without a hash behind the lock', async () => {
    await database.query("update clients set client_secret = '!locked by hand'");
    expect(await clients(['enable', 'billing'])).toMatchObject({
      exitCode: 1,
      stdout: '',
      stderr: 'Client billing is locked without a hash behind the lock: give it a new secret with rotate first.\n',
    });
    await clients(['rotate', 'billing', '--cost', '4', '--secret-stdin'], 'a-new-long-secret');
    expect((await clients(['enable', 'billing'])).exitCode).toBe(0);
    expect(await bcrypt.compare('a-new-long-secret', await storedSecret())).toBe(true);
  });
});

describe('clients update', () => {
  it('changes name and scopes, records both, and leaves everything else as it is', async () => {
    const hash = await storedSecret();
    const run = await clients(['update', 'billing', '--scope', 'read write', '--name', 'Invoices', '--json']);
    expect(run).toMatchObject({ exitCode: 0, stderr: 'Client billing is changed.\n' });
    expect(run.json()).toMatchObject({ client_name: 'Invoices', scope: 'read write', state: 'enabled' });
    expect(run.audit).toMatchObject([
      {
        event: 'client_changed',
        changed: ['client_name', 'scope'],
        before: { client_name: 'Billing', scope: 'read' },
        after: { client_name: 'Invoices', scope: 'read write' },
      },
    ]);
    await clients(['update', 'billing', '--name', 'Billing again']);
    expect((await clients(['show', 'billing', '--json'])).json()).toMatchObject({
      client_name: 'Billing again',
      scope: 'read write',
    });
    expect(await storedSecret()).toBe(hash);
  });

  it.each([
    [['--scope', 'a  b'], 2, 'scope must be one or more scope tokens'],
    [['--name', ''], 2, 'client_name must not be empty.\n'],
    [[], 2, 'Give --name, --scope or both.\n'],
  ])('refuses %j', async (options, exitCode, stderr) => {
    const run = await clients(['update', 'billing', ...options]);
    expect(run).toMatchObject({ exitCode, stdout: '', audit: [], stderr: expect.stringContaining(stderr) });
  });
});

describe('an id that no client has', () => {
  it.each(['show', 'rotate', 'disable', 'remove'])('is answered by %s with the id that is like it', async (command) => {
    const stderr = 'No client has the id biling.\nDid you mean billing?\n';
    expect(await clients([command, 'biling'])).toMatchObject({ exitCode: 1, stdout: '', stderr });
  });
});

describe('clients remove', () => {
  it('deletes the client, and reports the second time that there is none', async () => {
    const run = await clients(['remove', 'billing', '--json']);
    expect(run).toMatchObject({ exitCode: 0, stderr: 'Client billing is removed.\n' });
    expect(run.json()).toMatchObject({ client_id: 'billing', state: 'removed' });
    expect(await database.query('select from clients')).toEqual([]);
    expect(await clients(['remove', 'billing'])).toMatchObject({
      exitCode: 1,
      stdout: '',
      stderr: 'No client has the id billing.\n',
    });
  });

  it.each(['disable', 'enable'])('leaves no client to %s', async (command) => {
    expect(await clients([command, 'removed'])).toMatchObject({
      exitCode: 1,
      stdout: '',
      stderr: 'No client has the id removed.\n',
    });
  });
});

describe('two administrators at the same time', () => {
  const started = (args: readonly string[], stdin?: string) => clientsProgram(database.url)(args, stdin);
  let rival: pg.Client;
  beforeEach(async () => {
    rival = new pg.Client({ connectionString: database.url });
    await rival.connect();
    await rival.query('begin');
  });

  async function untilWaiting(programs: number): Promise<void> {
    const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    await until(async () => (await database.query(waiting)).length === programs, 'the programs wait for the rival');
  }

  async function commit(): Promise<void> {
    await rival.query('commit');
    await rival.end();
  }

  it('add the same client: one of them gets the answer that the id is taken', async () => {
    await rival.query(`insert into clients (client_id, client_secret, client_name, scope)
      values ('contested', 'x', 'The rival''s', 'read')`);
    const run = started(['add', 'contested', '--name', 'Billing', '--scope', 'read', '--cost', '4']);
    await untilWaiting(1);
    await commit();
    expect(await run).toMatchObject({
      exitCode: 1,
      stdout: '',
      stderr: 'The client id contested is taken; nothing was changed.\n',
    });
    expect(await database.query("select client_name from clients where client_id = 'contested'")).toEqual([
      { client_name: "The rival's" },
    ]);
  });

  it('disable a client and rotate its secret: it has the new secret, and is disabled', async () => {
    await rival.query("select from clients where client_id = 'billing' for update");
    const runs = Promise.all([
      started(['disable', 'billing']),
      started(['rotate', 'billing', '--cost', '4', '--secret-stdin'], 'a-new-long-secret'),
    ]);
    await untilWaiting(2);
    await commit();
    expect((await runs).map(({ exitCode }) => exitCode)).toEqual([0, 0]);
    const stored = await storedSecret();
    expect(stored).toMatch(/^!\$2b\$/);
    expect(await bcrypt.compare('a-new-long-secret', stored.slice(1))).toBe(true);
  });

  it('remove a client and rotate its secret: the client does not exist, and rotate reports that', async () => {
    await rival.query("delete from clients where client_id = 'billing'");
    const run = started(['rotate', 'billing', '--cost', '4']);
    await untilWaiting(1);
    await commit();
    expect(await run).toMatchObject({ exitCode: 1, stdout: '', stderr: 'No client has the id billing.\n' });
  });
});
