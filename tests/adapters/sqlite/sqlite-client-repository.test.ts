import { expect, it } from '@jest/globals';
import { openClientRepository } from '../../../adapters/sqlite/sqlite-client-repository.ts';
import { A_CLIENT, describeClientRepository } from '../../contracts/client-repository.ts';
import { createSqliteFile } from '../../support/sqlite-file.ts';

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
