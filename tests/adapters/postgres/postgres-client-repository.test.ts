import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  FIND_CLIENT_BY_SECRET,
  FIND_CLIENTS,
  FIND_SECRET,
  FIND_SECRET_BY_ID,
} from '../../../adapters/postgres/client-entity.ts';
import { openConnection } from '../../../adapters/postgres/connection.ts';
import type { DatabaseLine } from '../../../adapters/postgres/health.ts';
import { openClientRepository } from '../../../adapters/postgres/postgres-client-repository.ts';
import { runStatement, type Statement } from '../../../adapters/postgres/runner.ts';
import type { ClientLookup } from '../../../application/ports/client-repository.ts';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';
import { A_CLIENT, describeClientRepository } from '../../contracts/client-repository.ts';
import { clientsTable } from '../../support/clients-table.ts';
import { freshTables } from '../../support/details-tables.ts';
import { requestToken } from '../../support/http.ts';
import { KeptConnection } from '../../support/kept-connection.ts';
import { runProgram } from '../../support/program.ts';
import { GOOD_SECRET, ISSUER, startServiceUnderTest } from '../../support/running-service.ts';
import { createTestDatabase, PATIENT, type TestDatabase } from '../../support/test-database.ts';
import { until } from '../../support/until.ts';
import { openRepository } from './open-repository.ts';

const A_UUID = '0b5e5f8e-6d1c-4a51-9c0e-6d3f8e4b2a10';

const SECRET = { secret_id: 'an-id', name: 'a name', encoded: `$2b$10$${'a'.repeat(53)}` };

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
}, 120_000);
afterAll(() => database.drop());

async function fresh(log: (line: DatabaseLine) => void = () => {}, url = database.url) {
  await freshTables(database);
  return { ...(await openRepository({ url, poolSize: 4, deadlineMs: 10_000 }, log)), ...clientsTable(database) };
}

describeClientRepository('PostgresClientRepository', () => fresh());

