import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { CLIENTS } from '../../../../adapters/postgres/client-entity.ts';
import type { DatabaseLine } from '../../../../adapters/postgres/health.ts';
import { migrateDatabase } from '../../../../adapters/postgres/migrate-database.ts';
import { openClientRepository } from '../../../../adapters/postgres/postgres-client-repository.ts';
import {
  CLIENT_KEYS,
  FIND_KEYS,
  postgresClientKeys,
} from '../../../../adapters/postgres/private-key-jwt/postgres-client-keys.ts';
import type { FoundKeys } from '../../../../application/ports/client-keys.ts';
import { NO_DETAILS } from '../../../../domain/client-details.ts';
import type { NewClient } from '../../../../domain/client-registration.ts';
import { describeClientKeys } from '../../../contracts/client-keys.ts';
import { generateSigningKey } from '../../../support/assertions.ts';
import { CREATE_CLIENTS, clientsTable } from '../../../support/clients-table.ts';
import { KeptConnection } from '../../../support/kept-connection.ts';
import { REGISTERED_CLIENT } from '../../../support/registered-client.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/test-database.ts';

let database: TestDatabase;
let lines: DatabaseLine[];
let opened: { close(): Promise<void> }[];

beforeAll(async () => {
  database = await createTestDatabase();
}, 120_000);
afterAll(() => database.drop());

beforeEach(async () => {
  await database.query(`drop table if exists clients; ${CREATE_CLIENTS}`);
  lines = [];
  opened = [];
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((table) => table.close()));
});

/** The statements of requests. */
let statements: { answered: number; failed: number };

async function open(tables: Parameters<typeof openClientRepository>[2] = [CLIENT_KEYS]) {
  statements = { answered: 0, failed: 0 };
  const count = (outcome: keyof typeof statements) => () => {
    statements[outcome] += 1;
  };
  const times = { answered: count('answered'), failed: count('failed') };
  const options = { url: database.url, poolSize: 2, deadlineMs: 10_000, measure: () => times };
  const log = (line: DatabaseLine) => lines.push(line);
  const { runnerOf, dependency } = await openClientRepository(options, log, tables);
  opened.push(dependency);
  return postgresClientKeys(runnerOf(tables[0] ?? CLIENTS), log);
}

/** Adds a client with its keys, as the program that manages clients does. */
async function add(client: NewClient): Promise<void> {
  await clientsTable(database).add(client);
  for (const [index, { jwk, expires_at }] of (client.details?.keys ?? []).entries()) {
    await addKey(client.clientId, `key-${index}`, JSON.stringify(jwk), expires_at);
  }
}

async function addKey(clientId: string, keyId: string, jwk: string, expiresAt?: number): Promise<void> {
  await database.query(
    `insert into client_keys (client_id, registration_id, key_id, jwk, expires_at)
      select client_id, id::text, $2, $3, $4 from clients where client_id = $1`,
    [clientId, keyId, jwk, expiresAt ?? null],
  );
}

describe('a database without the table client_keys', () => {
  it('is refused at the start with the command that creates it, if the method needs it', async () => {
    await expect(open()).rejects.toThrow('table client_keys does not exist: run npm run migrate');
    await open([]);
  });
});

