import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { DatabaseLine } from '../../adapters/postgres/database-log.ts';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import type { Readiness } from '../../application/ports/health-check.ts';
import type { KeyRingStore } from '../../application/ports/key-ring-store.ts';
import { type OpenRepository, openRepository } from '../adapters/postgres/open-repository.ts';
import { A_CLIENT } from '../contracts/client-repository.ts';
import { clientsTable } from '../support/clients-table.ts';
import { freshTables } from '../support/details-tables.ts';
import { FaultyProxy } from '../support/faulty-proxy.ts';
import { postgresKeyRing } from '../support/key-rings.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { until } from '../support/until.ts';

const DEADLINE_MS = 2_000;

let database: TestDatabase;
let lines: DatabaseLine[];
const log = (line: DatabaseLine) => lines.push(line);
beforeAll(async () => {
  database = await createTestDatabase();
}, 120_000);
afterAll(() => database.drop());
beforeEach(() => {
  lines = [];
});

describe('SqlClientRepository on PostgreSQL', () => {
  let opened: OpenRepository;
  beforeEach(async () => {
    await freshTables(database);
    opened = await openRepository({ url: database.url, poolSize: 3, deadlineMs: 10_000 }, log);
    lines.length = 0;
    await clientsTable(database).add(A_CLIENT);
  });
  afterEach(() => opened.close());

  const reasonOf = (readiness: Readiness) => (readiness.ready ? '' : readiness.reason.text);

  it('reports whether it is ready, and becomes ready again without a request', async () => {
    await database.query('alter table clients rename to elsewhere');
    await expect(opened.repository.findByClientId('client-1')).rejects.toBeInstanceOf(DependencyUnavailable);
    await until(() => reasonOf(opened.readiness()).includes('does not exist'), 'it knows why');
    await database.query('alter table elsewhere rename to clients');
    await until(() => opened.readiness().ready, 'it is ready');
    await until(() => lines.length > 1, 'it has been ready for as long as it takes');
    expect(lines.map(({ event }) => event)).toEqual(['table_unusable', 'database_available']);
  });
});

describe('SqlKeyRing on PostgreSQL', () => {
  let opened: Awaited<ReturnType<typeof postgresKeyRing>> | undefined;
  beforeEach(() => database.query('drop table if exists key_ring'));
  afterEach(() => opened?.dependency.close());

  async function open(url: string): Promise<KeyRingStore> {
    opened = await postgresKeyRing({ url, deadlineMs: DEADLINE_MS }, log);
    return opened.store;
  }
  const noted = () => opened?.dependency.readiness();
  const events = () => lines.map(({ event }) => event);

  it('reports within its deadline that it cannot be reached, and recovers by itself', async () => {
    await using proxy = await FaultyProxy.to(Number(new URL(database.url).port));
    const url = new URL(database.url);
    url.port = String(proxy.port);
    url.hostname = '127.0.0.1';
    const store = await open(url.href);
    expect((await store.read()).rows).toEqual([]);

    proxy.network = { kind: 'silent' };
    const begin = performance.now();
    const refused = { status: 'rejected', reason: expect.any(DependencyUnavailable) };
    expect(await Promise.allSettled([store.read(), store.read()])).toEqual([refused, refused]);
    expect(performance.now() - begin).toBeLessThan(DEADLINE_MS + 1_000);
    await until(() => noted()?.ready === true && 'note' in (noted() ?? {}), 'the fault has lasted');
    expect(noted()).toMatchObject({
      ready: true,
      note: { code: 'timeout', text: expect.stringMatching(/^database unavailable/) },
    });

    proxy.network = { kind: 'well' };
    await until(() => !('note' in (noted() ?? {})), 'it is back');
    expect((await store.read()).rows).toEqual([]);
    await until(() => events().includes('database_available'), 'it has been back for as long as it takes');
    expect(events()).toEqual(['table_created', 'database_unavailable', 'database_available']);
  });

  it('opens while the database cannot be reached, and creates its table afterwards', async () => {
    const role = await database.createRole();
    await database.query(`grant create on schema public to ${role.name}`);
    await database.query(`alter role ${role.name} nologin`);
    const store = await open(role.url);
    await expect(store.read()).rejects.toMatchObject({ dependency: 'key directory' });
    await database.query(`alter role ${role.name} login`);
    await until(() => !('note' in (noted() ?? {})), 'it is there');
    expect((await store.read()).rows).toEqual([]);
    await until(() => events().includes('database_available'), 'it has been there for as long as it takes');
    expect(events()).toEqual(['database_unavailable', 'table_created', 'database_available']);
    await database.query('drop table key_ring');
    await database.query(`revoke create on schema public from ${role.name}`);
  });
});
