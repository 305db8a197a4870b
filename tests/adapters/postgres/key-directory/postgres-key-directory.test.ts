import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { importJWK } from 'jose';
import { createKeyFactory } from '../../../../adapters/jwt/create-key-factory.ts';
import type { DatabaseLine } from '../../../../adapters/postgres/health.ts';
import { SIGNING_KEY_STATES, SIGNING_KEYS } from '../../../../adapters/postgres/key-directory/key-tables.ts';
import { PostgresKeyDirectory } from '../../../../adapters/postgres/key-directory/postgres-key-directory.ts';
import { type OpenTable, openTable } from '../../../../adapters/postgres/table.ts';
import { RandomIdGenerator, SystemMonotonicClock } from '../../../../adapters/system/system.ts';
import type { KeyHandle } from '../../../../application/ports/key-provider.ts';
import { TOKEN_ALGORITHMS } from '../../../../domain/token-key.ts';
import { aKey, describeKeyDirectory, kidsIn } from '../../../contracts/key-directory.ts';
import { threadsAtOnce } from '../../../support/at-once.ts';
import { freshKeyRing } from '../../../support/fresh-key-ring.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/test-database.ts';

let database: TestDatabase;
let lines: DatabaseLine[];
let opened: OpenTable[];

beforeAll(async () => {
  database = await createTestDatabase();
}, 120_000);
afterAll(() => database.drop());

beforeEach(async () => {
  await database.query('drop table if exists signing_keys, signing_key_states');
  lines = [];
  opened = [];
});
afterEach(() => closeAll());

async function open(url = database.url): Promise<PostgresKeyDirectory> {
  const options = { url, poolSize: 2, deadlineMs: 30_000 };
  const log = (line: DatabaseLine) => lines.push(line);
  const table = await openTable('key directory', SIGNING_KEYS, options, log, undefined, SIGNING_KEY_STATES);
  opened.push(table);
  return new PostgresKeyDirectory(table.runner);
}

async function closeAll(): Promise<void> {
  await Promise.all(opened.splice(0).map((table) => table.close()));
}

async function pass(seconds: number): Promise<void> {
  await database.query('update signing_keys set trusted_until = trusted_until - $1', [seconds]);
  await database.query('update signing_key_states set kept_until = kept_until - $1', [seconds]);
}

describeKeyDirectory('PostgresKeyDirectory', async () => ({ directory: await open(), pass, close: closeAll }));

describe('the table signing_keys', () => {
  it('is created if it is missing, with public members only', async () => {
    await open();
    const columns = await database.query(
      `select column_name, data_type, is_nullable, collation_name from information_schema.columns
        where table_name = 'signing_keys' order by ordinal_position`,
    );
    expect(columns.map((column) => Object.values(column))).toEqual([
      ['kid', 'text', 'NO', 'C'],
      ['n', 'text', 'NO', null],
      ['e', 'text', 'NO', null],
      ['trusted_until', 'bigint', 'NO', null],
    ]);
    expect(lines).toEqual([{ event: 'table_created' }, { event: 'table_created', table: 'signing_key_states' }]);
  });

  it('is created once by many replicas that start at the same time, without the table clients', async () => {
    await Promise.all(Array.from({ length: 8 }, () => open()));
    // Each of the two tables is created once, perhaps by different replicas.
    expect(lines).toHaveLength(2);
    expect(lines).toContainEqual({ event: 'table_created' });
    expect(lines).toContainEqual({ event: 'table_created', table: 'signing_key_states' });
    expect(await database.query(`select to_regclass('clients') as found`)).toEqual([{ found: null }]);
  });

  it('requires only SELECT, INSERT, UPDATE and DELETE', async () => {
    await open();
    const role = await database.createRole();
    await database.query(`grant select, insert, update, delete on signing_keys, signing_key_states to ${role.name}`);
    const directory = await open(role.url);
    await directory.publish([aKey('one'), aKey('two')]);
    await pass(86_400);
    await directory.publish([aKey('one')]);
    expect(await kidsIn(directory)).toEqual(['one']);
  });

  it.each(['insert', 'update', 'delete'])('prevents the start if its role may not %s', async (privilege) => {
    await open();
    const role = await database.createRole();
    await database.query(`grant select, insert, update, delete on signing_keys, signing_key_states to ${role.name}`);
    await database.query(`revoke ${privilege} on signing_keys from ${role.name}`);
    await expect(open(role.url)).rejects.toThrow(
      'the database role may not insert, update and delete rows of table signing_keys',
    );
  });

  it('prevents the start if it lacks a column', async () => {
    await database.query('create table signing_keys (kid text primary key, n text, e text)');
    await expect(open()).rejects.toThrow('table signing_keys lacks the column trusted_until');
  });
});

