import { describe, expect, it } from '@jest/globals';
import { readDetails } from '../../../adapters/files/clients-file.ts';
import { SqlClientRepository } from '../../../adapters/sql/sql-client-repository.ts';
import { SqlClientStore } from '../../../adapters/sql/sql-client-store.ts';
import { openClientsFile } from '../../../adapters/sqlite/clients-program/sqlite-clients-database.ts';
import type { FileLog } from '../../../adapters/sqlite/file-reader.ts';
import { openClientRows } from '../../../adapters/sqlite/sqlite-client-rows.ts';
import { COLUMN_BYTES_MAX } from '../../../application/client-lookup.ts';
import { columnsOf } from '../../../domain/details-document.ts';
import { A_CLIENT, describeClientRepository } from '../../contracts/client-repository.ts';
import { describeClientStore } from '../../contracts/client-store.ts';
import { pickDecoy } from '../../support/decoys.ts';
import { FixedClock } from '../../support/fixed-clock.ts';
import { createSqliteFile } from '../../support/sqlite-file.ts';

const CLOCK = new FixedClock();

async function openClients(path: string, log: FileLog = () => {}) {
  const { rows, ...opened } = await openClientRows(path, log);
  return { clients: new SqlClientRepository({ rows, log, clock: CLOCK, pickDecoy }), ...opened };
}

describe('the repository of clients', () => {
  const COLUMNS = { clientId: 'client_id', clientSecret: 'client_secret', clientName: 'client_name', scope: 'scope' };

  describeClientRepository('SqlClientRepository on SQLite', async () => {
    const file = await createSqliteFile();
    const { clients, dependency } = await openClients(file.path);
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
      async setDetails(clientId, details) {
        const columns = columnsOf(details);
        const values = [JSON.stringify(columns.credentials), JSON.stringify(columns.details)];
        file.run('update clients set credentials = ?, details = ? where client_id = ?', ...values, clientId);
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

  it('finds the costs of stored secrets, with and without ids', async () => {
    await using file = await createSqliteFile();
    const secrets = [
      { secret_id: 'a', name: 'a', client_secret: A_CLIENT.clientSecret.replace('$04$', '$12$') },
      { secret_id: 'b', name: 'b', client_secret: A_CLIENT.clientSecret.replace('$04$', '$31$') },
    ];
    await file.add({ ...A_CLIENT, details: { secrets } });
    await file.add({
      ...A_CLIENT,
      clientId: 'locked',
      clientSecret: `!${A_CLIENT.clientSecret.replace('$04$', '$07$')}`,
    });
    const opened = await openClients(file.path);
    const found: number[] = [];
    await opened.readCosts((costs) => found.push(...costs));
    expect(found.toSorted()).toEqual([12, 4, 7]);
    await opened.dependency.close();
  });

  it.each(['credentials', 'details'] as const)(
    'breaks a registration whose %s are longer than valid ones',
    async (field) => {
      await using file = await createSqliteFile();
      await file.add(A_CLIENT);
      file.run(`update clients set ${field} = ?`, JSON.stringify({ jwks: 'x'.repeat(COLUMN_BYTES_MAX[field]) }));
      const { clients, dependency } = await openClients(file.path);
      expect(await clients.findByClientId('client-1')).toMatchObject({ kind: 'broken', problem: { field } });
      expect(await clients.findKeys('client-1')).toEqual({ isRegistered: true, keys: [] });
      expect((await clients.findSecret('client-1', 'an-id')).secret.reveal()).toBe(A_CLIENT.clientSecret);
      await dependency.close();
    },
  );

  it('lists a client whose details only some readers take for JSON', async () => {
    await using file = await createSqliteFile();
    await file.add(A_CLIENT);
    file.run(`update clients set details = '{}' || char(0) || 'x'`);
    const store = new SqlClientStore(openClientsFile(file.path), readDetails);
    const pages = [];
    for await (const page of store.list({ prefix: '' })) pages.push(page);
    expect(pages).toMatchObject([[{ clientId: 'client-1', problem: expect.stringContaining('details') }]]);
    await store.close();
  });

  it('reports a registration that is broken, once for each look-up', async () => {
    await using file = await createSqliteFile();
    await file.add({ ...A_CLIENT, scope: '' });
    const lines: unknown[] = [];
    const { clients, dependency } = await openClients(file.path, (line) => lines.push(line));
    await clients.findByClientId('client-1');
    expect(lines).toEqual([
      { event: 'registration_broken', client_id: 'client-1', field: 'scope', rule: expect.any(String) },
    ]);
    await dependency.close();
  });

  it('refuses a path that is not a file', async () => {
    await using file = await createSqliteFile();
    await expect(openClients(file.folder)).rejects.toThrow(/is a folder: name a file in it$/);
    await expect(openClients('/dev/null')).rejects.toThrow(/is a device, a pipe or a socket: name a file$/);
  });
});

describe('the store of clients', () => {
  describeClientStore('SqlClientStore on SQLite', async (recorder) => {
    const file = await createSqliteFile();
    const stores: SqlClientStore[] = [];
    const another = async () => {
      const store = new SqlClientStore(openClientsFile(file.path), readDetails, recorder);
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

  it('refuses a removal that a trigger of the table leaves out', async () => {
    await using file = await createSqliteFile();
    await file.add(A_CLIENT);
    file.run('create trigger leave_out before delete on clients begin select raise(ignore); end');
    const store = new SqlClientStore(openClientsFile(file.path), readDetails);
    await expect(store.remove('client-1')).rejects.toMatchObject({ name: 'ValueRefused' });
    expect(await store.find('client-1')).toMatchObject({ clientId: 'client-1' });
    await store.close();
  });
});
