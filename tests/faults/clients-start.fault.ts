import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { clientsInProcess, clientsProgram, type RunClients } from '../adapters/cli/clients-program.ts';
import { freshTables } from '../support/details-tables.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';

// Most tests of the commands run them in the test's own process. Here and in these files they are programs that are
// started: (in tests/adapters/cli) clients-secrets.test.ts (add), clients-locking.test.ts (rotate, disable),
// clients-import.test.ts (import, list) and clients-explain.test.ts (explain).

let database: TestDatabase;
let clients: RunClients;
let here: RunClients;
let folder: string;
let jwks: string;

beforeAll(async () => {
  database = await createTestDatabase();
  await freshTables(database);
  clients = clientsProgram(database.url);
  folder = await mkdtemp(join(tmpdir(), 'clients-start-'));
  jwks = join(folder, 'key.json');
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  await writeFile(jwks, JSON.stringify(publicKey.export({ format: 'jwk' })));
  here = clientsInProcess(database.url);
  for (const id of ['one', 'two', 'three']) await here(['add', id, '--name', 'X', '--scope', 'read', '--cost', '4']);
}, 120_000);
afterAll(async () => {
  await database.drop();
  await rm(folder, { recursive: true });
});

/** The document that a started program prints for this command line. */
async function answer(line: string): Promise<unknown> {
  const run = await clients([...line.split(' '), '--json']);
  expect(run).toMatchObject({ exitCode: 0 });
  return run.json();
}

async function shown(id: string): Promise<unknown> {
  return (await here(['show', id, '--json'])).json();
}

describe('npm run clients, started for each command', () => {
  it('hashes the secret on standard input', async () => {
    const run = await clients(['hash', '--cost', '4'], 'a-good-long-secret\n');
    expect(run).toMatchObject({ exitCode: 0, stderr: '', stdout: expect.stringMatching(/^\$2b\$04\$.{53}\n$/) });
  });

  it('shows, enables and removes clients', async () => {
    expect(await answer('show one')).toMatchObject({ client_id: 'one', state: 'enabled' });
    expect(await answer('enable two')).toMatchObject({ client_id: 'two', state: 'enabled' });
    expect(await answer('remove three')).toMatchObject({ client_id: 'three', state: 'removed' });
  });

  it('adds, lists and removes secrets', async () => {
    const added = (await answer('secrets add one --cost 4')) as { client_secret: string };
    const id = added.client_secret.slice(0, 10);
    expect(await answer('secrets list one')).toHaveLength(2);
    await answer(`secrets remove one ${id}`);
    expect(await database.query("select from clients where details ? 'secrets'")).toEqual([]);
  });

  it('adds and removes keys, subjects and resources', async () => {
    const identity = '--issuer https://issuer.example --subject s';
    const [withKey] = await Promise.all([
      answer(`update one --add-key ${jwks}`) as Promise<{ keys: { key_id: string }[] }>,
      answer(`update one --add-subject ${identity}`),
      answer('update one --add-resource https://api.example/'),
    ]);
    const [{ key_id = '' } = {}] = withKey.keys;
    expect(await shown('one')).toMatchObject({
      keys: [{ key_id }],
      federated_subjects: [{ subject: 's' }],
      resources: ['https://api.example/'],
    });
    await Promise.all([
      // A thumbprint may begin with a hyphen.
      clients(['update', 'one', `--remove-key=${key_id}`, '--json']),
      answer(`update one --remove-subject ${identity}`),
      answer('update one --remove-resource https://api.example/'),
    ]);
    expect(await shown('one')).toMatchObject({ keys: [], federated_subjects: [], resources: [] });
  });
});
