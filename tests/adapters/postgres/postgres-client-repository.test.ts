import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { DatabaseLine } from '../../../adapters/postgres/database-log.ts';
import { lookUpStatements } from '../../../adapters/postgres/look-up-statements.ts';
import { migrateDatabase } from '../../../adapters/postgres/migrate-database.ts';
import { CLIENTS, createTableSql, RECORD } from '../../../adapters/postgres/tables.ts';
import { COLUMN_BYTES_MAX } from '../../../application/client-lookup.ts';
import type { ClientLookup } from '../../../application/ports/client-repository.ts';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';
import { A_CLIENT, describeClientRepository } from '../../contracts/client-repository.ts';
import { generateSigningKey } from '../../support/assertions.ts';
import { clientsTable } from '../../support/clients-table.ts';
import { freshTables } from '../../support/details-tables.ts';
import { requestToken } from '../../support/http.ts';
import { KeptConnection } from '../../support/kept-connection.ts';
import { runProgram } from '../../support/program.ts';
import { GOOD_SECRET, ISSUER, startServiceUnderTest } from '../../support/running-service.ts';
import { createTestDatabase, PATIENT, type TestDatabase } from '../../support/test-database.ts';
import { until } from '../../support/until.ts';
import { openRepository } from './open-repository.ts';

const SECRET = { secret_id: 'an-id', name: 'a name', client_secret: `$2b$10$${'a'.repeat(53)}` };

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
}, 120_000);
afterAll(() => database.drop());

async function fresh(log: (line: DatabaseLine) => void = () => {}, url = database.url) {
  await freshTables(database);
  return { ...(await openRepository({ url, poolSize: 4, deadlineMs: 10_000 }, log)), ...clientsTable(database) };
}

describeClientRepository('SqlClientRepository on PostgreSQL', () => fresh());

