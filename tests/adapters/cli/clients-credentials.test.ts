import { createHash, generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { hostname, tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import bcrypt from 'bcrypt';
import pg from 'pg';
import { NO_FIELDS, recordedFieldsOf } from '../../../domain/client-fields.ts';
import { readAuditFile } from '../../support/audit-lines.ts';
import { problemsOfAuditLine } from '../../support/audit-schema.ts';
import { CREATE_CLIENTS, clientsTable } from '../../support/clients-table.ts';
import { freshTables } from '../../support/details-tables.ts';
import { GOOD_CLIENT, PLAIN_CLIENT } from '../../support/running-service.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';
import { until } from '../../support/until.ts';
import { clientsInProcess, type Run, type RunClients } from './clients-program.ts';

describe('credentials', () => {
  const BILLING = ['add', 'billing', '--name', 'Billing', '--scope', 'read write', '--cost', '4'];

  let database: TestDatabase;
  let clients: RunClients;
  let folder: string;
  let jwks: string;

  beforeAll(async () => {
    database = await createTestDatabase();
    clients = clientsInProcess(database.url);
    folder = await mkdtemp(join(tmpdir(), 'clients-credentials-'));
    jwks = await writeJson('keys.json', { keys: [{ ...publicJwk(), kid: 'k1' }] });
  }, 120_000);
  afterAll(async () => {
    await database.drop();
    await rm(folder, { recursive: true });
  });
  beforeEach(() => freshTables(database));

  function keyPair() {
    return generateKeyPairSync('ec', { namedCurve: 'P-256' });
  }

  function publicJwk() {
    return keyPair().publicKey.export({ format: 'jwk' });
  }

  async function writeJson(name: string, value: unknown): Promise<string> {
    const path = join(folder, name);
    await writeFile(path, JSON.stringify(value));
    return path;
  }

  describe('clients secrets', () => {
    it('adds a second secret that begins with its id, lists both without a hash, and removes the first', async () => {
      await clients(BILLING);
      const added = await clients([
        'secrets',
        'add',
        'billing',
        '--name',
        'spring',
        '--expires-in',
        '90d',
        '--cost',
        '4',
        '--json',
      ]);
      expect(added).toMatchObject({ exitCode: 0 });
      const secret = String(added.json()['client_secret']);
      expect(secret).toMatch(/^[A-Za-z0-9]{10}\.[A-Za-z0-9]{43}$/);
      const secretId = secret.slice(0, 10);
      const [row] = await database.query("select credentials -> 'secrets' -> 0 as secret from clients");
      const stored = row?.['secret'] as Readonly<Record<string, unknown>>;
      expect(stored).toMatchObject({ secret_id: secretId, name: 'spring' });
      expect(await bcrypt.compare(secret, String(stored['client_secret']))).toBe(true);

      const listed = await clients(['secrets', 'list', 'billing', '--json']);
      const expires_at = Number(stored['expires_at']);
      expect(listed.json()).toEqual([
        { secret_id: null, name: null, expires_at: null, bcrypt_cost: 4, expired: false, generated: true },
        { secret_id: secretId, name: 'spring', expires_at, bcrypt_cost: 4, expired: false, generated: true },
      ]);
      expect(Math.abs(expires_at - Date.now() / 1_000 - 90 * 86_400)).toBeLessThan(600);

      const third = await clients(['secrets', 'add', 'billing', '--cost', '4']);
      expect(third).toMatchObject({ exitCode: 1, stdout: '' });
      expect(third.stderr).toContain('has two valid secrets already');

      const removed = await clients(['secrets', 'remove', 'billing', '--without-id']);
      expect(removed.exitCode).toBe(0);
      expect(await database.query('select client_secret from clients')).toEqual([{ client_secret: '*' }]);
      const shown = await clients(['show', 'billing']);
      expect(shown.stderr).toBe('');
      expect(shown.stdout).toMatch(/authenticates by +client_secret_post, client_secret_basic/);
      expect(shown.stdout).toMatch(
        new RegExp(`secret +${secretId} \\(spring\\), BCrypt cost 4, expires at 20..-..-..T`),
      );
      expect(added.stdout + listed.stdout + shown.stdout).not.toMatch(/\$2[aby]\$/);
    });

    it('says what to do if the column of details is missing, and changes nothing', async () => {
      const bare = await createTestDatabase();
      await bare.query(`${CREATE_CLIENTS}; alter table clients drop column credentials, drop column details`);
      const run = clientsInProcess(bare.url);
      await run(BILLING);
      const refused = await run(['secrets', 'add', 'billing', '--cost', '4']);
      expect(refused).toMatchObject({ exitCode: 3, stdout: '' });
      expect(refused.stderr).toContain('run npm run migrate first');
      expect((await run(['show', 'billing', '--json'])).json()).toMatchObject({ resources: [], keys: [] });
      await bare.drop();
    });

    it.each([
      [['secrets', 'remove', 'billing'], 'Give either the id of a secret or --without-id.'],
      [['secrets', 'add', 'billing', '--expires-at', '2020-01-01'], 'The time of --expires-at has passed.'],
      [['secrets', 'add', 'billing', '--expires-in', '90'], 'It must be a whole number and s, m, h or d'],
      [['secrets', 'add', 'billing', '--expires-at', '2030-01-01T00:00:00'], 'It must be a date in UTC'],
      [['secrets', 'add', 'billing', '--expires-at', '2030-02-31'], 'It must be a date in UTC'],
      [['secrets', 'add', 'billing', '--expires-at', '2031-02-29T12:00:00+01:00'], 'It must be a date in UTC'],
      [['secrets', 'add', 'billing', '--expires-at', '1800000000000'], 'It must be a date in UTC'],
    ])('refuses %j as wrong usage', async (args, message) => {
      const run = await clients(args);
      expect(run).toMatchObject({ exitCode: 2, stdout: '' });
      expect(run.stderr).toContain(message);
    });
  });

  describe('clients rotate --keep-old-for', () => {
    it('keeps the old secret of a client whose secrets have ids, until the time is over', async () => {
      await clients([...BILLING, '--expires-in', '365d']);
      const rotated = await clients(['rotate', 'billing', '--keep-old-for', '24h', '--cost', '4', '--json']);
      expect(rotated.exitCode).toBe(0);
      const secrets =
        "select value -> 'expires_at' as at from clients, jsonb_array_elements(credentials -> 'secrets') order by 1";
      const times = (await database.query(secrets)).map(({ at }) => at);
      expect(times).toEqual([expect.any(Number), null]);
      expect(Math.abs(Number(times[0]) - Date.now() / 1_000 - 86_400)).toBeLessThan(600);
    });

    it('gives a secret without an id an end too', async () => {
      await clients(BILLING);
      const rotated = await clients(['rotate', 'billing', '--keep-old-for', '24h', '--cost', '4', '--json']);
      expect(rotated.json()['secrets']).toMatchObject([
        { secret_id: null, expires_at: expect.any(Number), expired: false },
        { secret_id: expect.any(String), expires_at: null },
      ]);
      const end = "select credentials -> 'client_secret_expires_at' as at from clients";
      const [{ at } = {}] = await database.query(end);
      expect(Math.abs(Number(at) - Date.now() / 1_000 - 86_400)).toBeLessThan(600);
    });
  });

  describe('clients add --method', () => {
    it('registers a client with keys and resources, and adds and removes a second key', async () => {
      const added = await clients([
        ...BILLING,
        '--method',
        'private_key_jwt',
        '--jwks',
        jwks,
        '--resource',
        'https://api.example/',
        '--resource',
        'https://b.example/',
        '--json',
      ]);
      expect(added.json()).toMatchObject({
        state: 'enabled',
        problem: null,
        authentication_methods: ['private_key_jwt'],
        secrets: [],
        keys: [{ kid: 'k1', kty: 'EC', algorithms: ['ES256'], expires_at: null }],
        resources: ['https://api.example/', 'https://b.example/'],
      });
      expect(added.json()).not.toHaveProperty('client_secret');
      const other = await writeJson('other.json', publicJwk());
      const more = await clients(['update', 'billing', '--add-key', other, '--expires-at', '2099-12-31', '--json']);
      const keys = more.json()['keys'] as readonly { key_id: string; kid: string | null; expires_at: number | null }[];
      expect(keys.map(({ kid }) => kid).toSorted()).toEqual(['k1', null]);
      const old = keys.find(({ kid }) => kid === 'k1')?.key_id ?? '';
      // An id may begin with a hyphen.
      const left = await clients(['update', 'billing', `--remove-key=${old}`, '--json']);
      expect(left.json()['keys']).toEqual([expect.objectContaining({ kid: null, expires_at: 4_102_358_400 })]);
    });

    it('registers a client by the identity of another issuer, and changes its subjects and resources', async () => {
      const identity = ['--issuer', 'https://issuer.example', '--subject', 'repo:a/b'];
      const added = await clients([
        ...BILLING,
        '--method',
        'federated_jwt',
        ...identity,
        '--claim',
        '/a/b=c=d',
        '--claim',
        '/e=f',
      ]);
      expect(added.exitCode).toBe(0);
      expect(added.stdout).toMatch(
        /federated subject +repo:a\/b of https:\/\/issuer.example with \/e=f with \/a\/b=c=d/,
      );
      expect(await database.query('select client_secret from clients')).toEqual([{ client_secret: '*' }]);
      const workload = ['--issuer', 'trust.example', '--subject', 'spiffe://trust.example/x'];
      await clients(['update', 'billing', '--add-subject', ...workload, '--add-resource', 'https://api.example/']);
      await clients(['update', 'billing', '--remove-subject', ...identity]);
      expect((await clients(['show', 'billing', '--json'])).json()).toMatchObject({
        authentication_methods: ['federated_jwt'],
        federated_subjects: [{ issuer: 'trust.example', subject: 'spiffe://trust.example/x', claims: {} }],
        resources: ['https://api.example/'],
      });
      const last = await clients(['update', 'billing', '--remove-subject', ...workload]);
      expect(last.stderr).toContain('it has nothing valid to authenticate with');
      expect((await clients(['update', 'billing', '--remove-resource', 'https://api.example'])).exitCode).toBe(1);
    });

    it('refuses a rule that is too weak for the platform of its issuer, and changes nothing', async () => {
      await clients([...BILLING, '--json']);
      const rule = ['--issuer', 'https://gitlab.com', '--subject', 'project_path:a/b:ref_type:branch:ref:main'];
      const weak = await clients(['update', 'billing', '--add-subject', ...rule, '--claim', '/project_id=1']);
      expect(weak.exitCode).not.toBe(0);
      expect(weak.stderr).toContain('claims must have /project_id and /namespace_id');
      const added = await clients(['add', 'other', ...BILLING.slice(2, 6), '--method', 'federated_jwt', ...rule]);
      expect(added.exitCode).not.toBe(0);
      expect(await database.query('select client_id from clients')).toEqual([{ client_id: 'billing' }]);
      expect(await database.query('select credentials, details from clients')).toEqual([
        { credentials: { client_secret_generated: true }, details: {} },
      ]);
      const whole = [...rule, '--claim', '/project_id=1', '--claim', '/namespace_id=2'];
      expect((await clients(['update', 'billing', '--add-subject', ...whole])).exitCode).toBe(0);
    });

    it('refuses a private key and a malformed file, quotes neither, and changes nothing', async () => {
      const privateKey = await writeJson('private.json', { keys: [keyPair().privateKey.export({ format: 'jwk' })] });
      const refused = await clients([...BILLING, '--method', 'private_key_jwt', '--jwks', privateKey]);
      expect(refused).toMatchObject({ exitCode: 1, stdout: '' });
      expect(refused.stderr).toMatch(/key 0 contains a private or a symmetric key: register only the public key\.$/m);
      const offCurve = await writeJson('off-curve.json', { ...publicJwk(), x: 'A'.repeat(43) });
      expect((await clients([...BILLING, '--method', 'private_key_jwt', '--jwks', offCurve])).stderr).toContain(
        'key 0 is no valid key',
      );
      expect(
        (await clients([...BILLING, '--method', 'private_key_jwt', '--jwks', join(folder, 'none')])).stderr,
      ).toContain('cannot be read');
      expect(await database.query('select from clients')).toEqual([]);
    });

    it.each([
      [['--method', 'private_key_jwt'], '--method private_key_jwt needs --jwks.'],
      [['--method', 'federated_jwt', '--issuer', 'x'], '--method federated_jwt needs --subject.'],
      [['--jwks', 'file'], '--jwks needs --method private_key_jwt.'],
      [['--method', 'none'], "argument 'none' is invalid"],
      [['--expires-in', '1d', '--secret-stdin'], 'A secret from standard input cannot expire'],
      [['--resource', 'api'], 'resources entry 0 must be an absolute URI without a fragment (RFC 8707 section 2).'],
      [['--resource-scope', 'read'], '--resource-scope needs --resource.'],
      [['--token-claims', '{"aud":"a"}'], 'claims must not set aud, which the service or a standard sets.'],
      [
        ['--claim', 'tenant=acme'],
        '--claim needs --method federated_jwt; the claims of its tokens are --token-claims.',
      ],
    ])('refuses %j as wrong usage', async (options, message) => {
      const run = await clients([...BILLING, ...options]);
      expect(run).toMatchObject({ exitCode: 2, stdout: '' });
      expect(run.stderr).toContain(message);
    });
  });

  describe('clients update, of what tokens have', () => {
    const shown = async () => {
      const { claims, token_lifetime_seconds, resources } = (await clients(['show', 'billing', '--json'])).json();
      return { claims, token_lifetime_seconds, resources };
    };

    it('replaces the claims as a whole, keeps what is not named, and takes all of it away again', async () => {
      const given = ['--token-claims', '{"tenant":"acme","groups":["a","b"]}', '--token-lifetime', '60'];
      const added = await clients([...BILLING, ...given]);
      expect(added.stdout).toMatch(
        /^claim +groups: \["a","b"\]\nclaim +tenant: "acme"\nlifetime of tokens +at most 60 s$/m,
      );
      await clients(['update', 'billing', '--token-claims', '{"plan":"gold"}']);
      expect(await shown()).toMatchObject({ claims: { plan: 'gold' }, token_lifetime_seconds: 60 });
      await clients(['update', 'billing', '--token-lifetime', '600', '--name', 'Billing 2']);
      expect(await shown()).toMatchObject({ claims: { plan: 'gold' }, token_lifetime_seconds: 600 });
      expect((await clients(['list'])).stdout).toMatch(/ claims plan; at most 600 s$/m);
      const [listed] = JSON.parse((await clients(['list', '--json'])).stdout);
      expect(listed).toMatchObject(await shown());
      await clients(['update', 'billing', '--token-claims', '', '--token-lifetime', '0']);
      expect(await database.query('select credentials, details from clients')).toEqual([
        { credentials: { client_secret_generated: true }, details: {} },
      ]);
    });

    it('gives resources scopes of their own, and changes those of one in one edit', async () => {
      const [one, other] = ['https://a.example/', 'https://b.example/'];
      await clients([...BILLING, '--resource', one, '--resource', other, '--resource-scope', 'read']);
      const again = ['--remove-resource', one, '--add-resource', one];
      const changed = await clients(['update', 'billing', ...again, '--resource-scope', 'read write']);
      expect(changed.stdout).toMatch(/^resource +https:\/\/a\.example\/ with the scopes read write$/m);
      await clients(['update', 'billing', '--remove-resource', other, '--add-resource', other]);
      expect((await shown()).resources).toEqual([{ resource: one, scope: 'read write' }, other]);
    });

    it.each([
      [['--token-claims', '{"Iss":"x"}'], 1, 'claims must not set iss, which the service or a standard sets.'],
      [['--token-claims', '[]'], 1, 'claims must be an object. Client billing is not changed.\n'],
      [['--token-claims', '{"a":12345678901234567890}'], 1, 'claims must have numbers that every reader gets exactly'],
      [['--token-claims', `{"a":"${'x'.repeat(1_024)}"}`], 1, 'claims must have at most 1024 bytes as JSON'],
      [['--token-claims', '{"a":1,"a":2}'], 2, 'It must be a JSON object that names nothing twice'],
      [['--token-claims', 'tenant=acme'], 2, 'It must be a JSON object that names nothing twice'],
      [['--token-lifetime', '86401'], 1, 'token_lifetime_seconds must be a whole number of seconds from 1 to 86400.'],
      [['--token-lifetime', '10m'], 2, 'It must be a whole number of seconds: 600 is 10 minutes.'],
      [
        ['--add-resource', 'urn:a', '--resource-scope', 'a  b'],
        1,
        'resources entry 0 scope must be scope tokens with single',
      ],
      [['--resource-scope', 'read'], 2, '--resource-scope needs --add-resource.'],
      [['--claim', 'tenant=acme'], 2, '--claim needs --add-subject; the claims of its tokens are --token-claims.'],
    ])('refuses %j, and changes nothing', async (options, exitCode, message) => {
      await clients([...BILLING, '--token-claims', '{"tenant":"acme"}', '--token-lifetime', '60']);
      const run = await clients(['update', 'billing', '--name', 'Other', ...options]);
      expect(run).toMatchObject({ exitCode, stdout: '', stderr: expect.stringContaining(message) });
      expect(await shown()).toEqual({ claims: { tenant: 'acme' }, token_lifetime_seconds: 60, resources: [] });
      expect(await database.query('select client_name from clients')).toEqual([{ client_name: 'Billing' }]);
    });

    it('shows and mends claims that another program has written and no rule allows', async () => {
      await clients(BILLING);
      for (const broken of ['null', '"x"', '{"iss":"x"}']) {
        await database.query(`update clients set details = '{"claims":${broken}}'`);
        expect((await clients(['list'])).stderr).toMatch(/: claims must /);
        const run = await clients(['show', 'billing']);
        expect(run).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('claims must') });
        expect((await clients(['update', 'billing', '--token-claims', ''])).exitCode).toBe(0);
        expect((await clients(['show', 'billing'])).stderr).toBe('');
      }
    });
  });
});