describe('PostgresClientRepository', () => {
  let under: Awaited<ReturnType<typeof fresh>>;
  let lines: DatabaseLine[];
  beforeEach(async () => {
    lines = [];
    under = await fresh((line) => lines.push(line));
    lines.length = 0;
  });
  afterEach(() => under.close());

  const find = (clientId: string) => under.repository.findByClientId(clientId);
  const alter = (action: string) => database.query(`alter table clients ${action}`);

  it('keeps every digit of a row id above 2^53', async () => {
    await alter(`alter column id restart with 9223372036854775806`);
    await under.add(A_CLIENT);
    expect(await find('client-1')).toMatchObject({ kind: 'found', registration: { id: '9223372036854775806' } });
  });

  it.each([
    ['clientSecret', 'client_secret = null'],
    ['clientName', 'client_name = null'],
    ['scope', 'scope = null'],
    ['clientName', `client_name = ''`],
    ['scope', `scope = ' read'`],
  ])('reports a row that is broken by its %s (%s), in one log line without its values', async (field, change) => {
    for (const column of ['client_secret', 'client_name', 'scope']) await alter(`alter column ${column} drop not null`);
    await under.add(A_CLIENT);
    await database.query(`update clients set ${change}`);
    await under.add({ ...A_CLIENT, clientId: 'client-2' });
    expect(await find('client-1')).toMatchObject({ kind: 'broken', problem: { field } });
    expect((await find('client-2')).kind).toBe('found');
    expect(lines).toEqual([
      { event: 'registration_broken', client_id: 'client-1', field, rule: expect.stringMatching(/^must (not )?be/) },
    ]);
  });

  it('reports a client id as broken that a table without a unique index has twice', async () => {
    await alter('drop constraint clients_client_id_unique');
    await under.add(A_CLIENT);
    await under.add(A_CLIENT);
    expect(await find('client-1')).toMatchObject({ kind: 'broken', problem: { field: 'clientId' } });
  });

  it('compares trailing spaces even if the column ignores them', async () => {
    await alter('alter column client_id type char(20)');
    await under.add(A_CLIENT);
    expect((await find('client-1')).kind).toBe('found');
    expect(await find('client-1 ')).toEqual({ kind: 'unknown' });
  });

  it('continues after a column changes its type or a column is added', async () => {
    await under.add(A_CLIENT);
    expect((await find('client-1')).kind).toBe('found');
    await alter('alter column client_name type varchar(200)');
    await alter('add column created_at timestamptz');
    expect((await find('client-1')).kind).toBe('found');
    expect(under.readiness()).toMatchObject({ ready: true });
  });

  it('reads some kilobytes of a row that has megabytes, and finds it broken', async () => {
    const long = 'x '.repeat(1_000_000).trim();
    await under.add({ ...A_CLIENT, clientName: long, scope: long, clientSecret: long });
    await under.addSecret('client-1', { ...SECRET, encoded: long });
    const connection = await openConnection({ url: database.url, poolSize: 1, deadlineMs: 10_000 });
    const bytesOf = async (statement: Statement) => JSON.stringify(await runStatement(connection, statement)).length;
    for (const [statement, values] of [
      [FIND_CLIENTS, [['client-1']]],
      [FIND_CLIENT_BY_SECRET, ['client-1', 'client-1', 'an-id']],
      [FIND_SECRET, ['client-1', 'client-1']],
      [FIND_SECRET_BY_ID, ['client-1', 'client-1', 'an-id']],
    ] as const) {
      const bytes = await bytesOf({ ...statement, values: values as unknown as string[] });
      expect(bytes).toBeGreaterThan(20_000);
      expect(bytes).toBeLessThan(300_000);
    }
    await connection.close();
    const problem = { field: 'clientSecret', rule: 'must have at most 20000 characters' };
    expect(await find('client-1')).toEqual({ kind: 'broken', problem });
    expect((await under.repository.findSecret('client-1', 'an-id'))?.kind).toBe('unusable');
  });

  it('uses secrets with ids only if their table is there when it starts', async () => {
    // It looks for the table in the background, or for the first request.
    await under.repository.findSecret('client-1', 'an-id');
    await database.query('alter table client_secrets rename to elsewhere');
    await using without = await openRepository({ url: database.url, poolSize: 1, deadlineMs: 10_000 });
    await under.add(A_CLIENT);
    expect((await without.repository.findSecret('client-1', 'an-id'))?.reveal()).toBe(A_CLIENT.clientSecret);
    expect((await without.repository.findByClientId('client-1', 'an-id')).kind).toBe('found');
    expect(await without.repository.countExpiring()).toEqual({});
    await database.query('alter table elsewhere rename to client_secrets');
    await under.addSecret('client-1', { ...SECRET, encoded: SECRET.encoded.replace('$10$', '$12$') });
    expect((await without.repository.findSecret('client-1', 'an-id'))?.reveal()).toBe(A_CLIENT.clientSecret);
    expect((await under.repository.findSecret('client-1', 'an-id'))?.cost).toBe(12);
    await under.add({
      ...A_CLIENT,
      clientId: 'locked',
      clientSecret: `!${A_CLIENT.clientSecret.replace('$04$', '$09$')}`,
    });
    expect((await under.repository.findCosts(60_000))?.toSorted((one, other) => one - other)).toEqual([4, 9, 12]);
  });

  it('reads the costs of a table that takes longer than the deadline of a request, and does not hold up the close', async () => {
    await under.add(A_CLIENT);
    const slowly = async (seconds: number) => {
      const secret = `case when pg_sleep(${seconds}) is null then '' else client_secret end as client_secret`;
      await database.query('drop view if exists clients');
      await database.query(`create view clients as select id, client_id, ${secret}, client_name, scope from stored`);
    };
    await database.query('alter table clients rename to stored');
    try {
      await slowly(1);
      await using large = await openRepository({ url: database.url, poolSize: 3, deadlineMs: 500 });
      await until(() => large.repository.findCosts(60_000).then((costs) => costs?.[0] === 4), 'the costs are read');
      await expect(large.repository.findByClientId('client-1')).rejects.toThrow(DependencyUnavailable);
      await slowly(3_600);
      const reading = large.repository.findCosts(60_000);
      const running = `select pid from pg_stat_activity where query like 'set local%' and state = 'active'`;
      await until(async () => (await database.query(running)).length > 0, 'the read is running');
      await large.close();
      expect(await reading).toBeUndefined();
      // The server would notice only at the end of the statement.
      await database.query(`select pg_terminate_backend(pid) from (${running}) as reading`);
    } finally {
      await database.query('drop view clients');
      await database.query('alter table stored rename to clients');
    }
  });

  it.each([1, 2, 3])(
    'answers requests while it reads the costs of large tables, with %s connections',
    async (poolSize) => {
      await under.add(A_CLIENT);
      await under.addSecret('client-1', SECRET);
      const slow = `case when current_query() like 'set local%' and pg_sleep(3600) is null then '' else`;
      const large = {
        clients: `id, client_id, ${slow} client_secret end as client_secret, client_name, scope`,
        client_secrets: `client_id, registration_id, secret_id, ${slow} encoded end as encoded, expires_at`,
      };
      const sleeping = `from pg_stat_activity where query like 'set local%' and state = 'active' and datname = current_database()`;
      const read = [Object.keys(large), ['client_secrets']];
      for (const tables of read) {
        for (const table of tables) await database.query(`alter table ${table} rename to ${table}_stored`);
        for (const table of tables) {
          await database.query(
            `create view ${table} as select ${large[table as keyof typeof large]} from ${table}_stored`,
          );
        }
        try {
          const opened = await openClientRepository({ url: database.url, poolSize, deadlineMs: 2_000 }, () => {});
          void opened.readCosts(() => {});
          await until(async () => (await database.query(`select pid ${sleeping}`)).length > 0, 'a read is running');
          for (let time = 0; time < 3; time += 1) {
            expect((await opened.adapter.findSecret('client-1', 'an-id'))?.cost).toBe(10);
            expect((await opened.adapter.findByClientId('client-1')).kind).toBe('found');
          }
          await opened.dependency.close();
        } finally {
          await database.query(`select pg_terminate_backend(pid) ${sleeping}`);
          for (const table of tables) await database.query(`drop view ${table}`);
          for (const table of tables) await database.query(`alter table ${table}_stored rename to ${table}`);
        }
      }
    },
    30_000,
  );

  it('reports once that it may not read the secrets with ids, and refuses none of them until it may', async () => {
    await under.add(A_CLIENT);
    const role = await database.createRole();
    await database.query(`grant select on clients to ${role.name}`);
    const options = { url: role.url, poolSize: 1, deadlineMs: 10_000 };
    await using opened = await openRepository(options, (line) => lines.push(line));
    const { repository } = opened;
    for (let time = 0; time < 3; time += 1) {
      await expect(repository.findSecret('client-1', 'an-id')).rejects.toThrow(DependencyUnavailable);
      await expect(repository.findByClientId('client-1', 'an-id')).rejects.toThrow(DependencyUnavailable);
      expect((await repository.findSecret('client-1'))?.reveal()).toBe(A_CLIENT.clientSecret);
    }
    expect(opened.readiness()).toMatchObject({ ready: true, note: { code: 'grant_missing' } });
    expect(await repository.findCosts(60_000)).toBeUndefined();
    const reported = lines.filter((line) => JSON.stringify(line).includes('client_secrets'));
    const problem = expect.stringContaining('may not read');
    expect(reported).toEqual([{ event: 'table_unusable', problem, table: 'client_secrets' }]);

    await database.query(`grant select on client_secrets to ${role.name}`);
    const isGranted = () => repository.findSecret('client-1', 'an-id').catch(() => undefined);
    await until(async () => (await isGranted()) !== undefined, 'the grant is noticed without a restart');
    await database.query(`revoke all on clients, client_secrets from ${role.name}`);
  }, 70_000);

  it('does not count what is left of clients that were deleted, whatever the collation of their ids', async () => {
    await alter('alter column client_id type text collate "und-x-icu"');
    await under.add(A_CLIENT);
    const expires_at = Math.floor(Date.now() / 1_000) + 60;
    await under.addSecret('client-1', { ...SECRET, expires_at });
    await database.query(
      `insert into client_secrets (client_id, registration_id, secret_id, name, encoded, expires_at)
        values ('gone', '1', 'an-id', 'a name', 'x', $1), ('client-1', '999999', 'an-id', 'a name', 'x', $1)`,
      [expires_at],
    );
    expect(await under.repository.countExpiring()).toEqual({ secrets: 1, keys: 0 });
  });

  it('counts secrets and keys that are valid and expire within 30 days, by an index', async () => {
    await under.add(A_CLIENT);
    const now = Math.floor(Date.now() / 1_000);
    for (const [number, expires_at] of [now - 60, now + 60, now + 2_591_900, now + 2_592_100].entries()) {
      await under.addSecret('client-1', { ...SECRET, secret_id: `id-${number}`, expires_at });
    }
    await under.addSecret('client-1', SECRET);
    await database.query(
      `insert into client_keys (client_id, registration_id, key_id, jwk, expires_at)
        select client_id, id::text, 'k', '{}', $1 from clients`,
      [now + 60],
    );
    expect(await under.repository.countExpiring()).toEqual({ secrets: 2, keys: 1 });
    const plan = await database.query(`select pg_get_indexdef(indexrelid) as index from pg_index
      where indrelid = 'client_secrets'::regclass and indpred is not null`);
    expect(plan).toEqual([{ index: expect.stringContaining('(expires_at)') }]);
  });

  describe('look-ups at the same time', () => {
    const ids = Array.from({ length: 20 }, (_, number) => `client-${number}`);
    const names = (lookups: readonly ClientLookup[]) =>
      lookups.map((lookup) => (lookup.kind === 'found' ? lookup.registration.clientName : lookup.kind));

    /** Counts the statements of requests. */
    async function counting() {
      const counts = { answered: 0, failed: 0 };
      const count = (outcome: keyof typeof counts) => () => {
        counts[outcome] += 1;
      };
      const times = { answered: count('answered'), failed: count('failed') };
      const options = { url: database.url, poolSize: 4, deadlineMs: 10_000, measure: () => times };
      const opened = await openRepository(options, (line) => lines.push(line));
      await opened.repository.findByClientId(A_UUID);
      counts.answered = 0;
      return { ...opened, counts };
    }

    it('share one statement, in which each id stands once, registered or not', async () => {
      for (const clientId of ids) await under.add({ ...A_CLIENT, clientId, clientName: `name of ${clientId}` });
      await using opened = await counting();
      const asked = [...ids, 'nobody', ...ids, '"{quoted,\\}"', 'x\ud800', 'NULL'];
      const found = names(await Promise.all(asked.map((id) => opened.repository.findByClientId(id))));
      const expected = ids.map((id) => `name of ${id}`);
      expect(found).toEqual([...expected, 'unknown', ...expected, 'unknown', 'unknown', 'unknown']);
      expect(opened.counts).toEqual({ answered: 1, failed: 0 });
    });

    it('find an id like an array, a null or a quoted text', async () => {
      const odd = ['{}', '{a,b}', '"a"', 'a\\b', 'null', 'NULL', "it's", 'a,b', '{"a"}', '\u{1F511}'];
      for (const clientId of odd) await under.add({ ...A_CLIENT, clientId, clientName: clientId });
      expect(names(await Promise.all(odd.map(find)))).toEqual(odd);
    });

    it('are split among statements of 63 ids', async () => {
      await using opened = await counting();
      const many = Array.from({ length: 150 }, (_, number) => `nobody-${number}`);
      await Promise.all(many.map((id) => opened.repository.findByClientId(id)));
      expect(opened.counts).toEqual({ answered: 3, failed: 0 });
    });

    it('see what is stored when they began, though a look-up of the same id is already on its way', async () => {
      await under.add(A_CLIENT);
      await using opened = await openRepository({ url: database.url, poolSize: 4, deadlineMs: 10_000 });
      const { repository } = opened;
      await repository.findByClientId('client-1');
      for (let number = 0; number < 100; number += 1) {
        // The statement of the first one is sent in the first pass, before the change.
        const first = repository.findByClientId('client-1');
        await new Promise((resolve) => setImmediate(resolve));
        await under.change('client-1', { clientName: `name ${number}` });
        expect(names([await repository.findByClientId('client-1')])).toEqual([`name ${number}`]);
        await first;
      }
    });

    it('do not disturb each other if an id has thousands of rows in a table without a unique index', async () => {
      await alter('drop constraint clients_client_id_unique');
      for (const clientId of ids) await under.add({ ...A_CLIENT, clientId, clientName: clientId });
      await database.query(`insert into clients (client_id, client_secret, client_name, scope)
        select 'many', client_secret, client_name, scope from clients, generate_series(1, 200)`);
      const found = names(await Promise.all(['many', ...ids].map(find)));
      expect(found).toEqual(['broken', ...ids]);
    });

    it('do not disturb each other if the database cannot store one of the ids', async () => {
      const latin = await createTestDatabase({ options: `encoding 'LATIN1' locale 'C' template template0` });
      try {
        await freshTables(latin);
        await using opened = await openRepository({ url: latin.url, poolSize: 4, deadlineMs: 10_000 });
        const { add } = clientsTable(latin);
        for (const clientId of ids) await add({ ...A_CLIENT, clientId, clientName: clientId });
        const asked = [...ids, '\u20ac', ...ids];
        const found = names(await Promise.all(asked.map((id) => opened.repository.findByClientId(id))));
        expect(found).toEqual([...ids, 'unknown', ...ids]);
        expect(opened.readiness()).toMatchObject({ ready: true });
      } finally {
        await latin.drop();
      }
    });

    it('fail alone if the type of the column refuses an id', async () => {
      await alter('alter column client_id type uuid using gen_random_uuid()');
      const id = A_UUID;
      await under.add({ ...A_CLIENT, clientId: id });
      await using opened = await counting();
      const outcomes = await Promise.allSettled(
        [id, 'no uuid', id].map((one) => opened.repository.findByClientId(one)),
      );
      expect(outcomes).toMatchObject([
        { status: 'fulfilled', value: { kind: 'found' } },
        { status: 'rejected', reason: expect.any(DependencyUnavailable) },
        { status: 'fulfilled', value: { kind: 'found' } },
      ]);
      expect(opened.counts.failed).toBe(0);
    });

    it('end at the deadline of each, all with the fault, if the table is locked', async () => {
      await using opened = await openRepository({ url: database.url, poolSize: 4, deadlineMs: 500 });
      await opened.repository.findByClientId('client-1');
      const locker = new KeptConnection(database.url);
      await locker.query('begin; lock table clients in access exclusive mode');
      try {
        const begin = performance.now();
        const outcomes = await Promise.allSettled(ids.map((id) => opened.repository.findByClientId(id)));
        expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set(['rejected']));
        expect(performance.now() - begin).toBeLessThan(5_000);
      } finally {
        await locker.close();
      }
      expect(names(await Promise.all(ids.map((id) => opened.repository.findByClientId(id))))).toEqual(
        ids.map(() => 'unknown'),
      );
    });

    it('are planned once: the planner does not look into the ids', async () => {
      const session = new KeptConnection(database.url);
      await session.query(`prepare find as ${FIND_CLIENTS.text.replaceAll('$schema.', 'public.')}`);
      for (let number = 0; number < 8; number += 1) await session.query(`execute find('{a,b}')`);
      const [prepared] = await session.query('select generic_plans::int as generic from pg_prepared_statements');
      await session.close();
      // PostgreSQL tries five plans for the values before it compares.
      expect(prepared).toEqual({ generic: 3 });
    });
  });

  it('keeps values that the database quotes out of its own errors and log lines', async () => {
    await alter('alter column client_id type integer using 0');
    const fault: unknown = await find('a-secret-in-the-wrong-field').catch((error: unknown) => error);
    expect(fault).toBeInstanceOf(DependencyUnavailable);
    expect(JSON.stringify([fault, String((fault as Error).cause), lines])).not.toContain('a-secret');
    // If a probe has prepared the statement before, the database finds no operator for its parameter instead.
    expect([
      { message: 'the database refused a value', code: '22P02' },
      { message: 'COALESCE could not convert type text[] to integer[]', code: '42846' },
    ]).toContainEqual({
      message: (fault as { cause: Error }).cause.message,
      code: (fault as { cause: { code: string } }).cause.code,
    });
  });

  it('treats a client id that the database cannot store as unknown', async () => {
    const latin = await createTestDatabase({ options: `encoding 'LATIN1' locale 'C' template template0` });
    const opened = await openRepository({ url: latin.url, poolSize: 1, deadlineMs: 10_000 });
    expect(await opened.repository.findByClientId('客户')).toEqual({ kind: 'unknown' });
    await opened.close();
    await latin.drop();
  });

  it('opens no more connections than its pool size, and leaves none behind', async () => {
    const count = async () =>
      Number((await database.query(CONNECTIONS, ['client-credentials-authorization-service']))[0]?.['count']);
    await Promise.all(Array.from({ length: 100 }, () => find('client-1')));
    expect(await count()).toBeLessThanOrEqual(4);
    const another = await fresh();
    await another.close();
    await under.close();
    await until(async () => (await count()) === 0, 'the server has no connection of ours');
    await expect(find('client-1')).rejects.toBeInstanceOf(DependencyUnavailable);
  });
});