describe('a database with the tables of the service', () => {
  beforeAll(async () => {
    await migrateDatabase(database.url);
  });
  beforeEach(() => database.query('delete from client_keys'));

  describeClientKeys('postgresClientKeys', async (clients) => {
    const keys = await open();
    for (const client of clients) await add(client);
    return keys;
  });

  it('serves no key of a deleted registration to a new one of the same client id', async () => {
    const keys = await open();
    await add({
      ...REGISTERED_CLIENT,
      details: { secrets: [], keys: [{ jwk: generateSigningKey('ES256').jwk }], subjects: [], resources: [] },
    });
    expect((await keys.findKeys(REGISTERED_CLIENT.clientId)).keys).toHaveLength(1);
    await clientsTable(database).remove(REGISTERED_CLIENT.clientId);
    await add(REGISTERED_CLIENT);
    expect((await keys.findKeys(REGISTERED_CLIENT.clientId)).keys).toEqual([]);
  });

  it.each(['', '{', '[]', '{"kty":"oct","k":"AAAA"}', '{"kty":"RSA","n":"AQAB","e":"AQAB"}'])(
    'leaves out the key %j, which cannot be used, and reports it without its value',
    async (jwk) => {
      const keys = await open();
      await add(REGISTERED_CLIENT);
      await addKey(REGISTERED_CLIENT.clientId, 'unusable', jwk);
      const { jwk: usable } = generateSigningKey('ES256');
      await addKey(REGISTERED_CLIENT.clientId, 'usable', JSON.stringify(usable));
      expect((await keys.findKeys(REGISTERED_CLIENT.clientId)).keys).toEqual([{ jwk: usable }]);
      const line = { event: 'registration_broken', client_id: REGISTERED_CLIENT.clientId, field: 'jwk' };
      expect(lines.at(-1)).toMatchObject(line);
      expect(JSON.stringify(lines)).not.toContain('AQAB');
    },
  );

  it.each([JSON.stringify(generateSigningKey('ES256').jwk), '{'])(
    'reads the key %# of another client in the place of keys that are missing, and uses and reports nothing of it',
    async (jwk) => {
      const keys = await open();
      lines = [];
      const other = { ...REGISTERED_CLIENT, clientId: 'another' };
      await Promise.all([add(REGISTERED_CLIENT), add(other)]);
      await addKey(other.clientId, 'its-own', jwk);
      for (const clientId of [REGISTERED_CLIENT.clientId, 'nobody']) {
        expect((await keys.findKeys(clientId)).keys).toEqual([]);
      }
      expect(lines).toEqual([]);
    },
  );

  it('finds no keys of two registrations of one id, in a table without a unique index', async () => {
    await database.query(
      'drop table clients; create table clients (id text, client_id text, client_secret text, client_name text, scope text)',
    );
    for (const id of ['1', '2']) {
      await database.query("insert into clients values ($1, 'twice', '*', 'name', 'read')", [id]);
    }
    const keys = await open();
    await addKey('twice', 'a-key', JSON.stringify(generateSigningKey('ES256').jwk));
    expect(await keys.findKeys('twice')).toEqual({ registrationId: '1', keys: [] });
  });

  describe('look-ups at the same time', () => {
    const ids = Array.from({ length: 20 }, (_, number) => `client-${number}`);
    const key = (kid: string) => ({ ...generateSigningKey('ES256').jwk, kid });
    const kidsOf = (found: readonly FoundKeys[]) => found.map(({ keys }) => keys.map(({ jwk }) => jwk.kid));

    it('share one statement, and each finds its own keys', async () => {
      const keys = await open();
      for (const clientId of ids) {
        await add({ ...REGISTERED_CLIENT, clientId, details: { ...NO_DETAILS, keys: [{ jwk: key(clientId) }] } });
      }
      await add({ ...REGISTERED_CLIENT, clientId: 'keyless' });
      const before = statements.answered;
      const asked = [...ids, 'nobody', 'keyless', ...ids, '{a,"b"}', 'NULL', 'x\ud800', ''];
      const found = await Promise.all(asked.map((id) => keys.findKeys(id)));
      const expected = ids.map((id) => [id]);
      expect(kidsOf(found)).toEqual([...expected, [], [], ...expected, [], [], [], []]);
      expect(found[ids.length]?.registrationId).toBeUndefined();
      expect(found[ids.length + 1]?.registrationId).toMatch(/./);
      expect([statements.answered - before, statements.failed]).toEqual([1, 0]);
    });

    it('do the same work for each id: one row, with a key, whether it is registered or not', async () => {
      await open();
      await add({ ...REGISTERED_CLIENT, clientId: 'a', details: { ...NO_DETAILS, keys: [{ jwk: key('a') }] } });
      await add({ ...REGISTERED_CLIENT, clientId: 'keyless' });
      const text = FIND_KEYS.text.replaceAll('$schema.', 'public.');
      const rows = await database.query(text, [['nobody', 'a', 'keyless']]);
      expect(rows.map(({ clientId }) => clientId)).toEqual(['nobody', 'a', 'keyless']);
      const kept = rows.map((row) => JSON.parse(String(row['keys'])).map(([jwk]: readonly string[]) => jwk));
      expect(kept).toEqual([kept[1], [expect.stringContaining('"kid":"a"')], kept[1]]);
    });

    it.each(['varchar(80)', 'char(80)', 'text collate "und-x-icu"', 'citext', 'uuid'])(
      'find exactly their id in a column of the type %s, and fail alone if it refuses one',
      async (type) => {
        const isUuid = type === 'uuid';
        const registered = isUuid ? randomUUID() : 'client';
        const others = isUuid ? [randomUUID(), registered.toUpperCase()] : ['Client', 'client ', 'nobody'];
        if (type === 'citext') await database.query('create extension if not exists citext');
        await database.query(`drop table clients; create table clients (id bigint generated by default as identity primary key,
          client_id ${type} unique, client_secret text, client_name text, scope text)`);
        const keys = await open();
        await database.query(`insert into clients (client_id, client_secret, client_name, scope)
          values ('${registered}', '*', 'name', 'read')`);
        await database.query(
          `insert into client_keys (client_id, registration_id, key_id, jwk)
            select '${registered}', id::text, 'a', $1 from clients`,
          [JSON.stringify(key('its-own'))],
        );
        const found = await Promise.all([registered, ...others].map((id) => keys.findKeys(id)));
        expect(found).toEqual([
          { registrationId: '1', keys: [{ jwk: expect.objectContaining({ kid: 'its-own' }) }] },
          ...others.map(() => ({ registrationId: undefined, keys: [] })),
        ]);
        if (!isUuid) return;
        const outcomes = await Promise.allSettled([registered, 'no uuid'].map((id) => keys.findKeys(id)));
        expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
        expect(statements.failed).toBe(0);
      },
    );

    it('are planned once: the planner does not look into the ids', async () => {
      await open();
      const session = new KeptConnection(database.url);
      await session.query(`prepare find as ${FIND_KEYS.text.replaceAll('$schema.', 'public.')}`);
      for (let number = 0; number < 8; number += 1) await session.query(`execute find('{a,b}')`);
      const [prepared] = await session.query('select generic_plans::int as generic from pg_prepared_statements');
      await session.close();
      // PostgreSQL tries five plans for the values before it compares.
      expect(prepared).toEqual({ generic: 3 });
    });
  });
});
