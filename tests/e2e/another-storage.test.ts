import { randomUUID } from 'node:crypto';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { describeClientRepository, type NewClient } from '../contracts/client-repository.ts';
import {
  FolderClientRepository,
  fileOf,
  type StoredFile,
} from '../support/another-storage/folder-client-repository.ts';
import { FixedClock } from '../support/fixed-clock.ts';
import { freePort } from '../support/free-port.ts';
import { requestToken } from '../support/http.ts';
import { runProgram } from '../support/program.ts';
import { REGISTERED_CLIENT, REGISTERED_SECRET } from '../support/registered-client.ts';

const ROOT = resolve(import.meta.dirname, '../..');

async function store(folder: string, { clientId, clientSecret, clientName, scope, details }: NewClient) {
  const stored: StoredFile = {
    ...{ id: randomUUID(), clientId, clientSecret, clientName, scope },
    secrets: details?.secrets ?? [],
  };
  await writeFile(fileOf(folder, clientId), JSON.stringify(stored));
}

describeClientRepository('FolderClientRepository', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'clients-'));
  const rewrite = async (clientId: string, changes: (stored: StoredFile) => Partial<StoredFile>) => {
    const stored: StoredFile = JSON.parse(await readFile(fileOf(folder, clientId), 'utf8'));
    await writeFile(fileOf(folder, clientId), JSON.stringify({ ...stored, ...changes(stored) }));
  };
  return {
    repository: new FolderClientRepository(folder, new FixedClock()),
    add: (client) => store(folder, client),
    change: (clientId, { details: _details, ...changes }) =>
      rewrite(clientId, () => ({ id: randomUUID(), ...changes })),
    addSecret: (clientId, secret) => rewrite(clientId, ({ secrets }) => ({ secrets: [...secrets, secret] })),
    remove: (clientId) => rm(fileOf(folder, clientId)),
    close: () => rm(folder, { recursive: true }),
  };
});

describe('a storage that is added as docs/adding-a-storage.md says', () => {
  let tree: string;
  beforeAll(async () => {
    tree = await mkdtemp(join(tmpdir(), 'another-storage-'));
    for (const name of ['domain', 'application', 'adapters', 'config', 'docs/openapi.json', 'package.json']) {
      await cp(join(ROOT, name), join(tree, name), { recursive: true });
    }
    await symlink(join(ROOT, 'node_modules'), join(tree, 'node_modules'));
  });
  afterAll(() => rm(tree, { recursive: true }));

  async function edit(file: string, before: string, after: string): Promise<void> {
    const text = await readFile(join(tree, file), 'utf8');
    expect(text.split(before)).toHaveLength(2);
    await writeFile(join(tree, file), text.replace(before, after));
  }

  it('issues a token to its client, with each optional part at its default', async () => {
    await mkdir(join(tree, 'adapters/folder'));
    const adapter = await readFile(join(ROOT, 'tests/support/another-storage/folder-client-repository.ts'), 'utf8');
    await writeFile(
      join(tree, 'adapters/folder/folder-client-repository.ts'),
      adapter.replaceAll("'../../../", "'../../"),
    );
    await edit(
      'config/settings/settings.ts',
      "['memory', 'sqlite', 'postgres'] as const",
      "['memory', 'sqlite', 'postgres', 'folder'] as const",
    );
    await edit(
      'config/settings/settings.ts',
      '      CLIENTS_FILE: ',
      '      CLIENTS_FOLDER: text().default("."),\n      CLIENTS_FILE: ',
    );
    await edit(
      'config/storages.ts',
      '  async memory({',
      `  async folder({ configuration: { settings }, clock }) {
    const { FolderClientRepository } = await import('../adapters/folder/folder-client-repository.ts');
    return { clients: new FolderClientRepository(settings.CLIENTS_FOLDER, clock) };
  },

  async memory({`,
    );
    const folder = join(tree, 'clients');
    await mkdir(folder);
    await store(folder, REGISTERED_CLIENT);

    const port = String(await freePort());
    await using service = runProgram(join(tree, 'config/main.ts'), {
      CLIENT_REPOSITORY: 'folder',
      CLIENTS_FOLDER: folder,
      CLIENT_AUTHENTICATION_METHODS: 'client_secret_post,private_key_jwt',
      PORT: port,
      MANAGEMENT_PORT: '0',
    });
    await service.printed(/"event":"started"/);
    const url = `http://127.0.0.1:${port}`;
    const form = {
      grant_type: 'client_credentials',
      client_id: REGISTERED_CLIENT.clientId,
      client_secret: REGISTERED_SECRET,
    };
    expect((await requestToken(url, form)).status).toBe(200);
    expect((await requestToken(url, { ...form, client_id: 'nobody' })).status).toBe(401);
    expect((await requestToken(url, { ...form, resource: 'https://api.example.com' })).status).toBe(400);
  });
});