const CONNECTIONS = `select count(*) from pg_stat_activity where datname = current_database() and application_name = $1`;

describe('the service on PostgreSQL', () => {
  const environment = () => ({
    CLIENT_REPOSITORY: 'postgres',
    DATABASE_URL: database.url,
    ...PATIENT,
    PORT: '0',
    MANAGEMENT_PORT: '0',
    BASE_URL: ISSUER,
  });

  it('refuses {noop} in the table and broken rows as it refuses a wrong secret', async () => {
    const { add, close } = await fresh();
    await close();
    await using service = await startServiceUnderTest({ environment: environment() });
    await add({ ...A_CLIENT, clientSecret: '{noop}plain-secret' });
    await add({ ...A_CLIENT, clientId: 'broken', scope: '' });
    const ask = (client_id: string, client_secret: string) =>
      requestToken(service.url, { grant_type: 'client_credentials', client_id, client_secret });
    for (const [client, secret] of [
      ['client-1', 'plain-secret'],
      ['broken', 'plain-secret'],
      ['broken', GOOD_SECRET],
      ['nobody', 'plain-secret'],
    ] as const) {
      const { status, text } = await ask(client, secret);
      expect([status, text]).toEqual([401, '{"error":"invalid_client"}']);
    }
    expect(service.logLines().filter(({ event }) => event === 'registration_broken')).toEqual([
      expect.objectContaining({ level: 'warn', client_id: 'broken', field: 'scope' }),
    ]);
  });

  it('does not start on a table that lacks a column: names the column without the URL, and opens no port', async () => {
    const { close } = await fresh();
    await close();
    await database.query('alter table clients drop column scope');
    await using program = runProgram('config/main.ts', environment());
    expect(await program.ended()).toBe(1);
    expect(program.stderr()).toContain('table clients lacks the column scope: add it');
    expect(program.stderr()).not.toContain('postgresql://');
    expect(program.stdout()).not.toMatch(/started|"port"/);
  });
});
