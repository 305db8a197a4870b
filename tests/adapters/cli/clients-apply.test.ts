import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import bcrypt from 'bcrypt';
import { problemsOfAuditLine } from '../../support/audit-schema.ts';
import { freshTables } from '../../support/details-tables.ts';
import { runProgram } from '../../support/program.ts';
import { GOOD_CLIENT } from '../../support/running-service.ts';
import { createSqliteFile } from '../../support/sqlite-file.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';
import { clientsAtTerminal, clientsInProcess, type RunClients } from './clients-program.ts';

const JWK = { kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' };
const HASH = GOOD_CLIENT.client_secret;
const SECRET = 'a-secret-of-billing-1';
const BILLING = { client_id: 'billing', client_secret: HASH, client_name: 'Billing', scope: 'read write' };
const KEYED = { client_id: 'keyed', client_name: 'Keyed', scope: 'read', jwks: { keys: [JWK] } };
const ON_SQLITE = { CLIENT_REPOSITORY: 'sqlite' };
const COMMAND = ['apply', '--cost', '4', '-f'];

let database: TestDatabase;
let folder: string;
let file: string;

beforeAll(async () => {
  database = await createTestDatabase();
}, 120_000);
afterAll(() => database.drop());
beforeEach(async () => {
  await freshTables(database);
  folder = await mkdtemp(join(tmpdir(), 'clients-apply-'));
  file = join(folder, 'clients.json');
});
afterEach(() => rm(folder, { recursive: true }));

describe('clients apply', () => {
  let clients: RunClients;
  beforeEach(() => {
    clients = clientsInProcess(database.url, { BILLING: SECRET });
  });

  /** Writes the entries as a file, and runs `apply` on it. */
  async function apply(entries: unknown, ...options: readonly string[]) {
    await writeFile(file, typeof entries === 'string' ? entries : JSON.stringify(entries));
    return clients([...COMMAND, file, ...options]);
  }

  /** The stored clients, as an export shows them. */
  async function stored(): Promise<readonly Readonly<Record<string, unknown>>[]> {
    return JSON.parse((await clients(['export'])).stdout);
  }

  describe('and its plan', () => {
    it('names what it adds, changes with the fields, and removes, and counts the rest', async () => {
      await apply(
        [BILLING, KEYED, { ...BILLING, client_id: 'old' }, { ...BILLING, client_id: 'same' }],
        '--yes',
        '--owner',
        'a',
      );
      const next = [
        { ...BILLING, scope: 'read', claims: { tenant: 'acme' } },
        { ...KEYED, jwks: { keys: [JWK, { ...JWK, x: '22qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' }] } },
        { ...BILLING, client_id: 'new' },
        { ...BILLING, client_id: 'same' },
      ];
      const run = await apply(next, '--owner', 'a', '--prune', '--check');
      expect(run).toMatchObject({ exitCode: 4, audit: [] });
      expect(run.stderr).toBe('1 to add, 2 to change, 1 to remove, 1 unchanged.\nNothing was changed.\n');
      expect(run.stdout.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
        ['action', 'client_id', 'fields'],
        ['add', 'new'],
        ['change', 'billing', 'scope, claims'],
        ['change', 'keyed', 'jwks'],
        ['remove', 'old'],
        [''],
      ]);
      const json = await apply(next, '--owner', 'a', '--prune', '--check', '--json');
      expect(json.json()).toEqual({
        added: ['new'],
        changed: [
          { client_id: 'billing', fields: ['scope', 'claims'] },
          { client_id: 'keyed', fields: ['jwks'] },
        ],
        removed: ['old'],
        unchanged: 1,
      });
      expect((await stored()).map(({ client_id }) => client_id)).toEqual(['billing', 'keyed', 'old', 'same']);
    });

    it('is applied with --yes, and recorded with the hash of the file', async () => {
      const run = await apply([BILLING, KEYED], '--yes');
      expect(run).toMatchObject({
        exitCode: 0,
        stderr: '2 to add, 0 to change, 0 to remove, 0 unchanged.\n2 added, 0 changed, 0 removed.\n',
      });
      const sha256 = createHash('sha256')
        .update(await readFile(file))
        .digest('hex');
      expect(run.audit).toMatchObject([
        { event: 'clients_applied', file: 'clients.json', sha256, added: 2, changed: 0, removed: 0 },
      ]);
      expect(await stored()).toMatchObject([BILLING, { ...KEYED, client_secret: '*' }]);
    });

    it('is not applied without a terminal and --yes', async () => {
      const run = await apply([BILLING]);
      expect(run).toMatchObject({ exitCode: 1, audit: [] });
      expect(run.stderr).toMatch(/Nothing was changed: without a terminal, --yes applies the plan.\n$/);
      expect(await stored()).toEqual([]);
    });

    it('is empty the second time: nothing is asked, written or recorded', async () => {
      const entries = [{ ...BILLING, client_secret: { env: 'BILLING' }, claims: { b: 1, a: { d: 2, c: 3 } } }, KEYED];
      await apply(entries, '--yes');
      const before = await stored();
      for (const options of [['--check'], ['--yes'], []]) {
        const run = await apply(entries, ...options);
        expect(run).toMatchObject({
          exitCode: 0,
          audit: [],
          stdout: '',
          stderr: '0 to add, 0 to change, 0 to remove, 2 unchanged.\n',
        });
      }
      expect(await stored()).toEqual(before);
    });

    it('has what the file no longer says: fields go, and a lock stays', async () => {
      const claims = { tenant: 'acme' };
      await apply([{ ...BILLING, claims, resources: ['https://api.example'], token_lifetime_seconds: 60 }], '--yes');
      await clients(['disable', 'billing']);
      const run = await apply([BILLING], '--yes');
      expect(run.stdout).toContain('resources, claims, token_lifetime_seconds');
      expect(await stored()).toMatchObject([
        { ...BILLING, client_secret: `!${HASH}`, claims: {}, resources: [], token_lifetime_seconds: null },
      ]);
      expect(await apply([BILLING], '--check')).toMatchObject({ exitCode: 0 });
    });

    it.each(['PostgreSQL', 'SQLite'])('changes more clients than a batch holds, on %s', async (store) => {
      await using sqlite = await createSqliteFile();
      if (store === 'SQLite') clients = clientsInProcess('', { ...ON_SQLITE, DATABASE_FILE: sqlite.path });
      const many = Array.from({ length: 2_500 }, (_, n) => ({ ...BILLING, client_id: `c${n}` }));
      expect(await apply(many, '--yes', '--owner', 'a')).toMatchObject({ exitCode: 0 });
      const next = many.slice(0, 1_300).map((client) => ({ ...client, scope: 'read' }));
      const run = await apply(next, '--yes', '--owner', 'a', '--prune');
      expect(run.stderr).toContain('0 added, 1300 changed, 1200 removed.\n');
      expect(run.stdout).toContain('… and 300 more');
      expect(await stored()).toHaveLength(1_300);
      const versions = () => database.query('select xmin::text from clients order by client_id');
      const before = await versions();
      const again = await apply(next, '--yes', '--owner', 'a', '--prune');
      expect(again.stderr).toBe('0 to add, 0 to change, 0 to remove, 1300 unchanged.\n');
      expect(await versions()).toEqual(before);
      const { changed } = (await apply(many.slice(0, 1_300), '--check', '--json', '--owner', 'a')).json() as {
        changed: unknown[];
      };
      expect(changed).toHaveLength(1_300);
    });
  });

  describe('and the audit log', () => {
    const CLAIMS = { tenant: 'acme-of-the-file' };
    const OWNED = ['--yes', '--owner', 'team-a'];

    it('says which clients were added, changed, adopted and removed, and the names of their claims', async () => {
      await apply(
        [
          { ...BILLING, client_id: 'gone', owner: 'team-a' },
          { ...KEYED, owner: 'team-a' },
        ],
        '--yes',
      );
      await apply([{ ...BILLING, client_id: 'free', claims: CLAIMS }], '--yes');
      const next = [
        { ...BILLING, claims: CLAIMS },
        { ...BILLING, client_id: 'free', claims: CLAIMS },
        { ...KEYED, scope: 'read write', claims: { plan: 'gold-of-the-file' } },
      ];
      const { audit } = await apply(next, ...OWNED, '--adopt', '--prune');
      const clients = [
        { client_id: 'billing', action: 'added', claims: ['tenant'], owner: 'team-a' },
        { client_id: 'free', action: 'changed', fields: ['owner'], owner: 'team-a' },
        { client_id: 'gone', action: 'removed' },
        { client_id: 'keyed', action: 'changed', fields: ['scope', 'claims'], claims: ['plan'] },
      ];
      expect(audit).toMatchObject([{ event: 'clients_applied', added: 1, changed: 2, removed: 1, clients }]);
      expect(audit.flatMap(problemsOfAuditLine)).toEqual([]);
      expect(JSON.stringify(audit)).not.toContain('of-the-file');
    });

    it('names each of many clients once, in lines of under 4,096 bytes with one change_id', async () => {
      const audited = join(folder, 'audit.log');
      clients = clientsInProcess(database.url, { AUDIT_FILE: audited, AUDIT_REQUIRED: 'true' });
      const many = Array.from({ length: 2_500 }, (_, n) => ({ ...BILLING, client_id: `c${n}`, claims: CLAIMS }));
      expect(await apply(many, '--yes')).toMatchObject({ exitCode: 0 });
      const lines = (await readFile(audited, 'utf8')).trimEnd().split('\n');
      for (const line of lines) expect(Buffer.byteLength(line)).toBeLessThan(4_096);
      const events = lines.map((line) => JSON.parse(line));
      expect(events.flatMap(problemsOfAuditLine)).toEqual([]);
      expect(new Set(events.map(({ change_id }) => change_id)).size).toBe(1);
      expect(events.every(({ added }) => added === 2_500)).toBe(true);
      const ids = events.flatMap((event) => event.clients.map(({ client_id }: { client_id: string }) => client_id));
      expect(ids).toEqual(many.map(({ client_id }) => client_id).sort());
    });
  });

  describe('and its files', () => {
    it('reads YAML, and the files of a folder in the order of their names', async () => {
      const yaml = 'client_id: keyed\nclient_name: Keyed\nscope: read\nclient_secret: {env: BILLING}\n';
      const texts = {
        'b.yaml': `${yaml}---\n- ${yaml.replace('keyed', 'other').replaceAll('\n', '\n  ')}`,
        'teams/a.json': JSON.stringify(BILLING),
      };
      for (const [name, text] of Object.entries({ ...texts, '.hidden/c.json': 'x', 'README.md': 'x' })) {
        await mkdir(dirname(join(folder, name)), { recursive: true });
        await writeFile(join(folder, name), text);
      }
      const run = await clients([...COMMAND, folder, '--yes']);
      expect(run).toMatchObject({ exitCode: 0 });
      expect((await stored()).map(({ client_id }) => client_id)).toEqual(['billing', 'keyed', 'other']);
      const sumOf = (text: string) => createHash('sha256').update(text).digest('hex');
      const sums = Object.entries(texts).map(([name, text]) => `${sumOf(text)}  ${name}\n`);
      expect(run.audit).toMatchObject([{ sha256: sumOf(sums.join('')), added: 3 }]);
    });

    it('checks all files before anything is written, and names file, entry, client and field', async () => {
      await writeFile(
        join(folder, 'a.json'),
        JSON.stringify([
          { ...BILLING, scope: '' },
          { ...KEYED, claims: { iss: 'x' } },
        ]),
      );
      await writeFile(join(folder, 'b.yaml'), 'a: *x');
      await writeFile(
        join(folder, 'c.json'),
        JSON.stringify([{ ...BILLING, client_id: 'plain', client_secret: '{noop}its-secret' }]),
      );
      const run = await clients([...COMMAND, folder, '--yes']);
      expect(run.exitCode).toBe(1);
      expect(run.stderr).toBe(`The file ${folder} is refused; nothing was changed (entries are counted from 0):
  a.json: entry 0: client billing: scope must be one or more scope tokens with single spaces between (RFC 6749 section 3.3)
  a.json: entry 1: client keyed: claims must not set iss, which the service or a standard sets
  b.yaml: line 1, column 4: an alias: write out what it means
  c.json: entry 0: client plain: client_secret must not be in the file in plain text: write {"file": PATH} or {"env": NAME}, or the output of clients hash
`);
      expect(await stored()).toEqual([]);
    });

    it('reads standard input, in the format of its content', async () => {
      const entry = JSON.stringify({ ...BILLING, client_id: 'of-json' });
      for (const input of [`[${entry}]`, '- {client_id: of-yaml, client_secret: "*", client_name: A, scope: read}']) {
        await using program = runProgram('config/clients.ts', { DATABASE_URL: database.url }, [
          ...COMMAND,
          '-',
          '--yes',
        ]);
        program.process.stdin?.end(input);
        expect([await program.ended(), program.stderr()]).toEqual([0, expect.stringContaining('1 added')]);
      }
      expect(await stored()).toMatchObject([{ client_id: 'of-json' }, { client_id: 'of-yaml' }]);
    });

    it('names the field that was probably meant, and refuses several clients without an array', async () => {
      const run = await apply([{ ...BILLING, claim: {} }], '--yes');
      expect(run.stderr).toContain('billing: it has unknown fields `claim`: it may have ');
      const texts = [BILLING, KEYED].map((entry) => JSON.stringify(entry)).join(',');
      expect(await apply(texts, '--yes')).toMatchObject({
        exitCode: 1,
        stderr: expect.stringContaining('several values need commas between them, and [ ] around them\n'),
      });
      expect(await stored()).toEqual([]);
    });

    it('says where a client is twice', async () => {
      for (const name of ['a.json', 'b.json']) await writeFile(join(folder, name), JSON.stringify([KEYED]));
      const { stderr } = await clients([...COMMAND, folder, '--yes']);
      expect(stderr).toContain('  b.json: entry 0: client keyed: client_id is that of a.json: entry 0\n');
    });

    it.each([
      [
        'an empty folder',
        async () => mkdir(join(folder, 'empty')),
        'empty',
        /^The folder .* has no .json, .yaml or .yml file.\n$/,
      ],
      ['nothing', async () => {}, 'nowhere', /^The file .*nowhere cannot be read \(ENOENT\).\n$/],
    ])('refuses %s', async (_what, make, name, message) => {
      await make();
      const run = await clients([...COMMAND, join(folder, name), '--yes', '--owner', 'a', '--prune']);
      expect(run).toMatchObject({ exitCode: 1, stderr: expect.stringMatching(message) });
    });
  });

  describe('and secrets', () => {
    const entry = { ...BILLING, client_secret: { env: 'BILLING' } };
    const secretOf = async () => String((await stored())[0]?.['client_secret']);

    it('stores the hash of what a reference means, and recognizes it', async () => {
      await apply([entry], '--yes');
      const before = await secretOf();
      expect(await bcrypt.compare(SECRET, before)).toBe(true);
      expect(await apply([{ ...entry, scope: 'read' }], '--yes')).toMatchObject({
        stdout: expect.not.stringContaining('secret'),
      });
      expect(await secretOf()).toBe(before);
      await writeFile(join(folder, 'secret'), 'another-secret-of-it\n');
      const run = await apply([{ ...entry, client_secret: { file: join(folder, 'secret') } }], '--yes');
      expect(run.stdout).toMatch(/change +billing +client_secret, scope/);
      expect(await bcrypt.compare('another-secret-of-it', await secretOf())).toBe(true);
      expect(run.stderr + run.stdout).not.toContain('another-secret-of-it');
    });

    it.each([{ env: 'SHORT' }, { file: 'secret' }])(
      'refuses a short one that is referred to, as add does, unless that is allowed: %p',
      async (reference) => {
        clients = clientsInProcess(database.url, { SHORT: '15-characters--' });
        await writeFile(join(folder, 'secret'), '15-characters--\n');
        const secret = 'file' in reference ? { file: join(folder, reference.file) } : reference;
        const short = [{ ...entry, client_secret: secret }];
        const refused = await apply(short, '--check');
        expect(refused).toMatchObject({ exitCode: 1, stdout: '' });
        expect(refused.stderr).toContain(
          'entry 0: client billing: client_secret refers to a secret of fewer than 16 characters: choose a longer one, or add --allow-short-secret\n',
        );
        expect(await apply(short, '--allow-short-secret', '--yes')).toMatchObject({ exitCode: 0 });
        expect(await bcrypt.compare('15-characters--', await secretOf())).toBe(true);
      },
    );

    it('shows progress while it compares many', async () => {
      const many = Array.from({ length: 200 }, (_, n) => ({ ...entry, client_id: `c${n}` }));
      await apply(many, '--yes');
      const run = await apply(many, '--check');
      expect(run).toMatchObject({
        exitCode: 0,
        stderr: expect.stringContaining('100 secrets compared.\n200 secrets compared.\n'),
      });
    });

    it('compares secrets with ids too', async () => {
      clients = clientsInProcess(database.url, { BILLING: `id.${SECRET}` });
      const named = { ...KEYED, secrets: [{ secret_id: 'id', name: 'first', client_secret: { env: 'BILLING' } }] };
      await apply([named], '--yes');
      expect(await apply([named], '--check')).toMatchObject({ exitCode: 0 });
      clients = clientsInProcess(database.url, { BILLING: `id.${SECRET}-2` });
      expect((await apply([named], '--check')).stdout).toMatch(/change +keyed +secrets/);
    });

    it('generates one for a client without a secret, once', async () => {
      const path = join(folder, 'new.txt');
      const generated = { ...BILLING, client_secret: { generate: path } };
      expect(await apply([generated], '--check')).toMatchObject({ exitCode: 4 });
      await expect(stat(path)).rejects.toThrow('ENOENT');
      expect(await apply([generated], '--yes')).toMatchObject({ exitCode: 0 });
      const secret = (await readFile(path, 'utf8')).trimEnd();
      expect((await stat(path)).mode & 0o777).toBe(0o600);
      expect(await bcrypt.compare(secret, await secretOf())).toBe(true);
      expect(await apply([generated], '--check')).toMatchObject({ exitCode: 0 });
      await clients(['rotate', 'billing', '--keep-old-for', '1h']);
      expect(await apply([generated], '--check')).toMatchObject({ exitCode: 0 });
      expect((await stored())[0]).toMatchObject({ secrets: [{ generated: true }] });
    });

    it('generates nothing into a file that exists, into one for two clients, or where it cannot write', async () => {
      const path = join(folder, 'new.txt');
      const generated = (client_id: string, to = path) => ({ ...BILLING, client_id, client_secret: { generate: to } });
      const twice = await apply([generated('a'), generated('b')], '--yes');
      expect(twice).toMatchObject({ exitCode: 1 });
      expect(twice.stderr).toContain('entry 1: client b: client_secret.generate must name a file that does not exist');
      const nowhere = await apply([generated('a'), generated('b', join(folder, 'no/where'))], '--yes');
      expect(nowhere).toMatchObject({
        exitCode: 1,
        stderr: expect.stringMatching(/where cannot be written \(ENOENT\). Nothing was changed.\n$/),
      });
      await expect(stat(path)).rejects.toThrow('ENOENT');
      await writeFile(path, 'mine');
      expect(await apply([generated('a')], '--yes')).toMatchObject({ exitCode: 1 });
      expect(await readFile(path, 'utf8')).toBe('mine');
      expect(await stored()).toEqual([]);
    });

    it('leaves no generated secret where a fault has kept it from being stored', async () => {
      const path = join(folder, 'new.txt');
      clients = clientsInProcess(database.url, { AUDIT_REQUIRED: 'true', AUDIT_FILE: '/dev/full' });
      const run = await apply([{ ...BILLING, client_secret: { generate: path } }], '--yes');
      expect(run).toMatchObject({
        exitCode: 1,
        stderr: expect.stringContaining('Nothing was changed: the audit log cannot be written'),
      });
      await expect(stat(path)).rejects.toThrow('ENOENT');
    });

    it('refuses what would act on the wrong clients: two files, an owner that is no name, a link to a folder', async () => {
      await apply([BILLING], '--yes', '--owner', 'team-a');
      expect(await apply([BILLING], '-f', folder, '--check')).toMatchObject({
        exitCode: 2,
        stderr: expect.stringContaining('Name one file or folder.'),
      });
      for (const owner of ['', ' \u001b']) {
        expect(await apply([BILLING], '--owner', owner, '--prune', '--check')).toMatchObject({ exitCode: 2 });
      }
      expect(await apply([BILLING], '--allow-env', '*_A', '--check')).toMatchObject({ exitCode: 2 });
      await mkdir(join(folder, 'in'));
      await symlink(folder, join(folder, 'in/out'));
      expect(await clients([...COMMAND, join(folder, 'in'), '--owner', 'team-a', '--prune', '--yes'])).toMatchObject({
        exitCode: 1,
        stderr: expect.stringContaining('is a link to a folder: name the folder itself'),
      });
      expect(await stored()).toMatchObject([{ client_id: 'billing' }]);
    });

    it('with --prune, refuses a folder without a file in it, such as a submodule that is not there', async () => {
      const root = join(folder, 'teams');
      await mkdir(join(root, 'a/deep'), { recursive: true });
      await writeFile(join(root, 'a/deep/clients.json'), JSON.stringify([BILLING]));
      const prune = [...COMMAND, root, '--owner', 'team-a', '--prune', '--yes'];
      expect(await clients(prune)).toMatchObject({ exitCode: 0 });
      await mkdir(join(root, 'b/.git'), { recursive: true });
      const text = `The folder ${join(root, 'b')} has no clients file, as if it had not been checked out`;
      expect(await clients(prune)).toMatchObject({ exitCode: 1, stderr: expect.stringContaining(text) });
      expect(await clients([...prune, '--allow-empty'])).toMatchObject({ exitCode: 0 });
      expect(await clients([...COMMAND, root, '--owner', 'team-a', '--yes'])).toMatchObject({ exitCode: 0 });
    });

    it('takes only what is allowed', async () => {
      expect(await apply([entry], '--check', '--allow-env', 'BILL*')).toMatchObject({ exitCode: 4 });
      const run = await apply([entry], '--check', '--allow-files', folder);
      expect(run.exitCode).toBe(1);
      expect(run.stderr).toContain(
        'client billing: client_secret refers to variable BILLING, which --allow-env does not name',
      );
    });
  });

  describe('and owners', () => {
    beforeEach(async () => {
      await apply([BILLING], '--yes', '--owner', 'team-a');
      await apply([{ ...BILLING, client_id: 'free' }], '--yes');
    });

    it('refuses clients of another owner and of none, and leaves everything as it is', async () => {
      const before = await stored();
      const next = [
        { ...BILLING, scope: 'admin' },
        { ...BILLING, client_id: 'free', scope: 'admin' },
      ];
      const run = await apply(next, '--yes', '--owner', 'team-b');
      expect(run.exitCode).toBe(1);
      expect(run.stderr).toContain(
        'entry 0: client billing: owner is team-a: only a file with this owner can change it',
      );
      expect(run.stderr).toContain('entry 1: client free: owner is nobody yet: --adopt makes it team-b');
      expect((await apply(next, '--yes', '--owner', 'team-b', '--adopt')).stderr).not.toContain('free');
      expect((await apply(next.slice(0, 1), '--yes')).exitCode).toBe(1);
      expect(await stored()).toEqual(before);
    });

    it('adopts a client without an owner', async () => {
      const run = await apply([BILLING, { ...BILLING, client_id: 'free' }], '--yes', '--owner', 'team-a', '--adopt');
      expect(run.stdout).toMatch(/change +free +owner/);
      expect(await stored()).toMatchObject([{ owner: 'team-a' }, { owner: 'team-a' }]);
    });

    it('shows the owner in lists, and says what the next apply does to a change by command', async () => {
      const text = 'It belongs to team-a: where its file says otherwise, the next apply undoes this.\n';
      for (const command of ['rotate billing', 'update billing --scope read', 'secrets add billing']) {
        expect((await clients(command.split(' '))).stderr).toContain(text);
      }
      for (const command of ['disable billing', 'enable billing', 'rotate free']) {
        expect((await clients(command.split(' '))).stderr).not.toContain(text);
      }
      expect((await clients(['list'])).stdout).toMatch(/owner.*\n.*billing.*team-a/);
      expect((await clients(['list', '--json'])).json()).toMatchObject([{ owner: 'team-a' }, { owner: null }]);
      expect(await apply([BILLING], '--check', '--owner', 'team-a')).toMatchObject({
        exitCode: 4,
        stdout: expect.stringContaining('client_secret, scope'),
      });
    });

    it('takes the owner of an entry, which must be that of the command', async () => {
      expect(await apply([{ ...BILLING, owner: 'team-a' }], '--check')).toMatchObject({ exitCode: 0 });
      const run = await apply([{ ...BILLING, owner: 'team-b' }], '--check', '--owner', 'team-a');
      expect(run.stderr).toContain('client billing: owner must be team-a, or left out, with --owner team-a');
    });

    it('removes only the clients of the owner', async () => {
      await apply([{ ...BILLING, client_id: 'of-b' }], '--yes', '--owner', 'team-b');
      const prune = ['--owner', 'team-a', '--prune'];
      const refused = await apply([], '--yes', ...prune);
      expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('remove all clients of team-a') });
      expect(await apply([], '--check', ...prune)).toMatchObject({ exitCode: 1 });
      expect((await stored()).map(({ client_id }) => client_id)).toEqual(['billing', 'free', 'of-b']);
      const run = await apply([], '--yes', ...prune, '--allow-empty');
      expect(run.stderr).toContain('0 added, 0 changed, 1 removed.');
      expect((await stored()).map(({ client_id }) => client_id)).toEqual(['free', 'of-b']);
      expect(await apply([], '--yes', '--prune')).toMatchObject({ exitCode: 2, stderr: '--prune needs --owner.\n' });
    });

    it('changes nothing if it applies what export wrote, also of a client with everything', async () => {
      const secrets = [{ secret_id: 'a', name: 'n', client_secret: HASH, expires_at: 9_999_999_999, generated: true }];
      const subjects = [{ issuer: 'https://issuer.example', subject: 's', claims: { '/a': 'b' } }];
      const more = {
        claims: { z: 1, a: [1, { c: 2, b: 3 }] },
        token_lifetime_seconds: 60,
        resources: ['https://a.example', { resource: 'https://b.example', scope: 'read' }],
      };
      const full = {
        ...KEYED,
        ...more,
        client_secret: HASH,
        client_secret_expires_at: 9_999_999_999,
        secrets,
        federated_subjects: subjects,
      };
      await apply([BILLING, full], '--yes', '--owner', 'team-a');
      await clients(['disable', 'keyed']);
      const exported = join(folder, 'exported.json');
      expect(await clients(['export', exported, '--owner', 'team-a'])).toMatchObject({
        exitCode: 0,
        stderr: '2 exported.\n',
      });
      const run = await clients([...COMMAND, exported, '--owner', 'team-a', '--prune', '--check']);
      expect(run).toMatchObject({ exitCode: 0, stderr: '0 to add, 0 to change, 0 to remove, 2 unchanged.\n' });
      expect(await clients([...COMMAND, exported, '--check'])).toMatchObject({ exitCode: 0 });
    });
  });
});

