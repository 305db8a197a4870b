import { describe, expect, it } from '@jest/globals';
import { SqliteClientStore } from '../../../adapters/sqlite/clients-program/sqlite-client-store.ts';
import { sqliteFederatedClients } from '../../../adapters/sqlite/federated-jwt/sqlite-federated-clients.ts';
import { openClientRepository } from '../../../adapters/sqlite/sqlite-client-repository.ts';
import { NO_DETAILS } from '../../../domain/client-details.ts';
import type { NewClient } from '../../../domain/client-registration.ts';
import { A_CLIENT, describeClientRepository } from '../../contracts/client-repository.ts';
import { describeClientResources } from '../../contracts/client-resources.ts';
import { A_FILE, describeClientStore } from '../../contracts/client-store.ts';
import { describeFederatedClients } from '../../contracts/federated-clients.ts';
import { generateSigningKey } from '../../support/assertions.ts';
import { createSqliteFile } from '../../support/sqlite-file.ts';

describe('the repository of clients', () => {
  const COLUMNS = { clientId: 'client_id', clientSecret: 'client_secret', clientName: 'client_name', scope: 'scope' };

  describeClientRepository('SqliteClientRepository', async () => {
    const file = await createSqliteFile();
    const { clients, dependency } = await openClientRepository(file.path, () => {});
    return {
      repository: clients,
      add: file.add,
      async change(clientId, { details: _details, ...changes }) {
        for (const [field, value] of Object.entries(changes)) {
          file.run(
            `update clients set ${COLUMNS[field as keyof typeof COLUMNS]} = ? where client_id = ?`,
            value,
            clientId,
          );
        }
      },
      async addSecret(clientId, { secret_id, name, encoded, expires_at = null as unknown as number }) {
        file.run(
          `insert into client_secrets (registration_id, secret_id, name, encoded, expires_at)
          select id, ?, ?, ?, ? from clients where client_id = ?`,
          ...[secret_id, name, encoded, expires_at, clientId],
        );
      },
      async remove(clientId) {
        file.run('delete from clients where client_id = ?', clientId);
      },
      async close() {
        await dependency.close();
        await file.remove();
      },
    };
  });

  it('finds the costs of stored secrets, with and without ids, and counts what expires soon', async () => {
    await using file = await createSqliteFile();
    const soon = Math.floor(Date.now() / 1_000) + 1_000;
    const secrets = [
      { secret_id: 'a', name: 'a', encoded: A_CLIENT.clientSecret.replace('$04$', '$12$'), expires_at: soon },
      { secret_id: 'b', name: 'b', encoded: A_CLIENT.clientSecret.replace('$04$', '$31$') },
    ];
    await file.add({ ...A_CLIENT, details: { secrets, keys: [], subjects: [], resources: [] } });
    await file.add({
      ...A_CLIENT,
      clientId: 'locked',
      clientSecret: `!${A_CLIENT.clientSecret.replace('$04$', '$07$')}`,
    });
    const opened = await openClientRepository(file.path, () => {});
    const found: number[] = [];
    await opened.readCosts((costs) => found.push(...costs));
    expect(found.toSorted()).toEqual([12, 4, 7]);
    expect(opened.expiring()).toEqual({ secrets: 1, keys: 0 });
    await opened.dependency.close();
  });

  it('reports a registration that is broken, once for each look-up', async () => {
    await using file = await createSqliteFile();
    await file.add({ ...A_CLIENT, scope: '' });
    const lines: unknown[] = [];
    const { clients, dependency } = await openClientRepository(file.path, (line) => lines.push(line));
    await clients.findByClientId('client-1');
    expect(lines).toEqual([
      { event: 'registration_broken', client_id: 'client-1', field: 'scope', rule: expect.any(String) },
    ]);
    await dependency.close();
  });

  it('refuses a path that is not a file', async () => {
    await using file = await createSqliteFile();
    await expect(openClientRepository(file.folder, () => {})).rejects.toThrow(/is a folder: name a file in it$/);
    await expect(openClientRepository('/dev/null', () => {})).rejects.toThrow(
      /is a device, a pipe or a socket: name a file$/,
    );
  });
});

describe('resources of clients', () => {
  describeClientResources('sqliteClientResources', async (clients) => {
    const file = await createSqliteFile();
    for (const { clientId, resources } of clients) {
      await file.add({ ...A_CLIENT, clientId, details: { ...NO_DETAILS, resources } });
    }
    const { resources, dependency } = await openClientRepository(file.path, () => {});
    return {
      clientResources: resources,
      idOf: (clientId) => String(clients.findIndex((client) => client.clientId === clientId) + 1),
      async close() {
        await dependency.close();
        await file.remove();
      },
    };
  });
});

describe('the store of clients', () => {
  describeClientStore('SqliteClientStore', async (recorder) => {
    const file = await createSqliteFile();
    const stores: SqliteClientStore[] = [];
    const another = async () => {
      const store = new SqliteClientStore(file.path, recorder);
      stores.push(store);
      return store;
    };
    return {
      store: await another(),
      another,
      async close() {
        await Promise.all(stores.map((store) => store.close()));
        await file.remove();
      },
    };
  });

  it('imports clients with their details, and replaces those of stored clients', async () => {
    await using file = await createSqliteFile();
    const store = new SqliteClientStore(file.path);
    const details = {
      secrets: [{ secret_id: 'an-id', name: 'of spring', encoded: A_CLIENT.clientSecret, expires_at: 2_000_000_000 }],
      keys: [{ jwk: generateSigningKey('EdDSA').jwk }],
      subjects: [{ issuer: 'https://issuer.example', subject: 'repo:a/b', claims: { '/a': 'é"' } }],
      resources: ['https://a.example', 'https://b.example'],
    };
    const importAll = async (...clients: readonly NewClient[]) => {
      const started = await store.startImport();
      await started.add(clients);
      await started.save(A_FILE, 'replace');
    };
    await importAll({ ...A_CLIENT, details }, { ...A_CLIENT, clientId: 'without' });
    expect((await store.find('client-1')).details).toMatchObject(details);
    expect((await store.find('without')).details).toEqual(NO_DETAILS);
    await importAll({ ...A_CLIENT, details: { ...NO_DETAILS, resources: ['https://b.example'] } });
    expect((await store.find('client-1')).details).toEqual({ ...NO_DETAILS, resources: ['https://b.example'] });
    await importAll(A_CLIENT);
    expect((await store.find('client-1')).details.resources).toEqual(['https://b.example']);
    await store.close();
  });
});

describe('federated clients', () => {
  describeFederatedClients('sqliteFederatedClients', async () => {
    const file = await createSqliteFile();
    const opened = await openClientRepository(file.path, () => {});
    return {
      clients: sqliteFederatedClients(opened.file, () => {}),
      add: (clientId, subjects) => file.add({ ...A_CLIENT, clientId, details: { ...NO_DETAILS, subjects } }),
      async close() {
        await opened.dependency.close();
        await file.remove();
      },
    };
  });
});
