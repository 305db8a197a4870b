import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  CLIENT_SUBJECTS,
  postgresFederatedClients,
} from '../../../../adapters/postgres/federated-jwt/postgres-federated-clients.ts';
import type { DatabaseLine } from '../../../../adapters/postgres/health.ts';
import { migrateDatabase } from '../../../../adapters/postgres/migrate-database.ts';
import { openClientRepository } from '../../../../adapters/postgres/postgres-client-repository.ts';
import { DependencyUnavailable } from '../../../../application/ports/dependency-unavailable.ts';
import { describeFederatedClients } from '../../../contracts/federated-clients.ts';
import { addWorkload } from '../../../support/client-subjects.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/test-database.ts';

const RULE = { issuer: 'https://issuer.test', subject: 'workload', claims: {} };

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  await open().then(
    ({ close }) => close(),
    () => {},
  );
  await migrateDatabase(database.url);
}, 120_000);
afterAll(() => database.drop());

async function open(log: (line: DatabaseLine) => void = () => {}, url = database.url) {
  const options = { url, poolSize: 2, deadlineMs: 10_000 };
  const { runnerOf, dependency } = await openClientRepository(options, log, [CLIENT_SUBJECTS]);
  return { clients: postgresFederatedClients(runnerOf(CLIENT_SUBJECTS), log), close: () => dependency.close() };
}

async function fresh(log?: (line: DatabaseLine) => void) {
  const opened = await open(log);
  await database.query('truncate clients, client_subjects');
  const add = (clientId: string, subjects: Parameters<typeof addWorkload>[2]) =>
    addWorkload(database, clientId, subjects);
  return { ...opened, add };
}

describeFederatedClients('postgresFederatedClients', () => fresh());

describe('postgresFederatedClients', () => {
  const identity = { issuer: RULE.issuer, subject: RULE.subject };

  test('does not open without the table of a migration, and says what to run', async () => {
    const empty = await createTestDatabase();
    await expect(open(undefined, empty.url)).rejects.toThrow(
      'table client_subjects does not exist: run npm run migrate',
    );
    await empty.drop();
  });

  test('notices at the next look-up that a rule was changed or a client removed', async () => {
    const { add, clients, close } = await fresh();
    await add('billing', [RULE]);
    await database.query(`update client_subjects set claims = '{"/a":"b"}'`);
    expect(await clients.findBySubject(identity)).toMatchObject([{ claims: { '/a': 'b' } }]);
    await database.query('delete from clients');
    expect(await clients.findBySubject(identity)).toEqual([]);
    await close();
  });

  test('never applies the rule of a deleted registration to a new one of the same id', async () => {
    const { add, clients, close } = await fresh();
    await add('billing', [RULE]);
    await database.query('delete from clients');
    await add('billing', []);
    expect(await clients.findBySubject(identity)).toEqual([]);
    await close();
  });

  test.each(['', 'null', '[]', '{"a":1}', '{"a":["b"]}', 'no json', '"text"'])(
    'finds a rule with the conditions %s, which cannot be read',
    async (claims) => {
      const { add, clients, close } = await fresh();
      await add('billing', [RULE]);
      await database.query('update client_subjects set claims = $1', [claims]);
      expect(await clients.findBySubject(identity)).toMatchObject([{ clientId: 'billing', claims: undefined }]);
      await close();
    },
  );

  test('reports a registration that is broken, and logs it', async () => {
    const lines: DatabaseLine[] = [];
    const { add, clients, close } = await fresh((line) => lines.push(line));
    await add('billing', [RULE]);
    await database.query(`update clients set scope = ''`);
    expect(await clients.findBySubject(identity)).toMatchObject([{ lookup: { kind: 'broken' } }]);
    expect(lines).toMatchObject([{ event: 'registration_broken', client_id: 'billing', field: 'scope' }]);
    await close();
  });

  test.each(['"C"', '"en-x-icu"', '"default"'])(
    'finds clients by the index of the column, whose collation is %s',
    async (collation) => {
      const { add, clients, close } = await fresh();
      await database.query(`alter table clients alter column client_id type varchar(255) collate ${collation}`);
      await add('billing', [RULE]);
      expect(await clients.findBySubject(identity)).toMatchObject([{ clientId: 'billing' }]);
      await database.query(
        `insert into clients (client_id, client_secret, client_name, scope)
          select 'client-' || n, '*', 'A client', 'read' from generate_series(1, 5000) n`,
      );
      await database.query('analyze clients');
      const plan = await database.query(`explain select clients.scope from client_subjects rule join clients
        on clients.client_id = textin(textout(rule.client_id)) and clients.id::text = rule.registration_id
        where rule.issuer = 'https://issuer.test' and rule.subject = 'workload'`);
      expect(JSON.stringify(plan)).toContain('clients_client_id_unique');
      await close();
    },
  );

  test('is unavailable while the database is', async () => {
    const { clients, close } = await fresh();
    await close();
    await expect(clients.findBySubject(identity)).rejects.toBeInstanceOf(DependencyUnavailable);
  });
});