describe('clients', () => {
  const BILLING = ['--name', 'Billing', '--scope', 'read write', '--cost', '4'];
  const HASH = /\$2[aby]\$/;

  let database: TestDatabase;
  let clients: RunClients;

  beforeAll(async () => {
    database = await createTestDatabase();
    clients = clientsInProcess(database.url);
  }, 120_000);
  afterAll(() => database.drop());
  beforeEach(async () => {
    await database.query(`drop table if exists clients; ${CREATE_CLIENTS}`);
  });

  async function storedSecret(clientId: string): Promise<string> {
    const [row] = await database.query('select client_secret from clients where client_id = $1', [clientId]);
    return String(row?.['client_secret']);
  }

  function expectNoHash({ stdout, stderr }: Run): void {
    expect(stdout + stderr).not.toMatch(HASH);
  }

  describe('clients add', () => {
    it('registers the client and shows its secret once', async () => {
      const run = await clients(['add', 'billing', ...BILLING]);
      expect(run.exitCode).toBe(0);
      const [secret = '', ...others] = run.stdout.match(/\b[A-Za-z0-9]{43}\b/g) ?? [];
      expect(others).toEqual([]);
      expect(run.stdout).toContain('Billing');
      expect(run.stderr).toBe(
        'Client billing is added.\nThe secret is shown only this once: the table stores only its BCrypt hash.\n',
      );
      expectNoHash(run);
      expect(await database.query('select client_id, client_name, scope from clients')).toEqual([
        { client_id: 'billing', client_name: 'Billing', scope: 'read write' },
      ]);
      expect(await storedSecret('billing')).toMatch(/^\$2b\$04\$/);
      expect(await bcrypt.compare(secret, await storedSecret('billing'))).toBe(true);
    });

    it('prints one JSON document with the field names of a clients file', async () => {
      const run = await clients(['add', 'billing', ...BILLING, '--json']);
      expect(run.json()).toEqual({
        id: '1',
        client_id: 'billing',
        client_secret: expect.stringMatching(/^[A-Za-z0-9]{43}$/),
        client_name: 'Billing',
        scope: 'read write',
        state: 'enabled',
        bcrypt_cost: 4,
        problem: null,
      });
      expectNoHash(run);
    });

    it('generates an id if none is given', async () => {
      const run = await clients(['add', ...BILLING, '--json']);
      expect(run.json()['client_id']).toMatch(/^[0-9a-f-]{36}$/);
    });

    it('encodes a generated secret at cost 4 by default, and one from standard input at cost 10', async () => {
      const add = async (id: string, option: readonly string[], input = '') =>
        (await clients(['add', id, ...BILLING.slice(0, 4), ...option, '--json'], input)).json()['bcrypt_cost'];
      expect(await add('billing', [])).toBe(4);
      expect(await add('chosen', ['--secret-stdin'], 'a-good-long-secret')).toBe(10);
    });

    it('reads a secret from standard input, removes one line break at its end, and never shows it', async () => {
      const run = await clients(['add', 'billing', ...BILLING, '--secret-stdin', '--json'], ' my sécret phrase \n');
      expect(run.exitCode).toBe(0);
      expect(run.json()).not.toHaveProperty('client_secret');
      expect(run.stdout + run.stderr).not.toContain('my s');
      expect(await bcrypt.compare(' my sécret phrase ', await storedSecret('billing'))).toBe(true);
    });

    it('changes nothing if the secret on standard input is unusable', async () => {
      const run = await clients(['add', 'billing', ...BILLING, '--secret-stdin'], '\n');
      expect(run).toMatchObject({ exitCode: 1, stdout: '', stderr: 'The secret on standard input is empty.\n' });
      expect(await database.query('select from clients')).toEqual([]);
    });

    it('refuses an id that is taken, and shows no secret', async () => {
      await clients(['add', 'billing', ...BILLING]);
      const before = await storedSecret('billing');
      const run = await clients(['add', 'billing', ...BILLING, '--json']);
      expect(run).toMatchObject({ exitCode: 1, stdout: '' });
      expect(run.stderr).toBe('The client id billing is taken; nothing was changed.\n');
      expect(await storedSecret('billing')).toBe(before);
    });

    it('distinguishes ids that differ only in case or in a space', async () => {
      const ids = ['-billing', '-BILLING', '-billing '];
      const runs = await Promise.all(ids.map((id) => clients(['add', ...BILLING, '--', id])));
      expect(runs.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0]);
      expect(runs.map(({ stderr }) => / begins or ends with a space/.test(stderr))).toEqual([false, false, true]);
      expect(await database.query('select count(*)::int as rows from clients')).toEqual([{ rows: 3 }]);
    });

    it.each([
      [
        'an id with an invisible character',
        ['add', 'demo\u200b', ...BILLING],
        'client_id must have no line break, control or invisible character.',
      ],
      ['an empty id', ['add', '', ...BILLING], 'client_id must have 1 to 255 characters and no control character.'],
      ['an empty name', ['add', 'x', '--name', '', '--scope', 'read'], 'client_name must not be empty.'],
      [
        'a malformed scope',
        ['add', 'x', '--name', 'X', '--scope', 'a  b'],
        'scope must be one or more scope tokens with single spaces between (RFC 6749 section 3.3).',
      ],
    ])('refuses %s as a usage error', async (_what, args, message) => {
      expect(await clients(args)).toMatchObject({ exitCode: 2, stdout: '', stderr: `${message}\n` });
    });
  });

  describe('clients rotate', () => {
    it('replaces the secret and shows the new one once', async () => {
      const old = String((await clients(['add', 'billing', ...BILLING, '--json'])).json()['client_secret']);
      const run = await clients(['rotate', 'billing', '--cost', '5', '--json']);
      expect(run.stderr).toContain('Client billing has a new secret.');
      expect(run.json()).toMatchObject({ client_id: 'billing', state: 'enabled', bcrypt_cost: 5 });
      const stored = await storedSecret('billing');
      expect(await bcrypt.compare(String(run.json()['client_secret']), stored)).toBe(true);
      expect(await bcrypt.compare(old, stored)).toBe(false);
      expectNoHash(run);
    });

    it('reads the secret from standard input', async () => {
      await clients(['add', 'billing', ...BILLING]);
      const run = await clients(['rotate', 'billing', '--cost', '4', '--secret-stdin'], 'from-a-safe-vault\r\n');
      expect(run.exitCode).toBe(0);
      expect(run.stdout + run.stderr).not.toContain('vault');
      expect(await bcrypt.compare('from-a-safe-vault', await storedSecret('billing'))).toBe(true);
    });

    it('refuses an unknown id', async () => {
      const run = await clients(['rotate', 'unknown', '--cost', '4']);
      expect(run).toMatchObject({ exitCode: 1, stdout: '', stderr: 'No client has the id unknown.\n' });
    });
  });

  describe('clients hash', () => {
    it('prints the BCrypt encoding of the secret on standard input, without a database', async () => {
      const run = await clientsInProcess('')(['hash', '--cost', '4'], 'a-good-long-secret\n');
      expect(run).toMatchObject({ exitCode: 0, stderr: '' });
      expect(run.stdout).toMatch(/^\$2b\$04\$.{53}\n$/);
      expect(await bcrypt.compare('a-good-long-secret', run.stdout.trim())).toBe(true);
    });
  });

  describe('a secret of one character on standard input', () => {
    const short = /^The secret on standard input has fewer than 16 characters\./;

    it('is refused by hash, add and rotate, which change nothing', async () => {
      await clients(['add', 'billing', ...BILLING]);
      const before = await storedSecret('billing');
      for (const args of [
        ['hash', '--cost', '4'],
        ['add', 'other', ...BILLING, '--secret-stdin'],
        ['rotate', 'billing', '--cost', '4', '--secret-stdin'],
      ]) {
        const run = await clients(args, 'x\n');
        expect(run).toMatchObject({ exitCode: 1, stdout: '', stderr: expect.stringMatching(short) });
      }
      expect(await database.query('select client_secret from clients')).toEqual([{ client_secret: before }]);
    });

    it('is accepted with --allow-short-secret', async () => {
      const added = await clients(['add', 'billing', ...BILLING, '--secret-stdin', '--allow-short-secret'], 'x');
      expect(added.exitCode).toBe(0);
      expect(await bcrypt.compare('x', await storedSecret('billing'))).toBe(true);
      const rotated = await clients(
        ['rotate', 'billing', '--cost', '4', '--secret-stdin', '--allow-short-secret'],
        'y',
      );
      expect(rotated.exitCode).toBe(0);
      expect(await bcrypt.compare('y', await storedSecret('billing'))).toBe(true);
      const { stdout } = await clients(['hash', '--cost', '4', '--allow-short-secret'], 'z');
      expect(await bcrypt.compare('z', stdout.trim())).toBe(true);
    });
  });
});

