import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, it, test } from '@jest/globals';
import bcrypt from 'bcrypt';
import { runClients } from '../../../adapters/cli/clients-program/run-clients.ts';
import { explainCommand } from '../../../adapters/cli/federated-jwt/explain-command.ts';
import { readClientsFile } from '../../../adapters/files/clients-file.ts';
import { manageClients } from '../../../config/programs/clients-program.ts';
import { openExplain } from '../../../config/programs/open-explain.ts';
import {
  CLIENT_FIELD_NAMES,
  CLIENT_FIELDS,
  type ClientFieldName,
  type ClientFields,
  NO_FIELDS,
} from '../../../domain/client-fields.ts';
import { failure } from '../../../domain/result.ts';
import { writeClientsFile } from '../../support/bulk-clients.ts';
import { CREATE_CLIENTS, clientsTable } from '../../support/clients-table.ts';
import { freshTables } from '../../support/details-tables.ts';
import { runLine } from '../../support/program.ts';
import { runInProcess } from '../../support/run-in-process.ts';
import { GOOD_CLIENT, GOOD_SECRET, PLAIN_CLIENT } from '../../support/running-service.ts';
import { createSqliteFile } from '../../support/sqlite-file.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';
import { PLATFORMS, platformOf, ruleOf, WorkloadIssuer, WorkloadKey } from '../../support/workload-issuer.ts';
import { clientsInProcess, clientsProgram, type Run, type RunClients } from './clients-program.ts';

/** A service whose clients file refers to no secret. */
const SERVICE = { plain: 'accepted', read: () => failure('refers to nothing') } as const;