describe('SqlClientRepository on PostgreSQL', () => {
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
    ['clientName', `client_name = ''`],
    ['scope', `scope = ' read'`],
  ])('reports a row that is broken by its %s (%s), in one log line without its values', async (field, change) => {
    await under.add(A_CLIENT);
    await database.query(`update clients set ${change}`);
    await under.add({ ...A_CLIENT, clientId: 'client-2' });
    expect(await find('client-1')).toMatchObject({ kind: 'broken', problem: { field } });
    expect((await find('client-2')).kind).toBe('found');
    expect(lines).toEqual([
      { event: 'registration_broken', client_id: 'client-1', field, rule: expect.stringMatching(/^must (not )?be/) },
    ]);
  });

  it('continues after a column is added', async () => {
    await under.add(A_CLIENT);
    expect((await find('client-1')).kind).toBe('found');
    await alter('add column created_at timestamptz');
    expect((await find('client-1')).kind).toBe('found');
    expect(under.readiness()).toMatchObject({ ready: true });
  });

  it.each([
    ['client_id', 'alter column client_id drop not null'],
    ['client_id', 'drop constraint clients_client_id_unique'],
    ['scope', 'alter column scope type varchar(200)'],
    ['details', 'alter column details drop default, alter column details type json'],
  ])('refuses a table with another %s, in one sentence: %s', async (name, change) => {
    await alter(change);
    const problem = `table clients has no column ${name} as the service needs it: docs/operate.md, Roles and grants`;
    await expect(openRepository({ url: database.url, poolSize: 1, deadlineMs: 10_000 })).rejects.toThrow(problem);
  });

  it('finds exactly its id whatever the collation', async () => {
    await database.query(
      `create collation if not exists without_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false)`,
    );
    await alter('alter column client_id type text collate without_case');
    await under.add(A_CLIENT);
    expect((await find('client-1')).kind).toBe('found');
    expect(await find('CLIENT-1')).toEqual({ kind: 'unknown' });
    expect((await under.repository.findKeys('client-1')).isRegistered).toBe(true);
    expect((await under.repository.findKeys('CLIENT-1')).isRegistered).toBe(false);
  });

  describe('a table with the five columns of the specification alone', () => {
    const options = () => ({ url: database.url, poolSize: 1, deadlineMs: 10_000 });
    beforeEach(async () => {
      await under.add(A_CLIENT);
      await alter('drop column credentials, drop column details');
    });

    it('serves what needs no more, and what needs more once migrate has added the columns, without a restart', async () => {
      await using opened = await openRepository(options());
      const { repository } = opened;
      expect((await repository.findSecret('client-1', 'an-id')).secret.reveal()).toBe(A_CLIENT.clientSecret);
      expect(await repository.findSecret('nobody')).toMatchObject({ isRegistered: false });
      expect((await repository.findByClientId('client-1', 'an-id')).kind).toBe('found');
      expect(await opened.findCosts(60_000)).toEqual([4]);
      expect(await migrateDatabase(database.url)).toContain('Added: the columns of clients');
      await under.setDetails('client-1', { secrets: [SECRET] });
      await until(async () => {
        return (await repository.findSecret('client-1', 'an-id')).secret.reveal() === SECRET.client_secret;
      }, 'the columns are read');
      expect(opened.readiness()).toEqual({ ready: true });
    });

    it('causes a note where clients may have keys and identities, of which none is found', async () => {
      await using opened = await openRepository(options(), undefined, true);
      expect(opened.readiness()).toMatchObject({ ready: true, note: { code: 'columns_missing' } });
      expect(await opened.repository.findBySubject({ issuer: 'i', subject: 's' })).toEqual([]);
      expect(await opened.repository.findKeys('client-1')).toEqual({ isRegistered: true, keys: [] });
      await migrateDatabase(database.url);
      await until(() => !('note' in opened.readiness()), 'the note has ended');
    });
  });

  describe('a column that is lost', () => {
    const options = () => ({ url: database.url, poolSize: 1, deadlineMs: 2_000 });
    const LOST = /^table clients lacks the column details, which it has had: bring it back/;

    it('is a fault of each request at once, and of the table, until it is back', async () => {
      await under.add(A_CLIENT);
      await using opened = await openRepository(options());
      expect((await opened.repository.findByClientId('client-1')).kind).toBe('found');
      await alter('rename column details to lost');
      await expect(opened.repository.findByClientId('client-1')).rejects.toThrow(DependencyUnavailable);
      await until(() => !opened.readiness().ready, 'the table is not ready');
      expect(opened.readiness()).toMatchObject({ ready: false, reason: { code: 'column_lost' } });
      await alter('rename column lost to details');
      await until(() => opened.readiness().ready, 'the table is ready');
      expect((await opened.repository.findByClientId('client-1')).kind).toBe('found');
    });

    it('is neither served at startup nor added by migrate where the table records that it was there', async () => {
      await alter('drop column credentials, drop column details');
      await migrateDatabase(database.url);
      const [table] = await database.query(`select obj_description('clients'::regclass) as comment`);
      expect(table).toEqual({ comment: RECORD });
      await alter('drop column details');
      await expect(openRepository(options())).rejects.toThrow(LOST);
      await expect(migrateDatabase(database.url)).rejects.toMatchObject({
        cause: { message: expect.stringMatching(LOST) },
      });
      await alter('drop column credentials');
      await expect(openRepository(options())).rejects.toThrow(
        /lacks the column credentials, details, which it has had/,
      );
    });

    it('keeps the comment of the owner, and records once', async () => {
      await alter('drop column credentials, drop column details');
      await database.query(`comment on table clients is 'the owner''s'`);
      for (let time = 0; time < 2; time += 1) await migrateDatabase(database.url);
      const [table] = await database.query(`select obj_description('clients'::regclass) as comment`);
      expect(table).toEqual({ comment: `the owner's ${RECORD}` });
    });
  });

  it('refuses a table of a version before 1.0.0, with what to do', async () => {
    await alter('drop column credentials');
    const problem = 'table clients was created by a version before 1.0.0: export its clients with that version';
    await expect(openRepository({ url: database.url, poolSize: 1, deadlineMs: 10_000 })).rejects.toThrow(problem);
    await expect(migrateDatabase(database.url)).rejects.toMatchObject({
      cause: { message: expect.stringContaining(problem) },
    });
  });

  it('refuses to start if its role may not read the details', async () => {
    const role = await database.createRole();
    await database.query(`grant select (id, client_id, client_secret, client_name, scope) on clients to ${role.name}`);
    const opened = openRepository({ url: role.url, poolSize: 1, deadlineMs: 10_000 });
    await expect(opened).rejects.toThrow('the database role may not use table clients as the service does');
    await database.query(`revoke all on clients from ${role.name}`);
  });

  it('finds the costs of all secrets, with and without ids, also behind locks', async () => {
    await under.add(A_CLIENT);
    await under.setDetails('client-1', {
      secrets: [{ ...SECRET, client_secret: SECRET.client_secret.replace('$10$', '$12$') }],
    });
    const clientSecret = `!${A_CLIENT.clientSecret.replace('$04$', '$09$')}`;
    await under.add({ ...A_CLIENT, clientId: 'locked', clientSecret });
    expect((await under.findCosts(60_000))?.toSorted((one, other) => one - other)).toEqual([4, 9, 12]);
  });

  it.each([1, 2, 3])(
    'answers requests while it reads the costs of a large table, with %s connections',
    async (poolSize) => {
      await under.add(A_CLIENT);
      const locker = new KeptConnection(database.url);
      await locker.query('begin; lock table clients in access exclusive mode');
      const options = { url: database.url, poolSize, deadlineMs: 2_000 };
      const opened = await openRepository(options);
      const reading = opened.readCosts(() => {});
      await locker.query('rollback');
      await locker.close();
      await reading;
      await until(async () => {
        const lookup = await opened.repository.findByClientId('client-1').catch(() => undefined);
        return lookup?.kind === 'found';
      }, 'the client is found');
      await opened.close();
    },
    30_000,
  );

  describe('documents that another program has broken', () => {
    const set = (document: unknown) => database.query('update clients set credentials = $1', [document]);
    const key = generateSigningKey('ES256').jwk;

    it.each([[], 7, 'text', {}, { kty: 'oct', k: 'AQAB' }, { kty: 'RSA', n: 'AQAB', e: 'AQAB' }])(
      'leave out the key %j, which cannot be used, and report it without its value',
      async (unusable) => {
        await under.add(A_CLIENT);
        await set({ jwks: { keys: [unusable, key] } });
        expect((await under.repository.findKeys('client-1')).keys).toEqual([key]);
        expect(JSON.stringify(lines)).not.toContain('AQAB');
      },
    );

    it.each([null, [], { a: 1 }, { a: ['b'] }, 'text'])(
      'find a rule with the conditions %j, which cannot be read',
      async (claims) => {
        await under.add(A_CLIENT);
        const identity = { issuer: 'https://issuer.test', subject: 'workload' };
        await set({ federated_subjects: [{ ...identity, claims }] });
        expect(await under.repository.findBySubject(identity)).toMatchObject([
          { clientId: 'client-1', claims: undefined },
        ]);
      },
    );

    it.each([{ secrets: 7 }, { secrets: [7, { secret_id: 'an-id' }] }, { jwks: [] }, { jwks: { keys: {} } }])(
      'count as none: %j',
      async (document) => {
        await under.add(A_CLIENT);
        await set(document);
        expect((await under.repository.findSecret('client-1', 'an-id')).secret.reveal()).toBe(A_CLIENT.clientSecret);
        expect(await find('client-1')).toMatchObject({ kind: 'found', registration: { resources: [] } });
        expect((await under.repository.findKeys('client-1')).keys).toEqual([]);
      },
    );

    it.each(['credentials', 'details'] as const)(
      'breaks a registration whose %s are longer than valid ones, and makes no other client wait for them',
      async (field) => {
        await under.add(A_CLIENT);
        const long = { jwks: 'x'.repeat(COLUMN_BYTES_MAX[field]) };
        await database.query(`update clients set ${field} = $1`, [long]);
        expect(await find('client-1')).toMatchObject({ kind: 'broken', problem: { field } });
        expect(await under.repository.findKeys('client-1')).toEqual({ isRegistered: true, keys: [] });
        const found = await under.repository.findSecret('client-1', 'an-id');
        expect(found.secret.reveal()).toBe(A_CLIENT.clientSecret);
      },
    );

    it.each(['7', '"text"', 'null', 'true', '[]', '["secrets"]'])(
      'break their registration if they are no object, and disturb no other client: %s',
      async (text) => {
        await under.add(A_CLIENT);
        await under.add({ ...A_CLIENT, clientId: 'client-2' });
        await database.query(`update clients set credentials = $1 where client_id = 'client-1'`, [text]);
        const both = await Promise.all(['client-1', 'client-2'].map(find));
        const broken = {
          kind: 'broken',
          problem: { field: 'credentials', rule: 'must be an object of moderate size' },
        };
        expect(both).toMatchObject([broken, { kind: 'found' }]);
        expect((await under.repository.findSecret('client-1', 'an-id')).secret.reveal()).toBe(A_CLIENT.clientSecret);
        expect(await under.repository.findKeys('client-1')).toEqual({ isRegistered: true, keys: [] });
        expect(await under.repository.findBySubject({ issuer: 'i', subject: 's' })).toEqual([]);
        expect(await under.findCosts(2_000)).toEqual([4]);
      },
    );
  });

  it('reads the row of another client in the place of one that is unknown, by indexes, and reports nothing of it', async () => {
    await database.query(`insert into clients (client_id, client_secret, client_name, scope, credentials)
      select 'client-' || n, '*', 'A client', 'read', '{"jwks": {"keys": [{"kty": "oct"}]}}' from generate_series(1, 5000) n; analyze clients`);
    const { text } = lookUpStatements(true).findCredentials;
    const rows = await database.query(text, [
      ['nobody', 'client-7', 'nobody-2'],
      [3_000, 3_000, 9_000_000],
    ]);
    expect(rows.map(({ asked, clientId }) => [asked, clientId])).toEqual([
      ['nobody', 'client-3000'],
      ['client-7', 'client-7'],
      ['nobody-2', 'client-5000'],
    ]);
    const plan = await database.query(`explain ${text.replace('$1', `'{a}'`).replace('$2', `'{1}'`)}`);
    expect(JSON.stringify(plan)).not.toContain('Seq Scan');
    await under.repository.findKeys('nobody');
    expect(lines).toEqual([]);
  });

  it('has the index of identities after a migration, also if another application added the column', async () => {
    await database.query('drop index if exists clients_federated_subjects');
    expect(await migrateDatabase(database.url)).toContain('Added: the index of identities in clients');
    expect(await migrateDatabase(database.url)).not.toContain('Added: the index of identities in clients');
    const indexes = await database.query(
      `select indexdef from pg_indexes where indexname = 'clients_federated_subjects'`,
    );
    expect(indexes).toMatchObject([{ indexdef: expect.stringContaining('USING gin') }]);
  });

  it('finds identities of other issuers by an index, whatever number of rows the table has', async () => {
    await database.query('drop table clients');
    await database.query(await createTableSql(CLIENTS));
    await database.query(`insert into clients (client_id, client_secret, client_name, scope, credentials)
      select 'client-' || n, '*', 'A client', 'read', pg_catalog.jsonb_build_object('federated_subjects',
        pg_catalog.jsonb_build_array(pg_catalog.jsonb_build_object('issuer', 'i', 'subject', n::text))) from generate_series(1, 5000) n`);
    await database.query('analyze clients');
    const text = lookUpStatements(true)
      .findBySubject.text.replace('$1', `'[{"issuer": "i", "subject": "7"}]'`)
      .replaceAll('$2', `''`);
    expect(JSON.stringify(await database.query(`explain ${text}`))).toContain('clients_federated_subjects');
    expect(await under.repository.findBySubject({ issuer: 'i', subject: '7' })).toMatchObject([
      { clientId: 'client-7' },
    ]);
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
      await opened.repository.findByClientId('nobody');
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

    it('are split among statements of 64 ids', async () => {
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

    it.each([
      { ...lookUpStatements(true).findClients, values: `'{a,b}'` },
      { ...lookUpStatements(true).findCredentials, values: `'{a,b}', '{1,2}'` },
    ])('are planned once by $name: the planner does not look into the ids', async ({ text, values }) => {
      const session = new KeptConnection(database.url);
      await session.query(`prepare find as ${text}`);
      for (let number = 0; number < 8; number += 1) await session.query(`execute find(${values})`);
      const [prepared] = await session.query('select generic_plans::int as generic from pg_prepared_statements');
      await session.close();
      // PostgreSQL tries five plans for the values before it compares.
      expect(prepared).toEqual({ generic: 3 });
    });
  });

  it('does not start on a database that cannot store every client id, and says what to do, as migrate does', async () => {
    const latin = await createTestDatabase({ options: `encoding 'LATIN1' locale 'C' template template0` });
    const refused = /the encoding LATIN1, .*: create a database with encoding 'UTF8'/;
    await expect(migrateDatabase(latin.url)).rejects.toMatchObject({
      cause: { message: expect.stringMatching(refused) },
    });
    await expect(openRepository({ url: latin.url, poolSize: 1, deadlineMs: 10_000 })).rejects.toThrow(refused);
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
    expect(program.stderr()).toContain('table clients has no column scope as the service needs it: docs/operate.md');
    expect(program.stderr()).not.toContain('postgresql://');
    expect(program.stdout()).not.toMatch(/started|"port"/);
  });
});
