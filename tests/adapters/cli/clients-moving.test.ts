import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { readClientsFile } from '../../../adapters/files/clients-file.ts';
import { DETAIL_TABLES as TABLES } from '../../../application/clients-program/detail-tables.ts';
import { freshTables } from '../../support/details-tables.ts';
import { runLine } from '../../support/program.ts';
import { GOOD_CLIENT } from '../../support/running-service.ts';
import { createSqliteFile } from '../../support/sqlite-file.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';
import { clientsInProcess, type RunClients } from './clients-program.ts';

const DETAIL_TABLES = Object.values(TABLES).map(({ name }) => name);
const HASH = GOOD_CLIENT.client_secret;
const JWK = { kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo', kid: 'k"1\\\u202e' };
const ODD = `quote " apostrophe ' back\\slash \u{1f511} \u202e é , ] } %_ $1`;
const LONG = 'x'.repeat(2_000);
const HUGE_CLAIMS = Object.fromEntries(Array.from({ length: 20 }, (_, number) => [`/claim-${number}`, LONG]));
const BARE = { secrets: [], jwks: { keys: [] }, federated_subjects: [], resources: [] };

/** One client of each kind that an import can store. */
const CLIENTS = [
  GOOD_CLIENT,
  { ...GOOD_CLIENT, client_id: 'locked', client_secret: `!${HASH}` },
  { ...GOOD_CLIENT, client_id: 'nothing', client_secret: '*' },
  { ...GOOD_CLIENT, client_id: 'locked-nothing', client_secret: '!*' },
  { ...GOOD_CLIENT, client_id: ODD, client_name: `two\nlines of ${ODD}`, scope: 'x'.repeat(30_000) },
  {
    ...GOOD_CLIENT,
    client_id: 'detailed',
    client_secret: '*',
    secrets: [
      { secret_id: 'old', name: ODD, client_secret: HASH, expires_at: 1 },
      { secret_id: 'new-~', name: 'new', client_secret: HASH },
    ],
    jwks: { keys: [JWK, { ...JWK, x: '22qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo', kid: 'k2', expires_at: 2 }] },
    federated_subjects: [
      { issuer: 'https://issuer.example', subject: ODD, claims: { '/a~1b': ODD } },
      ...Array.from({ length: 10 }, (_, number) => ({ issuer: LONG, subject: `s${number}`, claims: HUGE_CLAIMS })),
    ],
    resources: ['https://api.example/', 'urn:a'],
  },
];

let source: TestDatabase;
let target: TestDatabase;
let folder: string;
let file: string;
let clients: RunClients;
let onTarget: RunClients;

beforeAll(async () => {
  [source, target] = await Promise.all([createTestDatabase(), createTestDatabase()]);
  folder = await mkdtemp(join(tmpdir(), 'clients-moving-'));
  file = join(folder, 'clients.json');
  [clients, onTarget] = [clientsInProcess(source.url), clientsInProcess(target.url)];
}, 120_000);
afterAll(async () => {
  await Promise.all([source.drop(), target.drop()]);
  await rm(folder, { recursive: true });
});
beforeEach(async () => {
  await Promise.all([source, target].map(freshTables));
  await rm(file, { force: true });
  await clients(['list']);
});

/** All rows of all tables without what does not move: row ids and created_at. */
async function rowsOf({ query }: TestDatabase) {
  const rows = await query(`select 'clients' as t, to_jsonb(clients) - 'id' as row from clients
    ${DETAIL_TABLES.map(
      (table) => `union all select '${table}', to_jsonb(d) - '{registration_id,created_at}'::text[] from ${table} d
      join clients on clients.client_id = d.client_id and clients.id::text = d.registration_id`,
    ).join(' ')} order by 1, 2`);
  return rows;
}

async function store(run: RunClients, entries: readonly object[], ...options: readonly string[]) {
  const given = join(folder, 'given.json');
  await writeFile(given, JSON.stringify(entries));
  expect(await run(['import', given, ...options])).toMatchObject({ exitCode: 0 });
}

describe('clients export and import', () => {
  it('move every row of every table to another database', async () => {
    await store(clients, CLIENTS);
    expect(await clients(['export', file])).toMatchObject({ exitCode: 0, stdout: '', stderr: '6 exported.\n' });
    // Row ids are others there.
    await store(onTarget, [{ ...GOOD_CLIENT, client_id: 'of the target' }]);
    await onTarget(['remove', 'of the target']);
    expect(await onTarget(['import', file])).toMatchObject({ exitCode: 0, stderr: '6 added, 0 replaced.\n' });
    const rows = await rowsOf(source);
    expect(rows.map(({ t }) => t)).toEqual(expect.arrayContaining(['clients', ...DETAIL_TABLES]));
    expect(await rowsOf(target)).toEqual(rows);
    const back = await onTarget(['export']);
    expect(back.stdout).toBe(await readFile(file, 'utf8'));
  });

  it('move every row to a SQLite file and back', async () => {
    await using sqlite = await createSqliteFile();
    const onFile = clientsInProcess('', { CLIENT_REPOSITORY: 'sqlite', DATABASE_FILE: sqlite.path });
    await store(clients, CLIENTS);
    await clients(['export', file]);
    expect(await onFile(['import', file])).toMatchObject({ exitCode: 0, stderr: '6 added, 0 replaced.\n' });
    const back = await onFile(['export']);
    expect(back).toMatchObject({ exitCode: 0, stdout: await readFile(file, 'utf8') });
    expect(await onFile(['import', file, '--replace'])).toMatchObject({ exitCode: 0 });
    expect((await onFile(['export'])).stdout).toBe(back.stdout);
    expect(await onTarget(['import', file])).toMatchObject({ exitCode: 0 });
    expect(await rowsOf(target)).toEqual(await rowsOf(source));
  });

  it('make the target the same with --replace, also where it had more, and keep its locks', async () => {
    const [, , , , , detailed] = CLIENTS;
    const resources = ['https://more.example/'];
    await store(clients, [...CLIENTS.slice(0, 3), { ...detailed, secrets: [], resources: [] }]);
    await store(onTarget, [
      { ...GOOD_CLIENT, resources },
      { ...detailed, client_secret: '!*' },
    ]);
    await clients(['export', file]);
    const replaced = await onTarget(['import', file, '--replace']);
    expect(replaced).toMatchObject({ exitCode: 0, stderr: '2 added, 2 replaced.\nClient detailed stays disabled.\n' });
    await onTarget(['enable', 'detailed']);
    expect(await rowsOf(target)).toEqual(await rowsOf(source));
  });

  it('keep with --replace what an entry does not mention', async () => {
    await store(clients, [{ ...GOOD_CLIENT, resources: ['urn:a'], jwks: { keys: [JWK] } }]);
    await store(clients, [{ ...GOOD_CLIENT, client_name: 'Renamed', resources: ['urn:b'] }], '--replace');
    expect((await clients(['show', 'good-client', '--json'])).json()).toMatchObject({
      client_name: 'Renamed',
      resources: ['urn:b'],
      keys: [{ kid: JWK.kid }],
    });
  });

  it('work as the manual says', async () => {
    await store(clients, CLIENTS);
    const manual = await readFile('docs/managing-clients.md', 'utf8');
    const lines = [...manual.matchAll(/^DATABASE_URL=\S+ npm run clients -- ((?:export|import) .*)$/gm)];
    const urls = [source.url, target.url];
    for (const [, line = ''] of lines) {
      const args = line.split(' ').map((word) => (word === 'clients.json' ? file : word));
      expect(await clientsInProcess(urls.shift() ?? '')(args)).toMatchObject({ exitCode: 0 });
    }
    expect(urls).toEqual([]);
    expect(await rowsOf(target)).toEqual(await rowsOf(source));
  });
});

describe('clients export', () => {
  it('writes a clients file that the service reads, one client on each line, in the order of ids', async () => {
    await store(clients, [
      { ...GOOD_CLIENT, client_id: 'b' },
      { ...GOOD_CLIENT, client_id: 'a' },
    ]);
    const { stdout } = await clients(['export']);
    const [a, b] = ['a', 'b'].map((client_id) => JSON.stringify({ ...GOOD_CLIENT, client_id, ...BARE }));
    expect(stdout).toBe(`[\n${a},\n${b}\n]\n`);
    expect(readClientsFile(stdout)).toMatchObject({ ok: true, value: [{ clientId: 'a' }, { clientId: 'b' }] });
  });

  it('writes an empty array if there is no client, and only ids of a prefix', async () => {
    expect(await clients(['export'])).toMatchObject({ exitCode: 0, stdout: '[]\n', stderr: '0 exported.\n' });
    await store(clients, CLIENTS);
    const run = await clients(['export', '--prefix', 'locked']);
    expect(JSON.parse(run.stdout)).toMatchObject([{ client_id: 'locked' }, { client_id: 'locked-nothing' }]);
  });

  it('creates a file that only its owner can read, and overwrites none', async () => {
    await store(clients, CLIENTS);
    await clients(['export', file]);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const before = await readFile(file, 'utf8');
    const message = `The file ${file} exists already (EEXIST).\n`;
    expect(await clients(['export', file])).toMatchObject({ exitCode: 1, stdout: '', stderr: message });
    expect(await readFile(file, 'utf8')).toBe(before);
  });

  it('names what import would refuse, shows none of it, and exports the rest', async () => {
    await source.query('drop table clients');
    await source.query(
      'create table clients (id bigint, client_id text, client_secret text, client_name text, scope text)',
    );
    const insert = 'insert into clients values ($1, $2, $3, $4, $5)';
    const rows: readonly (readonly [string | null, string, string, string])[] = [
      ['double', HASH, 'One', 'read'],
      ['double', HASH, 'Other', 'read'],
      ['good', HASH, 'Good', 'read'],
      ['huge', HASH, 'x'.repeat(2_000_000), 'read'],
      ['json', '*', 'Not JSON', 'read'],
      ['noop', '{noop}its-secret', 'Plain', 'read'],
      ['other', '{bcrypt}its-secret', 'Other encoding', 'read'],
      ['scope', HASH, 'No scope', ' '],
      ['subject', '*', 'Many secrets', 'read'],
      [null, HASH, 'Nobody', 'read'],
    ];
    for (const [id, row] of rows.entries()) await source.query(insert, [id, ...row]);
    await source.query(
      "insert into client_keys (client_id, registration_id, key_id, jwk) values ('json', '4', 'a', 'its-secret')",
    );
    await source.query(
      "insert into client_subjects (client_id, registration_id, issuer, subject, claims) values ('subject', '8', 'i', 's', '{\"/a\": 1}')",
    );
    const run = await clients(['export']);
    expect(run.exitCode).toBe(1);
    expect(JSON.parse(run.stdout)).toMatchObject([{ client_id: 'good' }]);
    expect(run.stdout + run.stderr).not.toContain('its-secret');
    expect(run.stderr).toBe(`Row 0, client double: client_id must be unique; it is not exported.
Row 1, client double: client_id must be unique; it is not exported.
Row 3, client huge: it is longer than 1 MiB, or its details are not JSON; it is not exported.
Row 4, client json: it is longer than 1 MiB, or its details are not JSON; it is not exported.
Row 5, client noop: client_secret must be a BCrypt encoding of cost 4 to 14; it is not exported.
Row 6, client other: client_secret must be a BCrypt encoding of cost 4 to 14; it is not exported.
Row 7, client scope: scope must be one or more scope tokens with single spaces between (RFC 6749 section 3.3); it is not exported.
Row 8, client subject: federated_subjects.0.claims./a must be a string; it is not exported.
Row 9, client : client_id must have 1 to 255 characters and no control character; it is not exported.
1 exported.
9 not exported: import would refuse them.
`);
  });

  it('works without the tables of details', async () => {
    await store(clients, [GOOD_CLIENT]);
    const { stdout } = await clients(['export']);
    await source.query(`drop table ${DETAIL_TABLES.join(', ')}`);
    expect(await clients(['export'])).toMatchObject({ exitCode: 0, stdout });
    await writeFile(file, stdout);
    expect(await clients(['import', file, '--replace'])).toMatchObject({ exitCode: 0 });
    await writeFile(file, JSON.stringify([{ ...GOOD_CLIENT, resources: ['urn:a'] }]));
    const refused = await clients(['import', file, '--replace']);
    expect(refused).toMatchObject({ exitCode: 3, stderr: expect.stringContaining('run npm run migrate first') });
    await source.query('drop schema public cascade');
    await source.query('create schema public');
  });

  it.each([
    ['a full disk', 'export > /dev/full', 'Standard output failed (ENOSPC) before the whole answer was written.'],
    ['a full disk of its file', 'export /dev/full', 'exists already (EEXIST)'],
    ['a reader that stops', 'export | true; exit $PIPESTATUS', 'Standard output was closed before'],
  ])('ends with a message and exit code 1 at %s', async (_what, line, message) => {
    await store(
      clients,
      Array.from({ length: 5_000 }, (_, number) => ({ ...GOOD_CLIENT, client_id: `${number}` })),
    );
    const command = `bash -c "'${process.execPath}' config/clients.ts ${line.replaceAll('$', '\\$')}"`;
    await using program = runLine(command, { DATABASE_URL: source.url });
    expect(await program.ended()).toBe(1);
    expect(program.stderr()).toContain(message);
  });
});