describe('locks and changes', () => {
  let database: TestDatabase;
  let clients: RunClients;

  beforeAll(async () => {
    database = await createTestDatabase();
    clients = clientsInProcess(database.url);
    await database.query(CREATE_CLIENTS);
  }, 120_000);
  afterAll(() => database.drop());
  beforeEach(async () => {
    await database.query('delete from clients');
    await clientsTable(database).add({
      clientId: 'billing',
      clientSecret: GOOD_CLIENT.client_secret,
      clientName: 'Billing',
      scope: 'read',
    });
  });

  async function storedSecret(): Promise<string> {
    const [row] = await database.query("select client_secret from clients where client_id = 'billing'");
    return String(row?.['client_secret']);
  }

  describe('clients disable and enable', () => {
    it('lock and unlock the hash, and change nothing the second time', async () => {
      const hash = await storedSecret();
      const steps: [string, string, string][] = [
        ['disable', 'Client billing is disabled.\n', `!${hash}`],
        ['disable', 'Client billing was disabled already; nothing was changed.\n', `!${hash}`],
        ['enable', 'Client billing is enabled.\n', hash],
        ['enable', 'Client billing was not disabled; nothing was changed.\n', hash],
      ];
      for (const [command, stderr, stored] of steps) {
        const run = await clients([command, 'billing', '--json']);
        expect(run).toMatchObject({ exitCode: 0, stderr });
        expect(run.json()).toMatchObject({ client_id: 'billing', state: `${command}d` });
        expect(await storedSecret()).toBe(stored);
      }
    });

    it('keep a disabled client disabled when its secret is rotated', async () => {
      await clients(['disable', 'billing']);
      const run = await clients(['rotate', 'billing', '--cost', '4', '--secret-stdin', '--json'], 'a-new-long-secret');
      expect(run.stderr).toBe('Client billing has a new secret. It stays disabled.\n');
      expect(run.json()['state']).toBe('disabled');
      await clients(['enable', 'billing']);
      expect(await bcrypt.compare('a-new-long-secret', await storedSecret())).toBe(true);
    });

    it('do not unlock a client without a hash behind the lock', async () => {
      await database.query("update clients set client_secret = '!locked by hand'");
      expect(await clients(['enable', 'billing'])).toMatchObject({
        exitCode: 1,
        stdout: '',
        stderr: 'Client billing is locked without a hash behind the lock: give it a new secret with rotate first.\n',
      });
      await clients(['rotate', 'billing', '--cost', '4', '--secret-stdin'], 'a-new-long-secret');
      expect((await clients(['enable', 'billing'])).exitCode).toBe(0);
      expect(await bcrypt.compare('a-new-long-secret', await storedSecret())).toBe(true);
    });
  });

  describe('clients update', () => {
    it('changes name and scopes, records both, and leaves everything else as it is', async () => {
      const hash = await storedSecret();
      const run = await clients(['update', 'billing', '--scope', 'read write', '--name', 'Invoices', '--json']);
      expect(run).toMatchObject({ exitCode: 0, stderr: 'Client billing is changed.\n' });
      expect(run.json()).toMatchObject({ client_name: 'Invoices', scope: 'read write', state: 'enabled' });
      expect(run.audit).toMatchObject([
        {
          event: 'client_changed',
          changed: ['client_name', 'scope'],
          before: { client_name: 'Billing', scope: 'read' },
          after: { client_name: 'Invoices', scope: 'read write' },
        },
      ]);
      await clients(['update', 'billing', '--name', 'Billing again']);
      expect((await clients(['show', 'billing', '--json'])).json()).toMatchObject({
        client_name: 'Billing again',
        scope: 'read write',
      });
      expect(await storedSecret()).toBe(hash);
    });

    it.each([
      [['--scope', 'a  b'], 2, 'scope must be one or more scope tokens'],
      [['--name', ''], 2, 'client_name must not be empty.\n'],
      [[], 2, 'Give what to change, such as --name or --add-key.\n'],
    ])('refuses %j', async (options, exitCode, stderr) => {
      const run = await clients(['update', 'billing', ...options]);
      expect(run).toMatchObject({ exitCode, stdout: '', audit: [], stderr: expect.stringContaining(stderr) });
    });
  });

  describe('an id that no client has', () => {
    it.each(['show', 'rotate', 'disable', 'remove'])(
      'is answered by %s with the id that is like it',
      async (command) => {
        const stderr = 'No client has the id biling.\n';
        expect(await clients([command, 'biling'])).toMatchObject({ exitCode: 1, stdout: '', stderr });
      },
    );
  });

  describe('clients remove', () => {
    it('deletes the client, and reports the second time that there is none', async () => {
      const run = await clients(['remove', 'billing', '--json']);
      expect(run).toMatchObject({ exitCode: 0, stderr: 'Client billing is removed.\n' });
      expect(run.json()).toMatchObject({ client_id: 'billing', state: 'removed' });
      expect(await database.query('select from clients')).toEqual([]);
      expect(await clients(['remove', 'billing'])).toMatchObject({
        exitCode: 1,
        stdout: '',
        stderr: 'No client has the id billing.\n',
      });
    });

    it.each(['disable', 'enable'])('leaves no client to %s', async (command) => {
      expect(await clients([command, 'removed'])).toMatchObject({
        exitCode: 1,
        stdout: '',
        stderr: 'No client has the id removed.\n',
      });
    });
  });

  describe('two administrators at the same time', () => {
    let rival: pg.Client;
    beforeEach(async () => {
      rival = new pg.Client({ connectionString: database.url });
      await rival.connect();
      await rival.query('begin');
    });

    async function untilWaiting(programs: number): Promise<void> {
      const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      await until(async () => (await database.query(waiting)).length === programs, 'the programs wait for the rival');
    }

    async function commit(): Promise<void> {
      await rival.query('commit');
      await rival.end();
    }

    it('add the same client: one of them gets the output that the id is taken', async () => {
      await rival.query(`insert into clients (client_id, client_secret, client_name, scope)
      values ('contested', 'x', 'The rival''s', 'read')`);
      const run = clients(['add', 'contested', '--name', 'Billing', '--scope', 'read', '--cost', '4']);
      await untilWaiting(1);
      await commit();
      expect(await run).toMatchObject({
        exitCode: 1,
        stdout: '',
        stderr: 'The client id contested is taken; nothing was changed.\n',
      });
      expect(await database.query("select client_name from clients where client_id = 'contested'")).toEqual([
        { client_name: "The rival's" },
      ]);
    });

    it('disable a client and rotate its secret: it has the new secret, and is disabled', async () => {
      await rival.query("select from clients where client_id = 'billing' for update");
      const runs = Promise.all([
        clients(['disable', 'billing']),
        clients(['rotate', 'billing', '--cost', '4', '--secret-stdin'], 'a-new-long-secret'),
      ]);
      await untilWaiting(2);
      await commit();
      expect((await runs).map(({ exitCode }) => exitCode)).toEqual([0, 0]);
      const stored = await storedSecret();
      expect(stored).toMatch(/^!\$2b\$/);
      expect(await bcrypt.compare('a-new-long-secret', stored.slice(1))).toBe(true);
    });

    it('remove a client and rotate its secret: the client does not exist, and rotate reports that', async () => {
      await rival.query("delete from clients where client_id = 'billing'");
      const run = clients(['rotate', 'billing', '--cost', '4']);
      await untilWaiting(1);
      await commit();
      expect(await run).toMatchObject({ exitCode: 1, stdout: '', stderr: 'No client has the id billing.\n' });
    });
  });
});