describe('PostgresKeyDirectory', () => {
  it('finds no other key for exactly one of eight replicas that publish at the same time', async () => {
    const directories = await Promise.all(Array.from({ length: 8 }, () => open()));
    for (let round = 0; round < 10; round += 1) {
      await database.query('delete from signing_keys');
      const answers = await Promise.all(
        directories.map((directory, number) => directory.publish([aKey(`key-${number}`)])),
      );
      expect(answers.map(({ keys }) => keys.length).sort()).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    }
  });

  it('does so too if the database isolates transactions more strictly by default', async () => {
    const role = await database.createRole();
    await open();
    await database.query(`grant select, insert, update, delete on signing_keys, signing_key_states to ${role.name}`);
    await database.query(`alter role ${role.name} set default_transaction_isolation = 'serializable'`);
    const directories = await Promise.all(Array.from({ length: 8 }, () => open(role.url)));
    const answers = await Promise.all(
      directories.map((directory, number) => directory.publish([aKey(`key-${number}`)])),
    );
    expect(answers.map(({ keys }) => keys.length).sort()).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });

  it('returns only complete rows of a table of another application, and a key ring trusts only valid keys among them', async () => {
    await database.query('create table signing_keys (kid text primary key, n text, e text, trusted_until bigint)');
    const directory = await open();
    await database.query(
      `insert into signing_keys values ('no-modulus', null, 'AQAB', $1), ('no-key', '***', 'AQAB', $1)`,
      [4_000_000_000],
    );
    expect(await kidsIn(directory)).toEqual(['no-key']);
    const ring = await freshKeyRing({ clock: new SystemMonotonicClock(), directory });
    expect(await ring.publicKeys()).toHaveLength(1);
  });

  it('keeps keys of every type, each with its algorithm', async () => {
    const [directory, other] = [await open(), await open()];
    const keys = await Promise.all(
      TOKEN_ALGORITHMS.map(
        async (alg) => (await createKeyFactory({ ids: new RandomIdGenerator(), threads: threadsAtOnce }).make(alg)).jwk,
      ),
    );
    await directory.publish(keys.map((jwk) => ({ jwk, trustedSeconds: 100 })));
    const { keys: read, ofOlderVersions } = await other.read();
    expect(read.map(({ jwk }) => jwk)).toEqual(expect.arrayContaining(keys));
    expect(read).toHaveLength(keys.length);
    expect(ofOlderVersions).toEqual([]);
  });

  it('writes keys for RS256 as older versions do, and others so that these ignore the row', async () => {
    const directory = await open();
    const factory = createKeyFactory({ ids: new RandomIdGenerator(), threads: threadsAtOnce });
    const keys = await Promise.all(TOKEN_ALGORITHMS.map(async (alg) => (await factory.make(alg)).jwk));
    await directory.publish(keys.map((jwk) => ({ jwk, trustedSeconds: 100 })));
    const rows = await database.query('select kid, n, e from signing_keys');
    const readable: unknown[] = [];
    for (const { kid, n, e } of rows) {
      // As version 0.2.0 reads a row.
      const older = { kty: 'RSA', use: 'sig', alg: 'RS256', n: String(n), e: String(e) };
      const key = await importJWK(older).catch(() => undefined);
      const { modulusLength, publicExponent = [] } = Object((key as KeyHandle | undefined)?.algorithm);
      if ((publicExponent.at(-1) ?? 0) % 2 === 1 && Number(modulusLength) >= 2048) readable.push(kid);
    }
    expect(rows).toHaveLength(keys.length);
    expect(readable).toEqual([keys.find(({ alg }) => alg === 'RS256')?.kid]);
    // No column is null: there the older version would have ignored the row too, but our table forbids it.
    expect(rows.find(({ kid }) => kid === readable[0])).toEqual({ kid: keys[0]?.kid, n: keys[0]?.n, e: 'AQAB' });
  });

  it('tells which keys are of replicas that verify only RS256: older versions write no algorithm', async () => {
    const directory = await open();
    await directory.publish([aKey('new')]);
    await database.query(
      `insert into signing_keys values ('old', 'n', 'AQAB', $1), ('oldest', 'n', 'AQAB', $1)`,
      [4_000_000_000],
    );
    await database.query(
      `insert into signing_key_states (kid, replica, published_at, kept_until) values ('old', 'auth-1:7', 1, $1)`,
      [4_000_000_000],
    );
    expect((await directory.read()).ofOlderVersions.toSorted()).toEqual(['old', 'oldest']);
  });

  it.each([
    ['no JSON', 'no JSON'],
    ['null', 'null'],
    ['an array', '[]'],
    ['a key without a type', '{"alg":"ES256"}'],
    ['a symmetric key', '{"kty":"oct","alg":"HS256","k":"AAAA"}'],
    ['a key whose members are numbers', '{"kty":"EC","crv":"P-256","alg":"ES256","x":1,"y":2}'],
    ['a key for another algorithm', '{"kty":"EC","crv":"P-384","alg":"ES384","x":"AA","y":"AA"}'],
  ])('ignores a row with %s', async (_what, n) => {
    const directory = await open();
    await database.query(`insert into signing_keys values ('odd', $1, '', 4000000000)`, [n]);
    expect(await kidsIn(directory)).toEqual([]);
  });

  it('takes from a row only the public members of a key', async () => {
    const directory = await open();
    const { jwk } = await createKeyFactory({ ids: new RandomIdGenerator(), threads: threadsAtOnce }).make('ES256');
    const row = JSON.stringify({ ...jwk, d: 'secret', kid: 'another', use: 'sig', x5u: 'https://attacker.test' });
    await database.query(`insert into signing_keys values ('mine', $1, '', 4000000000)`, [row]);
    expect((await directory.read()).keys.map(({ jwk: read }) => read)).toEqual([{ ...jwk, kid: 'mine' }]);
  });
});