describe('clients apply at a terminal', () => {
  /** Runs it, does something while it asks, and types the response. */
  async function asked(response: string, meanwhile: () => Promise<unknown> = async () => {}) {
    await writeFile(file, JSON.stringify([BILLING]));
    const args = [...COMMAND, file, '--owner', 'team-a', '--prune'];
    return clientsAtTerminal(args, { DATABASE_URL: database.url }, async () => {
      await meanwhile();
      return response;
    });
  }
  const ids = async () =>
    (await database.query('select client_id from clients order by 1')).map((row) => Object.values(row)[0]);

  it('shows the plan, and applies it after a yes', async () => {
    const { exitCode, stdout } = await asked('y\n');
    expect(stdout).toMatch(/add +billing/);
    expect({ exitCode, ids: await ids() }).toEqual({ exitCode: 0, ids: ['billing'] });
  });

  it('changes nothing after a no', async () => {
    expect(await asked('n\n')).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('Nothing was changed.') });
    expect(await ids()).toEqual([]);
  });

  const insert = (id: string, owner: string) => () =>
    database.query(
      `insert into clients (client_id, client_secret, client_name, scope, details) values ('${id}', '*', 'x', 'x', '{"owner": "${owner}"}')`,
    );
  it.each([
    ['the same client was added', insert('billing', 'team-a'), ['billing']],
    ['the owner got another client', insert('other', 'team-a'), ['other']],
  ])('refuses a plan if meanwhile %s', async (_what, meanwhile, expected) => {
    const { exitCode, stderr } = await asked('y\n', meanwhile);
    expect(stderr).toContain('Clients were changed meanwhile: run this again. Nothing was changed.');
    expect({ exitCode, ids: await ids() }).toEqual({ exitCode: 1, ids: expected });
  });

  it('applies a plan if meanwhile another owner got a client', async () => {
    expect(await asked('y\n', insert('other', 'team-b'))).toMatchObject({ exitCode: 0 });
    expect(await ids()).toEqual(['billing', 'other']);
  });
});

describe('clients apply --check', () => {
  it('needs a role that only reads', async () => {
    const role = await database.createRole();
    await database.query(`grant select on clients to ${role.name}`);
    await writeFile(file, JSON.stringify([BILLING]));
    const reader = clientsInProcess(role.url);
    expect(await reader([...COMMAND, file, '--owner', 'a', '--prune', '--check'])).toMatchObject({ exitCode: 4 });
    expect(await reader([...COMMAND, file, '--yes'])).toMatchObject({ exitCode: 3 });
    expect(await clientsInProcess(database.url)(['export'])).toMatchObject({ stdout: '[]\n' });
    await database.query('drop table clients');
  });
});
