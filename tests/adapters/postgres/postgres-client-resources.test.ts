import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { DatabaseLine } from '../../../adapters/postgres/health.ts';
import { openClientRepository } from '../../../adapters/postgres/postgres-client-repository.ts';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';
import { A_CLIENT } from '../../contracts/client-repository.ts';
import { type ClientWithResources, describeClientResources } from '../../contracts/client-resources.ts';
import { clientsTable } from '../../support/clients-table.ts';
import { freshTables } from '../../support/details-tables.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';

const API = 'https://api.example.com';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
}, 120_000);
afterAll(() => database.drop());

const emptyTables = () => freshTables(database);

/** Opens the tables as the service does. */
async function open(url = database.url, log: (line: DatabaseLine) => void = () => {}) {
  const options = { url, poolSize: 2, deadlineMs: 10_000 };
  const { adapter, resources, dependency } = await openClientRepository(options, log);
  return { repository: adapter, clientResources: resources, readiness: dependency.readiness, close: dependency.close };
}

async function addResource(clientId: string, id: string, resource: string): Promise<void> {
  await database.query('insert into client_resources values ($1, $2, $3)', [clientId, id, resource]);
}

async function add(client: ClientWithResources): Promise<string> {
  const { clientId, resources } = client;
  await clientsTable(database).add({ ...A_CLIENT, clientId });
  const [row] = await database.query('select id::text as id from clients where client_id = $1', [clientId]);
  for (const resource of resources) await addResource(clientId, String(row?.['id']), resource);
  return String(row?.['id']);
}

describeClientResources('postgresClientResources', async (clients) => {
  await emptyTables();
  const { clientResources, close } = await open();
  const ids = new Map<string, string>();
  for (const client of clients) ids.set(client.clientId, await add(client));
  return { clientResources, close, idOf: (clientId) => ids.get(clientId) ?? 'none' };
});

describe('postgresClientResources', () => {
  beforeEach(emptyTables);

  it('reads what is stored now', async () => {
    const { clientResources, close } = await open();
    const id = await add({ clientId: 'client-1', resources: [] });
    expect(await clientResources.findResources({ clientId: 'client-1', id })).toEqual([]);
    await addResource('client-1', id, API);
    expect(await clientResources.findResources({ clientId: 'client-1', id })).toEqual([API]);
    await database.query('delete from client_resources');
    expect(await clientResources.findResources({ clientId: 'client-1', id })).toEqual([]);
    await close();
  });

  it('does not give a new registration the resources of a deleted one with the same client id', async () => {
    const { clientResources, repository, close } = await open();
    await add({ clientId: 'client-1', resources: [API] });
    await clientsTable(database).remove('client-1');
    await clientsTable(database).add({ ...A_CLIENT, clientId: 'client-1' });
    const lookup = await repository.findByClientId('client-1');
    if (lookup.kind !== 'found') throw new Error(lookup.kind);
    expect(await clientResources.findResources(lookup.registration)).toEqual([]);
    await close();
  });

  it('reads at most as many as a registration may have, whatever the table contains', async () => {
    const { clientResources, close } = await open();
    const resources = Array.from({ length: 30 }, (_, number) => `${API}/${String(number).padStart(2, '0')}`);
    const id = await add({ clientId: 'client-1', resources });
    expect(await clientResources.findResources({ clientId: 'client-1', id })).toEqual(resources.slice(0, 20));
    await close();
  });

  it('uses the primary key, whatever number of rows the table has', async () => {
    await database.query(`insert into client_resources
      select 'client-' || n, n::text, '${API}' from generate_series(1, 5000) as n`);
    await database.query('analyze client_resources');
    const plan = await database.query(`explain select resource from client_resources
      where client_id = 'client-7' and registration_id = '7' order by resource limit 20`);
    expect(JSON.stringify(plan)).toContain('client_resources_pkey');
  });

  it('finds none in a database without the table, and says nothing about it', async () => {
    await database.query('alter table client_resources rename to elsewhere');
    const lines: DatabaseLine[] = [];
    const { clientResources, readiness, close } = await open(database.url, (line) => lines.push(line));
    expect(await clientResources.findResources({ clientId: 'client-1', id: '1' })).toEqual([]);
    expect(readiness()).toMatchObject({ ready: true });
    expect(lines).toEqual([]);
    await close();
    await database.query('alter table elsewhere rename to client_resources');
  });

  it('is unavailable while its role may not read the table, and logs that once, when it starts', async () => {
    const { name, url } = await database.createRole();
    await (await open()).close();
    await database.query(`grant select on clients to ${name}`);
    const lines: DatabaseLine[] = [];
    const { clientResources, readiness, close } = await open(url, (line) => lines.push(line));
    const problem =
      'the database role may not read the column client_id, registration_id, resource of table client_resources';
    for (let time = 0; time < 2; time += 1) {
      const answer = clientResources.findResources({ clientId: 'client-1', id: '1' });
      await expect(answer).rejects.toBeInstanceOf(DependencyUnavailable);
    }
    expect(lines.filter((line) => JSON.stringify(line).includes('client_resources'))).toEqual([
      { event: 'table_unusable', problem: expect.stringContaining(problem), table: 'client_resources' },
    ]);
    expect(readiness()).toMatchObject({
      ready: true,
      note: { text: expect.stringContaining(`client_resources: ${problem}`) },
    });
    await close();
    await database.query(`revoke select on clients from ${name}`);
  });

  it('throws DependencyUnavailable while the database is out of reach, also if it was so from the start', async () => {
    const { clientResources, close } = await open('postgresql://auth:pw@127.0.0.1:1/none');
    const answer = clientResources.findResources({ clientId: 'client-1', id: '1' });
    await expect(answer).rejects.toBeInstanceOf(DependencyUnavailable);
    await close();
  });

  it('throws DependencyUnavailable if the table disappears while it runs, and finds it again', async () => {
    const { clientResources, close } = await open();
    const id = await add({ clientId: 'client-1', resources: [API] });
    expect(await clientResources.findResources({ clientId: 'client-1', id })).toEqual([API]);
    await database.query('alter table client_resources rename to elsewhere');
    const answer = clientResources.findResources({ clientId: 'client-1', id });
    await expect(answer).rejects.toBeInstanceOf(DependencyUnavailable);
    await database.query('alter table elsewhere rename to client_resources');
    expect(await clientResources.findResources({ clientId: 'client-1', id })).toEqual([API]);
    await close();
  });
});