describe('exports and imports', () => {
  const HASH = GOOD_CLIENT.client_secret;
  const JWK = { kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo', kid: 'k"1\\\u202e' };
  const ODD = `quote " apostrophe ' back\\slash \u{1f511} \u202e é , ] } %_ $1`;
  const LONG = 'x'.repeat(2_000);
  const MANY_CLAIMS = Object.fromEntries(Array.from({ length: 10 }, (_, number) => [`/claim-${number}`, 'x']));
  const BARE = {
    secrets: [],
    jwks: { keys: [] },
    federated_subjects: [],
    resources: [],
    ...NO_FIELDS,
  };

  /** One client of each kind that an import can store. */
  const CLIENTS = [
    GOOD_CLIENT,
    { ...GOOD_CLIENT, client_id: 'locked', client_secret: `!${HASH}` },
    { ...GOOD_CLIENT, client_id: 'nothing', client_secret: '*' },
    { ...GOOD_CLIENT, client_id: 'locked-nothing', client_secret: '!*' },
    {
      ...GOOD_CLIENT,
      client_id: ODD.replace('\u202e', ''),
      client_name: `two\nlines of ${ODD}`,
      scope: 'x'.repeat(20_000),
    },
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
        ...Array.from({ length: 10 }, (_, number) => ({
          issuer: 'https://i.example',
          subject: `s${number}`,
          claims: MANY_CLAIMS,
        })),
        { issuer: LONG, subject: 's', claims: {} },
      ],
      resources: ['https://api.example/', 'urn:a'],
    },
  ];

  /** A value of each simple field, and the options that set it. */
  const FIELDS: { readonly [Name in ClientFieldName]: readonly [ClientFields[Name], ...(readonly string[])] } = {
    claims: [{ tenant: 'acme' }, '--token-claims', '{"tenant":"acme"}'],
    token_lifetime_seconds: [60, '--token-lifetime', '60'],
    grant_types: [['jwt-bearer'], '--grant-types', 'jwt-bearer'],
    audiences: [['https://api.example/', 'b'], '--audiences', 'https://api.example/,b'],
    owner: ['team-a'],
  };

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
  });

  /** All rows without what does not move: their ids. */
  async function rowsOf({ query }: TestDatabase) {
    return query("select to_jsonb(clients) - 'id' as row from clients order by client_id");
  }

  async function store(run: RunClients, entries: readonly object[], ...options: readonly string[]) {
    const given = join(folder, 'given.json');
    await writeFile(given, JSON.stringify(entries));
    expect(await run(['import', given, ...options])).toMatchObject({ exitCode: 0 });
  }

  describe('clients export and import', () => {
    it('move every row to another database', async () => {
      await store(clients, CLIENTS);
      expect(await clients(['export', file])).toMatchObject({ exitCode: 0, stdout: '', stderr: '6 exported.\n' });
      // Row ids are others there.
      await store(onTarget, [{ ...GOOD_CLIENT, client_id: 'of the target' }]);
      await onTarget(['remove', 'of the target']);
      expect(await onTarget(['import', file])).toMatchObject({ exitCode: 0, stderr: '6 added, 0 replaced.\n' });
      const rows = await rowsOf(source);
      expect(rows).toHaveLength(CLIENTS.length);
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

    it.each(CLIENT_FIELD_NAMES)('keep %s, which add and update set, and which output shows', async (name) => {
      const [value, ...options] = FIELDS[name];
      const field = { [name]: value };
      await store(clients, [{ ...GOOD_CLIENT, ...field }]);
      await clients(['export', file]);
      expect(JSON.parse(await readFile(file, 'utf8'))).toEqual([{ ...GOOD_CLIENT, ...BARE, ...field }]);
      await onTarget(['import', file]);
      expect(await rowsOf(target)).toEqual(await rowsOf(source));
      expect((await onTarget(['export'])).stdout).toBe(await readFile(file, 'utf8'));
      expect((await onTarget(['show', 'good-client', '--json'])).json()).toMatchObject(field);
      expect((await onTarget(['list', '--json'])).json()).toMatchObject([field]);
      // Only apply sets the owner.
      if (options.length === 0) return;
      const ofNew = ['--name', 'New', '--scope', 'read', '--json'];
      expect((await clients(['add', 'with', ...ofNew, ...options])).json()).toMatchObject(field);
      await clients(['add', 'without', ...ofNew]);
      const updated = await clients(['update', 'without', '--json', ...options]);
      expect(updated.json()).toMatchObject(field);
      const recorded = CLIENT_FIELDS[name].recorded(value as never);
      expect(updated.audit).toMatchObject([{ changed: [name], after: { [name]: recorded } }]);
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
      expect(replaced).toMatchObject({
        exitCode: 0,
        stderr: '2 added, 2 replaced, 1 of them still disabled.\n',
      });
      await onTarget(['enable', 'detailed']);
      expect(await rowsOf(target)).toEqual(await rowsOf(source));
    });

    it('make a client with --replace exactly what its entry says', async () => {
      await store(clients, [{ ...GOOD_CLIENT, resources: ['urn:a'], jwks: { keys: [JWK] } }]);
      await store(clients, [{ ...GOOD_CLIENT, client_name: 'Renamed', resources: ['urn:b'] }], '--replace');
      expect((await clients(['show', 'good-client', '--json'])).json()).toMatchObject({
        client_name: 'Renamed',
        resources: ['urn:b'],
        keys: [],
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
      expect(readClientsFile(stdout, SERVICE)).toMatchObject({
        ok: true,
        value: [{ clientId: 'a' }, { clientId: 'b' }],
      });
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
      const rows: readonly (readonly [string, string, string, string, object?])[] = [
        ['good', HASH, 'Good', 'read'],
        ['huge', HASH, 'x'.repeat(2_000_000), 'read'],
        ['noop', '{noop}its-secret', 'Plain', 'read'],
        ['other', '{bcrypt}its-secret', 'Other encoding', 'read'],
        ['private', '*', 'Private key', 'read', { jwks: { keys: [{ ...JWK, d: 'its-secret' }] } }],
        ['scope', HASH, 'No scope', ' '],
        [
          'subject',
          '*',
          'No text',
          'read',
          { federated_subjects: [{ issuer: 'i', subject: 's', claims: { '/a': 1 } }] },
        ],
        ['unknown', HASH, 'Unknown field', 'read', { mine: 'its-secret' }],
      ];
      for (const [id, [clientId, secret, name, scope, details = {}]] of rows.entries()) {
        const insert = `insert into clients (id, client_id, client_secret, client_name, scope, credentials)
          overriding system value values ($1, $2, $3, $4, $5, $6)`;
        await source.query(insert, [id, clientId, secret, name, scope, details]);
      }
      const run = await clients(['export']);
      expect(run.exitCode).toBe(1);
      expect(JSON.parse(run.stdout)).toMatchObject([{ client_id: 'good' }]);
      expect(run.stdout + run.stderr).not.toContain('its-secret');
      expect(run.stderr).toBe(`Row 1, client huge: client_name must have at most 20000 characters; it is not exported.
Row 2, client noop: client_secret must be a BCrypt encoding of cost 4 to 14; it is not exported.
Row 3, client other: client_secret must be a BCrypt encoding of cost 4 to 14; it is not exported.
Row 4, client private: details: jwks.keys.0 contains a private or a symmetric key: register only the public key; it is not exported.
Row 5, client scope: scope must be one or more scope tokens with single spaces between (RFC 6749 section 3.3); it is not exported.
Row 6, client subject: details: federated_subjects.0.claims./a must be a string; it is not exported.
Row 7, client unknown: details: it has unknown fields \`mine\`: it may have client_secret_expires_at, client_secret_generated, secrets, jwks, federated_subjects, resources, claims, token_lifetime_seconds, grant_types, audiences, owner; it is not exported.
1 exported.
7 not exported: import would refuse them.
`);
    });

    it('works without the columns of the service', async () => {
      await store(clients, [GOOD_CLIENT]);
      const { stdout } = await clients(['export']);
      await source.query('alter table clients drop column credentials, drop column details');
      expect(await clients(['export'])).toMatchObject({ exitCode: 0, stdout });
      await writeFile(file, stdout);
      expect(await clients(['import', file, '--replace'])).toMatchObject({ exitCode: 0 });
      await writeFile(file, JSON.stringify([{ ...GOOD_CLIENT, resources: ['urn:a'] }]));
      const refused = await clients(['import', file, '--replace']);
      expect(refused).toMatchObject({ exitCode: 3, stderr: expect.stringContaining('run npm run migrate first') });
    });

    it.each([
      ['a full disk', 'export > /dev/full', 'Standard output failed (ENOSPC) before the whole output was written.'],
      ['a reader that stops', 'export | true; exit $PIPESTATUS', 'Standard output was closed before'],
    ])('ends with a message and exit code 1 at %s', async (_what, line, message) => {
      await store(
        clients,
        Array.from({ length: 1_000 }, (_, number) => ({ ...GOOD_CLIENT, client_id: `${number}` })),
      );
      const command = `bash -c "'${process.execPath}' config/clients.ts ${line.replaceAll('$', '\\$')}"`;
      await using program = runLine(command, { DATABASE_URL: source.url });
      expect(await program.ended()).toBe(1);
      expect(program.stderr()).toContain(message);
    });
  });
});

describe('imports', () => {
  let database: TestDatabase;
  let clients: RunClients;
  let folder: string;
  let file: string;

  beforeAll(async () => {
    database = await createTestDatabase();
    clients = clientsInProcess(database.url);
    folder = await mkdtemp(join(tmpdir(), 'clients-file-'));
    file = join(folder, 'clients.json');
  }, 120_000);
  afterAll(async () => {
    await database.drop();
    await rm(folder, { recursive: true });
  });
  beforeEach(async () => {
    await database.query(`drop table if exists clients; ${CREATE_CLIENTS}`);
  });

  async function importClients(entries: unknown, ...options: readonly string[]): Promise<Run> {
    await writeFile(file, JSON.stringify(entries));
    return clients(['import', file, '--cost', '4', ...options]);
  }

  function rows() {
    return database.query('select client_id, client_secret, client_name, scope from clients order by client_id');
  }

  describe('clients import', () => {
    it('registers every client of a clients file, and hashes plain secrets', async () => {
      const run = await importClients([PLAIN_CLIENT, GOOD_CLIENT]);
      expect(run).toMatchObject({ exitCode: 0, stdout: '', stderr: '2 added, 0 replaced.\n' });
      const [good, plain] = await rows();
      expect(good).toEqual(GOOD_CLIENT);
      expect(plain).toEqual({ ...PLAIN_CLIENT, client_secret: expect.stringMatching(/^\$2b\$04\$/) });
      expect(await bcrypt.compare('plain-secret', String(plain?.['client_secret']))).toBe(true);
    });

    const TAKEN = 'entry 1: client good-client: it is registered already: --replace changes it';

    /** What an import says about a file with these problems. */
    function refusal(...problems: readonly string[]): string {
      const counted = problems.some((problem) => problem.startsWith('entry')) ? ' (entries are counted from 0)' : '';
      const lines = problems.map((problem) => `  ${problem}\n`);
      return `The file ${file} is refused; nothing was changed${counted}:\n${lines.join('')}`;
    }

    it('registers all clients or none, and reports taken ids with their positions', async () => {
      await importClients([GOOD_CLIENT]);
      const before = await rows();
      const another = { ...PLAIN_CLIENT, client_id: 'another' };
      const run = await importClients([PLAIN_CLIENT, GOOD_CLIENT, another], '--json');
      expect(run).toMatchObject({ exitCode: 1, stdout: '', stderr: refusal(TAKEN) });
      expect(await rows()).toEqual(before);
    });

    it('says with --dry-run what it would do, refuses what it would refuse, and stores and records nothing', async () => {
      await importClients([GOOD_CLIENT]);
      const before = await rows();
      const entries = [PLAIN_CLIENT, { ...GOOD_CLIENT, client_name: 'Renamed' }];
      expect(await importClients(entries, '--dry-run')).toMatchObject({ exitCode: 1, stderr: refusal(TAKEN) });
      const stderr = '1 would be added, 1 replaced, 0 of them still disabled. Nothing was changed.\n';
      const rehearsed = await importClients(entries, '--dry-run', '--replace');
      expect(rehearsed).toMatchObject({ exitCode: 0, stdout: '', stderr, audit: [] });
      expect(await rows()).toEqual(before);
      expect(await importClients(entries, '--dry-run', '--json')).toMatchObject({ exitCode: 2 });
      expect((await importClients(entries, '--replace')).stderr).toBe('1 added, 1 replaced.\n');
    });

    it('refuses with --dry-run what the table would refuse, and stores nothing', async () => {
      await database.query(
        `alter table clients add constraint short check (client_name <> '${PLAIN_CLIENT.client_name}')`,
      );
      const said = 'The table clients refuses this';
      for (const options of [['--dry-run'], []]) {
        const run = await importClients([GOOD_CLIENT, PLAIN_CLIENT], ...options);
        expect(run).toMatchObject({ exitCode: 1, stderr: expect.stringContaining(said), audit: [] });
      }
      expect(await rows()).toEqual([]);
    });

    it('does nothing where npm has kept --dry-run for itself', async () => {
      await importClients([GOOD_CLIENT]);
      await writeFile(file, JSON.stringify([PLAIN_CLIENT]));
      const withNpm = clientsInProcess(database.url, { npm_config_dry_run: 'true' });
      const stderr = 'npm has kept --dry-run for itself: write two dashes before the command, npm run clients -- …\n';
      expect(await withNpm(['import', file])).toMatchObject({ exitCode: 2, stderr });
      expect(await rows()).toHaveLength(1);
    });

    it('replaces existing clients with --replace, and keeps disabled clients disabled', async () => {
      await importClients([GOOD_CLIENT, { ...GOOD_CLIENT, client_id: 'locked' }]);
      await clients(['disable', 'locked']);
      const renamed = { ...PLAIN_CLIENT, client_name: 'Renamed', scope: 'admin' };
      const entries = [PLAIN_CLIENT, { ...renamed, client_id: 'locked' }, { ...renamed, client_id: 'good-client' }];
      const run = await importClients(entries, '--replace', '--json');
      expect(run).toMatchObject({ exitCode: 0, stderr: '1 added, 2 replaced, 1 of them still disabled.\n' });
      expect(run.json()).toEqual({
        added: ['plain-client'],
        replaced: expect.arrayContaining(['good-client', 'locked']),
        still_disabled: ['locked'],
      });
      const [good, locked] = await rows();
      expect(good).toMatchObject({ client_name: 'Renamed', scope: 'admin' });
      expect(await bcrypt.compare(GOOD_SECRET, String(good?.['client_secret']))).toBe(false);
      expect(await bcrypt.compare('plain-secret', String(good?.['client_secret']))).toBe(true);
      expect(locked).toMatchObject({ client_name: 'Renamed', client_secret: expect.stringMatching(/^!\$2b\$04\$/) });
    });

    it('accepts an empty array', async () => {
      expect(await importClients([])).toMatchObject({ exitCode: 0, stderr: '0 added, 0 replaced.\n' });
    });

    it.each([
      ['is not an array', 'text', 'must be a JSON array'],
      [
        'lacks a field',
        [GOOD_CLIENT, { ...PLAIN_CLIENT, scope: undefined }],
        'entry 1: client plain-client: scope is missing',
      ],
      ['names a client twice', [GOOD_CLIENT, GOOD_CLIENT], 'entry 1: client good-client: client_id is that of entry 0'],
      [
        'has half a surrogate pair',
        [{ ...PLAIN_CLIENT, client_id: '\ud800' }],
        'entry 0: client_id must have no line break, control or invisible character',
      ],
      [
        'has a NUL',
        [GOOD_CLIENT, { ...PLAIN_CLIENT, client_name: 'a\0b' }],
        'entry 1: client_name must be Unicode text without NUL',
      ],
    ])('refuses a file that %s, and shows none of its secrets', async (_what, entries, message) => {
      const run = await importClients(entries);
      expect(run).toMatchObject({
        exitCode: 1,
        stdout: '',
        stderr: refusal(message),
      });
    });

    it('names the problems of every kind in one run', async () => {
      await importClients([GOOD_CLIENT]);
      const run = await importClients([PLAIN_CLIENT, GOOD_CLIENT, { ...PLAIN_CLIENT, name: 'A' }, PLAIN_CLIENT]);
      expect(run.stderr).toBe(
        refusal(
          TAKEN,
          'entry 2: client plain-client: it has unknown fields `name`: it may have client_id, client_secret, client_name, scope, client_secret_expires_at, client_secret_generated, secrets, jwks, federated_subjects, resources, claims, token_lifetime_seconds, grant_types, audiences, owner',
          'entry 3: client plain-client: client_id is that of entry 0',
        ),
      );
    });

    it.each([
      ['ends in the middle', '[{"client_id": "a"', 'is not JSON: line 1, column 19: the text ends too early'],
      [
        'names a field twice',
        JSON.stringify([GOOD_CLIENT]).replace('"client_secret"', '"client_secret":"{noop}other","client_secret"'),
        'is not JSON: line 1, column 59: a field that this object has already',
      ],
      [
        'is not JSON at one position',
        JSON.stringify([GOOD_CLIENT]).replace(/\]$/, ', nothing]'),
        'is not JSON: line 1, column 173: a value is missing, or is not JSON',
      ],
      [
        'has a comma before its end',
        `${JSON.stringify([GOOD_CLIENT], undefined, 2).replace(/\n\]$/, ',\n]')}`,
        'is not JSON: line 7, column 4: a comma before the end of the array',
      ],
    ])('refuses a file that %s, and says where', async (_what, text, message) => {
      await writeFile(file, text);
      const run = await clients(['import', file]);
      expect(run).toMatchObject({ exitCode: 1, stdout: '' });
      expect(run.stderr).toContain(`refused; nothing was changed:\n  ${message}\n`);
      expect(await rows()).toEqual([]);
    });

    it('reports at most a hundred problems', async () => {
      const run = await importClients(
        Array.from({ length: 5_000 }, (_, number) => ({ ...GOOD_CLIENT, client_id: `${number}`, scope: '' })),
      );
      expect(run.stderr.split('\n').length).toBe(103);
      expect(run.stderr).toMatch(/There may be more problems.\n$/);
    });

    // tests/faults/bulk-clients.fault.ts has many more, in little memory.
    it('imports, lists and replaces 2,500 clients', async () => {
      await writeClientsFile(file, 2_500);
      expect(await clients(['import', file])).toMatchObject({ exitCode: 0, stderr: '2500 added, 0 replaced.\n' });
      expect((await clients(['list', '--json'])).json()).toHaveLength(2_500);
      expect((await clients(['import', file])).exitCode).toBe(1);
      expect(await clients(['import', file, '--replace'])).toMatchObject({
        exitCode: 0,
        stderr: '0 added, 2500 replaced.\n',
      });
      expect(await database.query('select count(*)::int as count from clients')).toEqual([{ count: 2_500 }]);
    });

    it('reports a file that cannot be read', async () => {
      expect(await clients(['import', 'no-such-file'])).toMatchObject({
        exitCode: 1,
        stdout: '',
        stderr: `The file ${process.cwd()}/no-such-file cannot be read (ENOENT).\n`,
      });
      expect(await clientsProgram(database.url)(['import', folder])).toMatchObject({
        exitCode: 1,
        stdout: '',
        stderr: `The file ${folder} cannot be read (EISDIR).\n`,
      });
    });
  });
});

describe('lists', () => {
  const HASH = GOOD_CLIENT.client_secret;
  const ESCAPE = '\u001b[2J\u001b]0;owned\u0007\u009b31m\u202e';

  /** A table of another application: more columns, and no details. */
  const FOREIGN_TABLE = `create table clients (id bigint generated by default as identity, client_id text not null unique,
  client_secret text not null, client_name text not null, scope text not null, made_at timestamp default now())`;

  let database: TestDatabase;
  let clients: RunClients;

  beforeAll(async () => {
    database = await createTestDatabase();
    clients = clientsInProcess(database.url);
    await database.query(FOREIGN_TABLE);
    const good = { clientId: 'good', clientSecret: HASH, clientName: 'Good', scope: 'read' };
    const { add } = clientsTable(database);
    await add(good);
    await add({ ...good, clientId: 'locked', clientSecret: `!${HASH}` });
    await add({ ...good, clientId: 'no-name', clientName: '' });
    await add({ ...good, clientId: 'plain', clientSecret: '{noop}a-plain-secret' });
    await add({ ...good, clientId: 'expensive', clientSecret: HASH.replace('$04$', '$15$') });
    await add({ ...good, clientId: 'hostile', clientName: ESCAPE });
    await database.query("update clients set id = 9007199254740993 where client_id = 'good'");
  }, 120_000);
  afterAll(() => database.drop());

  describe('clients list', () => {
    it('shows every client with its state, and reports the problems of broken ones', async () => {
      const run = await clients(['list']);
      expect(run.exitCode).toBe(0);
      expect(run.stdout).toMatch(
        /^9007199254740993 +good +Good +read +enabled +4 +client_secret_post, client_secret_basic$/m,
      );
      expect(run.stdout).toMatch(/ locked +Good +read +disabled +4 /);
      expect(run.stdout).toMatch(/ no-name +read +broken +4 /);
      expect(run.stderr).toContain('client no-name: client_name must not be empty; it gets no token.\n');
    });

    it('shows all clients in one table', async () => {
      const [heading = '', ...lines] = (await clients(['list'])).stdout.trimEnd().split('\n');
      expect(heading).toMatch(
        /^id +client_id +client_name +scope +state +bcrypt_cost +authentication_methods +owner +tokens$/,
      );
      const place = heading.indexOf('state');
      expect(lines.map((line) => line.slice(place).split(' ')[0])).toEqual(
        lines.map(() => expect.stringMatching(/^(enabled|disabled|broken)$/)),
      );
    });

    it('prints every client as JSON, broken ones too', async () => {
      const run = await clients(['list', '--json']);
      const rows = JSON.parse(run.stdout) as Record<string, unknown>[];
      expect(
        rows.map(({ client_id, state, bcrypt_cost, problem }) => [client_id, state, bcrypt_cost, problem]),
      ).toEqual([
        ['expensive', 'broken', null, 'client_secret must be a BCrypt encoding of cost 4 to 14'],
        ['good', 'enabled', 4, null],
        ['hostile', 'enabled', 4, null],
        ['locked', 'disabled', 4, null],
        ['no-name', 'broken', 4, 'client_name must not be empty'],
        ['plain', 'broken', null, 'client_secret must be a BCrypt encoding of cost 4 to 14'],
      ]);
      const methodsOf = (id: string) => rows.find(({ client_id }) => client_id === id)?.['authentication_methods'];
      expect(methodsOf('good')).toEqual(['client_secret_post', 'client_secret_basic']);
      expect(rows.find(({ client_id }) => client_id === 'good')?.['id']).toBe('9007199254740993');
      expect(rows.find(({ client_id }) => client_id === 'hostile')?.['client_name']).toBe(ESCAPE);
    });

    it.each([[['list']], [['list', '--json']], [['show', 'hostile']], [['show', 'hostile', '--json']]])(
      'prints no secret and nothing that controls a terminal: %j',
      async (args) => {
        const { stdout, stderr } = await clients(args);
        expect(stdout + stderr).not.toMatch(/[^\P{Cc}\n]|\p{Cf}/u);
        expect(stdout + stderr).not.toContain(HASH.slice(7));
        expect(stdout + stderr).not.toContain('a-plain-secret');
        expect(stdout).toMatch(/owned/);
      },
    );

    it.each([
      [['--prefix', 'no'], ['no-name']],
      [['--after', 'no-name', '--limit', '2'], ['plain']],
      [['--state', 'disabled'], ['locked']],
      [
        ['--state', 'broken', '--limit', '2', '--prefix', ''],
        ['expensive', 'no-name'],
      ],
      [['--prefix', 'x%'], []],
    ])('shows what %j selects', async (options, ids) => {
      const rows = JSON.parse((await clients(['list', '--json', ...options])).stdout) as { client_id: string }[];
      expect(rows.map(({ client_id }) => client_id)).toEqual(ids);
    });

    it('says how to continue behind a limit, and that nothing matches', async () => {
      expect((await clients(['list', '--limit', '2'])).stderr).toMatch(
        /Stopped at --limit 2; continue with --after good\n$/,
      );
      expect(await clients(['list', '--prefix', 'x'])).toMatchObject({ stdout: '', stderr: 'No client matches.\n' });
      expect((await clients(['list', '--limit', '0'])).exitCode).toBe(2);
    });

    it('cuts a long name in its table', async () => {
      await database.query('alter table clients alter client_name type text');
      await database.query(
        "insert into clients (client_id, client_secret, client_name, scope) values ('huge', $1, repeat('n', 20000), 'read')",
        [HASH],
      );
      const table = await clients(['list', '--prefix', 'huge']);
      expect(table.stdout).toContain(`  ${'n'.repeat(200)}…  `);
      expect((await clients(['show', 'huge'])).stdout).toContain(`${'n'.repeat(2_000)}…`);
      await database.query("delete from clients where client_id = 'huge'");
    });

    it('reports that there is no client, and prints an empty array as JSON', async () => {
      const empty = await createTestDatabase();
      await empty.query(CREATE_CLIENTS);
      const list = clientsInProcess(empty.url);
      expect(await list(['list'])).toMatchObject({ exitCode: 0, stdout: '', stderr: 'No client is registered.\n' });
      expect((await list(['list', '--json'])).stdout).toBe('[]\n');
      await empty.drop();
    });
  });

  describe('clients show', () => {
    it('shows one client as a table', async () => {
      const run = await clients(['show', 'good']);
      expect(run).toMatchObject({ exitCode: 0, stderr: '' });
      expect(run.stdout).toMatch(/^id +9007199254740993$/m);
      expect(run.stdout).toMatch(/^state +enabled$/m);
    });

    it('shows one client as JSON', async () => {
      expect((await clients(['show', 'locked', '--json'])).json()).toMatchObject({
        client_id: 'locked',
        client_name: 'Good',
        scope: 'read',
        state: 'disabled',
        problem: null,
      });
    });

    it('reports the problem of a broken client', async () => {
      expect((await clients(['show', 'no-name'])).stderr).toBe(
        'The service refuses this client: client_name must not be empty.\n',
      );
    });

    it('refuses an unknown id, and shows it without its control characters', async () => {
      const run = await clients(['show', '\u001b[31mGood', '--json']);
      expect(run).toMatchObject({ exitCode: 1, stdout: '', stderr: 'No client has the id \\u{1b}[31mGood.\n' });
    });
  });

  describe('a table of another application', () => {
    it('gets no second client of the same id', async () => {
      const run = await clients(['add', 'good', '--name', 'Good', '--scope', 'read', '--cost', '4']);
      expect(run).toMatchObject({ exitCode: 1, stderr: 'The client id good is taken; nothing was changed.\n' });
    });

    it('is reported with its own rule if a client breaks it', async () => {
      await database.query("alter table clients add column tenant text default ''");
      await database.query("alter table clients add check (tenant <> '') not valid");
      const run = await clients(['add', 'another', '--name', 'Another', '--scope', 'read', '--cost', '4']);
      expect(run).toMatchObject({ exitCode: 1, stdout: '' });
      expect(run.stderr).toMatch(/^The table clients refuses this: .*clients_tenant_check.* \(23514\)\n$/);
      expect(run.stderr).not.toMatch(/\$2b\$/);
      await database.query('alter table clients drop column tenant');
    });
  });
});

describe('clients explain', () => {
  const AUDIENCE = 'https://auth.test';

  describe('clients explain', () => {
    const issuers = new Map<string, WorkloadIssuer>();
    let folder: string;
    let environment: Record<string, string>;
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'explain-'));
      for (const { name } of PLATFORMS) issuers.set(name, await WorkloadIssuer.start(name));
      const client = (client_id: string, rule: object) => {
        return { client_id, client_name: 'W', scope: 'read', federated_subjects: [rule] };
      };
      const gitlab = platformOf('gitlab');
      const clients = [
        ...PLATFORMS.map((platform) => client(`${platform.name}-client`, ruleOf(platform))),
        ...['same-1', 'same-2'].map((id) => client(id, { ...ruleOf(gitlab), subject: 'project_path:a/b:same' })),
      ];
      environment = {
        CLIENTS_FILE: join(folder, 'clients.json'),
        CLIENT_ASSERTION_ISSUERS_FILE: join(folder, 'issuers.json'),
        TOKEN_ISSUER: AUDIENCE,
      };
      await writeFile(environment['CLIENTS_FILE'] ?? '', JSON.stringify(clients));
      const entries = [...issuers.values()].map((issuer) => issuer.entry());
      await writeFile(environment['CLIENT_ASSERTION_ISSUERS_FILE'] ?? '', JSON.stringify(entries));
    });
    afterAll(async () => {
      for (const issuer of issuers.values()) await issuer[Symbol.asyncDispose]();
      await rm(folder, { recursive: true });
    });

    function issuer(name: string): WorkloadIssuer {
      const found = issuers.get(name);
      if (found === undefined) throw new Error(name);
      return found;
    }

    const notNeeded = () => {
      throw new Error('explain needs no such part');
    };

    async function explain(input: string, args: readonly string[] = [], more: Readonly<Record<string, string>> = {}) {
      const [stdout, stderr] = [new PassThrough(), new PassThrough()];
      const exitCode = await runClients(
        ['explain', ...args],
        { stdin: Readable.from([input]), stdout, stderr },
        {
          open: notNeeded,
          encodeSecret: notNeeded,
          clock: { now: notNeeded },
          readClientsFile: notNeeded,
          openApplied: notNeeded,
          formatClient: notNeeded,
          more: (program, stdin) => [explainCommand(() => openExplain({ ...environment, ...more }), program, stdin)],
          version: 'not needed',
        },
      );
      stdout.end();
      stderr.end();
      return { exitCode, stdout: await text(stdout), stderr: await text(stderr) };
    }

    test.each(PLATFORMS.map(({ name }) => name))(
      'shows what a token of %s matches, and nothing of its signature',
      async (name) => {
        const assertion = issuer(name).mint(AUDIENCE);
        const { exitCode, stdout, stderr } = await explain(`${assertion}\n`);
        expect(stderr).toContain(`The service accepts it for client ${name}-client.`);
        expect([exitCode, stdout]).toEqual([0, '']);
        for (const part of assertion.split('.')) expect(stdout + stderr).not.toContain(part.slice(0, 24));
      },
    );

    test('prints one JSON document on request', async () => {
      const { stdout } = await explain(issuer('aws').mint(AUDIENCE), ['--json']);
      expect(JSON.parse(stdout)).toEqual({
        accepted: true,
        client_id: 'aws-client',
      });
    });

    const seconds = (shift: number) => Math.floor(Date.now() / 1000) + shift;

    test.each<[string, () => string, RegExp]>([
      [
        'no token',
        () => 'hello',
        /assertion_malformed\.\nExpected, or wrong: it is no signed JWT in its compact form\.\nThe assertion is not a JWT/,
      ],
      [
        'a token of another issuer',
        () => issuer('gitlab').mint(AUDIENCE, { iss: 'https://gitlab.test' }),
        /assertion_issuer_untrusted\.[\s\S]*CLIENT_ASSERTION_ISSUERS_FILE/,
      ],
      [
        'an assertion of private_key_jwt, of which it knows nothing',
        () => issuer('gitlab').mint(AUDIENCE, { iss: 'billing', sub: 'billing' }),
        /assertion_issuer_untrusted[\s\S]*explain is only about assertions of other issuers \(federated_jwt\)/,
      ],
      [
        'another audience',
        () => issuer('gitlab').mint('https://other.test'),
        /assertion_audience_wrong\.\nExpected, or wrong: https:\/\/auth\.test\.\nThe assertion was made for another audience/,
      ],
      ['a token that has expired', () => issuer('gitlab').mint(AUDIENCE, { exp: seconds(-60) }), /assertion_expired/],
      [
        'a token that is too old',
        () => issuer('gitlab').mint(AUDIENCE, { iat: seconds(-4_000) }),
        /assertion_too_old\.\nExpected, or wrong: 3600\.[\s\S]*CLIENT_ASSERTION_MAX_AGE_SECONDS/,
      ],
      [
        'another algorithm',
        () => issuer('gitlab').mint(AUDIENCE, {}, { alg: 'HS256' }),
        /assertion_algorithm_refused\.\nExpected, or wrong: RS256/,
      ],
      [
        'a key that is not published',
        () => new WorkloadKey('new').mint({ claims: platformOf('gitlab').claims(AUDIENCE, seconds(0)) }),
        /assertion_key_unknown/,
      ],
      [
        'a signature that is wrong',
        () => new WorkloadKey('gitlab-1').mint({ claims: platformOf('gitlab').claims(AUDIENCE, seconds(0)) }),
        /assertion_signature_wrong/,
      ],
      [
        'a subject without a rule',
        () => issuer('gitlab').mint(AUDIENCE, { sub: 'project_path:a/b:ref' }),
        /assertion_subject_unknown\.\nDetail: sub is "project_path:a\/b:ref"\.\nThe issuer is trusted, but no client has a rule/,
      ],
      [
        'the other spelling of a repository',
        () => issuer('github-actions').mint(AUDIENCE, { sub: 'repo:octo-org/octo-repo:ref:refs/heads/main' }),
        /assertion_subject_unknown[\s\S]*two spellings/,
      ],
      [
        'the id of another project',
        () => issuer('gitlab').mint(AUDIENCE, { project_id: '21' }),
        /assertion_claims_unmatched \(client gitlab-client\)\.\nDetail: \/project_id is "21" and must be "20"\./,
      ],
      [
        'a claim that is a number',
        () => issuer('gitlab').mint(AUDIENCE, { project_id: 20 }),
        /\/project_id is 20 and must be "20"[\s\S]*by a text only/,
      ],
      [
        'a claim that is an object',
        () => issuer('gitlab').mint(AUDIENCE, { project_id: { toString: 1, valueOf: 2 } }),
        /\/project_id is \{"toString":1,"valueOf":2\} and must be "20"/,
      ],
      [
        'a claim that is missing',
        () => issuer('gitlab').mint(AUDIENCE, { project_id: undefined }),
        /\/project_id is missing/,
      ],
      [
        'a subject of two clients',
        () => issuer('gitlab').mint(AUDIENCE, { sub: 'project_path:a/b:same' }),
        /client_ambiguous\.\nSeveral clients[\s\S]*send client_id/,
      ],
    ])('says why the service refuses %s', async (_what, mint, expected) => {
      const { exitCode, stderr } = await explain(mint());
      expect(stderr).toMatch(expected);
      expect(exitCode).toBe(1);
    });

    test('takes the client id and the assertion type of the request', async () => {
      const assertion = issuer('gitlab').mint(AUDIENCE, { sub: 'project_path:a/b:same' });
      expect((await explain(assertion, ['--client-id', 'same-2'])).stderr).toContain('accepts it for client same-2');
      expect((await explain(issuer('spiffe').mint(AUDIENCE), ['--type', 'jwt-spiffe'])).exitCode).toBe(0);
      expect((await explain(assertion, ['--type', 'jwt-spiffe'])).stderr).toContain('assertion_issuer_untrusted');
    });

    test('says that the key set cannot be fetched, and does not call it accepted', async () => {
      await issuer('aws').keySet.leave();
      const { exitCode, stderr } = await explain(issuer('aws').mint(AUDIENCE));
      await issuer('aws').keySet.comeBack();
      expect(stderr).toMatch(
        /^It could not be verified: key sets: 1 missing: that of \S+ cannot be fetched \(\w+\)\.$/m,
      );
      expect(exitCode).toBe(1);
    });

    test('escapes what a token could do to a terminal', async () => {
      const { stderr } = await explain(issuer('gitlab').mint(AUDIENCE, { sub: '\u001b[31mred\u202e' }));
      expect(stderr).not.toMatch(/[\p{Cf}]/u);
      expect(stderr).not.toContain('\u001b');
      expect(stderr).toContain(String.raw`"\u001b[31mred\u{202e}"`);
    });

    test('needs an assertion and the settings of the service, and names what is missing', async () => {
      expect(await explain('')).toMatchObject({ exitCode: 2, stderr: 'There is no assertion on standard input.\n' });
      expect(await explain('x'.repeat(20_000))).toMatchObject({ exitCode: 1 });
      const missing = await explain('x', [], { CLIENT_ASSERTION_ISSUERS_FILE: '' });
      expect(missing.exitCode).toBe(2);
      expect(missing.stderr).toMatch(
        /^CLIENT_ASSERTION_ISSUERS_FILE: is not set\. explain is only about .* \(federated_jwt\)/,
      );
      const argument = await explain('x', ['eyJhbGciOiJSUzI1NiJ9.e30.AA']);
      expect(argument.exitCode).toBe(2);
      expect(argument.stderr).not.toContain('eyJ');
    });

    test('is a command of npm run clients', async () => {
      const { exitCode, stderr } = await runInProcess(
        manageClients,
        ['explain'],
        environment,
        issuer('kubernetes').mint(AUDIENCE),
      );
      expect(exitCode).toBe(0);
      expect(stderr).toContain('The service accepts it for client kubernetes-client.');
    });
  });
});