describe('audit', () => {
  const BILLING = ['--name', 'Billing', '--scope', 'read write', '--cost', '4'];
  const WHO = { database_role: expect.any(String), os_user: userInfo().username, host: hostname() };
  const NEW_CLIENT = {
    client_name: 'Billing',
    scope: 'read write',
    state: 'enabled',
    bcrypt_cost: 4,
    secrets: [{ secret_id: null, name: null, expires_at: null }],
    keys: [],
    federated_subjects: [],
    resources: [],
    ...recordedFieldsOf(NO_FIELDS),
  };

  let database: TestDatabase;
  let folder: string;
  let path: string;
  beforeAll(async () => {
    database = await createTestDatabase();
  }, 120_000);
  afterAll(() => database.drop());
  beforeEach(async () => {
    await freshTables(database);
    folder = mkdtempSync(join(tmpdir(), 'clients-audit-'));
    path = join(folder, 'audit.log');
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  /** The program with these settings, in this process. */
  function program(settings: Readonly<Record<string, string>> = {}, url = database.url) {
    return clientsInProcess(url, { AUDIT_FILE: path, ...settings });
  }

  /** The lines so far, without what differs each time. */
  function recorded() {
    const lines = readAuditFile(path);
    expect(lines.flatMap(problemsOfAuditLine)).toEqual([]);
    return lines.map(({ log: _log, level: _level, time: _time, at: _at, change_id: _id, ...rest }) => rest);
  }

  async function storedClients(): Promise<readonly unknown[]> {
    return database.query('select client_id, client_secret from clients order by client_id');
  }

  /** The role of the first test owns the table and may create others, of which the program warns. */
  function withoutWarnings(stderr: string): string {
    return stderr.replace(/^Warning: other roles .*\n/gm, '');
  }

  describe('npm run clients, in the audit log', () => {
    it('says of each change who made it, and what was before and after, without a secret', async () => {
      const role = await database.createRole();
      await database.query(`grant select, insert, update, delete on all tables in schema public to ${role.name}`);
      // The table of the clients belongs to who uses the program first.
      await database.query(`grant create on schema public to ${role.name}`);
      const clients = program({}, role.url);
      const added = await clients(['add', 'billing', ...BILLING, '--json']);
      expect(added).toMatchObject({ exitCode: 0, audit: [] });
      await clients(['rotate', 'billing', '--cost', '5']);
      await clients(['disable', 'billing']);
      await clients(['enable', 'billing']);
      await clients(['update', 'billing', '--add-resource', 'https://api.example/']);
      await clients(['secrets', 'add', 'billing', '--name', 'autumn', '--cost', '4']);
      await clients(['remove', 'billing']);
      const who = { ...WHO, database_role: role.name, client_id: 'billing' };
      const autumn = { secret_id: expect.any(String), name: 'autumn', expires_at: null };
      const [nameless] = NEW_CLIENT.secrets;
      expect(recorded()).toEqual([
        { event: 'client_added', ...who, after: NEW_CLIENT },
        {
          event: 'client_changed',
          ...who,
          changed: ['bcrypt_cost', 'client_secret'],
          before: { bcrypt_cost: 4 },
          after: { bcrypt_cost: 5 },
        },
        {
          event: 'client_changed',
          ...who,
          changed: ['state'],
          before: { state: 'enabled' },
          after: { state: 'disabled' },
        },
        {
          event: 'client_changed',
          ...who,
          changed: ['state'],
          before: { state: 'disabled' },
          after: { state: 'enabled' },
        },
        {
          event: 'client_changed',
          ...who,
          changed: ['resources'],
          before: { resources: [] },
          after: { resources: ['https://api.example/'] },
        },
        {
          event: 'client_changed',
          ...who,
          changed: ['secrets'],
          before: { secrets: [nameless] },
          after: { secrets: [nameless, autumn] },
        },
        {
          event: 'client_removed',
          ...who,
          before: {
            ...NEW_CLIENT,
            bcrypt_cost: 5,
            secrets: [nameless, autumn],
            resources: ['https://api.example/'],
          },
        },
      ]);
      const text = JSON.stringify(recorded());
      expect(text).not.toMatch(/\$2[aby]\$/);
      expect(text).not.toContain(String(added.json()['client_secret']));
    }, 60_000);

    it('names the claims that a client gets, also if only their values differ, and has no value', async () => {
      const clients = program();
      await clients(['add', 'billing', ...BILLING, '--token-claims', '{"tenant":"acme"}']);
      await clients(['update', 'billing', '--token-claims', '{"tenant":"globex"}', '--token-lifetime', '60']);
      await clients(['update', 'billing', '--token-claims', '{"tenant":"globex"}']);
      const who = { ...WHO, client_id: 'billing' };
      expect(recorded()).toEqual([
        { event: 'client_added', ...who, after: { ...NEW_CLIENT, claims: ['tenant'] } },
        {
          event: 'client_changed',
          ...who,
          changed: ['token_lifetime_seconds', 'claims'],
          before: { token_lifetime_seconds: null, claims: ['tenant'] },
          after: { token_lifetime_seconds: 60, claims: ['tenant'] },
        },
      ]);
      expect(JSON.stringify(recorded())).not.toMatch(/acme|globex/);
    });

    it('has nothing of what was not changed', async () => {
      const clients = program();
      await clients(['add', 'billing', ...BILLING]);
      await clients(['add', 'billing', ...BILLING]);
      await clients(['disable', 'unknown']);
      expect(recorded()).toEqual([{ event: 'client_added', ...WHO, client_id: 'billing', after: NEW_CLIENT }]);
    });

    it('has one line of an import, with the name and the hash of the file, and counts', async () => {
      const file = join(folder, 'clients.json');
      // Of several chunks, the last of which has no client.
      const text = `${JSON.stringify([GOOD_CLIENT, PLAIN_CLIENT])}${' '.repeat(600_000)}\n`;
      writeFileSync(file, text);
      await program()(['import', file]);
      const sha256 = createHash('sha256').update(text).digest('hex');
      const ids = [GOOD_CLIENT, PLAIN_CLIENT].map(({ client_id }) => client_id).sort();
      const clients = ids.map((client_id) => ({ client_id, action: 'added' }));
      const counts = { added: 2, replaced: 0, still_disabled: 0, clients };
      expect(recorded()).toEqual([{ event: 'clients_imported', ...WHO, file: 'clients.json', sha256, ...counts }]);
    });

    it('stays one line, whatever the name of a client contains', async () => {
      const name = 'x\n{"log":"audit","event":"client_removed"}\u2028\u2029\u0085\u007f\u009b2K';
      await program()(['add', 'billing', '--name', name, '--scope', 'read', '--cost', '4']);
      expect(recorded()).toEqual([
        {
          event: 'client_added',
          ...WHO,
          client_id: 'billing',
          after: { ...NEW_CLIENT, client_name: name, scope: 'read' },
        },
      ]);
    });

    it('is on standard error without AUDIT_FILE, and standard output has only the output', async () => {
      const run = await program({ AUDIT_FILE: '' })(['add', 'billing', ...BILLING, '--json']);
      expect(run.json()).toMatchObject({ client_id: 'billing' });
      expect(run.audit).toMatchObject([{ event: 'client_added', client_id: 'billing' }]);
      expect(run.audit.flatMap(problemsOfAuditLine)).toEqual([]);
    });

    it('says that a change may not have been made if the database does not confirm it', async () => {
      const clients = program();
      await clients(['add', 'billing', ...BILLING]);
      await database.query(
        "create function refuse() returns trigger language plpgsql as $$ begin raise exception 'no' using errcode = '40001'; end $$",
      );
      await database.query(
        'create constraint trigger refuse after update on clients deferrable initially deferred for each row execute function refuse()',
      );
      expect((await clients(['disable', 'billing'])).exitCode).not.toBe(0);
      await database.query('drop function refuse cascade');
      await until(() => readAuditFile(path).length > 2, 'all is written');
      const lines = readAuditFile(path);
      expect(lines.map(({ event }) => event)).toEqual(['client_added', 'client_changed', 'change_unconfirmed']);
      expect(lines[2]?.['change_id']).toBe(lines[1]?.['change_id']);
      expect(lines.flatMap(problemsOfAuditLine)).toEqual([]);
      expect((await clients(['show', 'billing', '--json'])).json()).toMatchObject({ state: 'enabled' });
    });
  });

  describe('npm run clients, if the audit log cannot be written', () => {
    const commands: readonly (readonly string[])[] = [
      ['add', 'second', ...BILLING],
      ['disable', 'billing'],
      ['remove', 'billing'],
      ['import', 'CLIENTS', '--replace'],
    ];

    it('changes nothing with AUDIT_REQUIRED=true', async () => {
      await program()(['add', 'billing', ...BILLING]);
      const before = await storedClients();
      const file = join(folder, 'clients.json');
      writeFileSync(file, JSON.stringify([PLAIN_CLIENT]));
      const clients = program({ AUDIT_FILE: '/dev/full', AUDIT_REQUIRED: 'true' });
      for (const command of commands) {
        const run = await clients(command.map((argument) => (argument === 'CLIENTS' ? file : argument)));
        expect([command, run.exitCode, run.stdout]).toEqual([command, 1, '']);
        expect(withoutWarnings(run.stderr)).toMatch(/^Nothing was changed: the audit log cannot be written: /);
      }
      expect(await storedClients()).toEqual(before);
      expect((await clients(['show', 'billing'])).exitCode).toBe(0);
    }, 60_000);

    it('names AUDIT_FILE where it cannot be opened', async () => {
      const clients = program({ AUDIT_FILE: join(folder, 'absent', 'audit.log'), AUDIT_REQUIRED: 'true' });
      const run = await clients(['add', 'billing', ...BILLING]);
      expect({ ...run, stderr: withoutWarnings(run.stderr) }).toMatchObject({
        exitCode: 1,
        stderr:
          'Nothing was changed: the audit log cannot be written: AUDIT_FILE: cannot be opened for writing: its directory does not exist (ENOENT)\n',
      });
      expect(await storedClients()).toEqual([]);
    });

    it('makes the change otherwise, and says that it could not be recorded', async () => {
      const run = await program({ AUDIT_FILE: '/dev/full' })(['add', 'billing', ...BILLING]);
      expect(run.exitCode).toBe(0);
      expect(run.stderr).toContain('The change could not be recorded in the audit log: ENOSPC');
      expect(await storedClients()).toHaveLength(1);
    });

    it.each([
      [{ AUDIT_REQUIRED: 'yes' }, 'AUDIT_REQUIRED: must be true or false'],
      [{ AUDIT_FLIE: 'audit.log' }, 'AUDIT_FLIE: is not a setting of this service: did you mean AUDIT_FILE?'],
    ])('refuses settings that are wrong: %j', async (settings, problem) => {
      const run = await program(settings as Record<string, string>)(['list']);
      expect(run).toMatchObject({ exitCode: 2, stderr: `${problem}\n` });
    });
  });
});
