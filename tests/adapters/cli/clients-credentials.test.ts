import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import bcrypt from 'bcrypt';
import { freshTables } from '../../support/details-tables.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';
import { clientsInProcess, type RunClients } from './clients-program.ts';

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
    const [row] = await database.query('select * from client_secrets');
    expect(row).toMatchObject({ client_id: 'billing', registration_id: '1', secret_id: secretId, name: 'spring' });
    expect(await bcrypt.compare(secret, String(row?.['encoded']))).toBe(true);

    const listed = await clients(['secrets', 'list', 'billing', '--json']);
    const expires_at = Number(row?.['expires_at']);
    expect(listed.json()).toEqual([
      { secret_id: null, name: null, expires_at: null, bcrypt_cost: 4, expired: false },
      { secret_id: secretId, name: 'spring', expires_at, bcrypt_cost: 4, expired: false },
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
    expect(shown.stdout).toMatch(/authenticates by │ client_secret_post, client_secret_basic/);
    expect(shown.stdout).toMatch(new RegExp(`secret +│ ${secretId} \\(spring\\), BCrypt cost 4, expires at 20..-..-..T`));
    expect(added.stdout + listed.stdout + shown.stdout).not.toMatch(/\$2[aby]\$/);
  });

  it('says what to do if the tables of details are missing, and changes nothing', async () => {
    const bare = await createTestDatabase();
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
    const times = (await database.query('select expires_at::int as at from client_secrets order by expires_at')).map(
      ({ at }) => at,
    );
    expect(times).toEqual([expect.any(Number), null]);
    expect(Math.abs(Number(times[0]) - Date.now() / 1_000 - 86_400)).toBeLessThan(600);
  });

  it('explains how to rotate a secret without an id', async () => {
    await clients(BILLING);
    const run = await clients(['rotate', 'billing', '--keep-old-for', '24h', '--cost', '4']);
    expect(run).toMatchObject({ exitCode: 1, stdout: '' });
    expect(run.stderr).toContain('Use secrets add, change the client, and then secrets remove --without-id.');
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
    const more = await clients(['keys', 'add', 'billing', '--jwks', other, '--expires-at', '2099-12-31', '--json']);
    const keys = more.json()['keys'] as readonly { key_id: string; kid: string | null; expires_at: number | null }[];
    expect(keys.map(({ kid }) => kid).toSorted()).toEqual(['k1', null]);
    const old = keys.find(({ kid }) => kid === 'k1')?.key_id ?? '';
    // An id may begin with a hyphen.
    const left = await clients(['keys', 'remove', '--json', '--', 'billing', old]);
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
      /federated subject │ repo:a\/b of https:\/\/issuer.example with \/a\/b=c=d with \/e=f/,
    );
    expect(await database.query('select client_secret from clients')).toEqual([{ client_secret: '*' }]);
    await clients(['subjects', 'add', 'billing', '--issuer', 'trust.example', '--subject', 'spiffe://trust.example/x']);
    await clients(['resources', 'add', 'billing', 'https://api.example/']);
    await clients(['subjects', 'remove', 'billing', ...identity]);
    expect((await clients(['show', 'billing', '--json'])).json()).toMatchObject({
      authentication_methods: ['federated_jwt'],
      federated_subjects: [{ issuer: 'trust.example', subject: 'spiffe://trust.example/x', claims: {} }],
      resources: ['https://api.example/'],
    });
    const last = await clients([
      'subjects',
      'remove',
      'billing',
      '--issuer',
      'trust.example',
      '--subject',
      'spiffe://trust.example/x',
    ]);
    expect(last.stderr).toContain('it has nothing valid to authenticate with');
    expect((await clients(['resources', 'remove', 'billing', 'https://api.example'])).exitCode).toBe(1);
  });

  it('refuses a rule that is too weak for the platform of its issuer, and changes nothing', async () => {
    await clients([...BILLING, '--json']);
    const rule = ['--issuer', 'https://gitlab.com', '--subject', 'project_path:a/b:ref_type:branch:ref:main'];
    const weak = await clients(['subjects', 'add', 'billing', ...rule, '--claim', '/project_id=1']);
    expect(weak.exitCode).not.toBe(0);
    expect(weak.stderr).toContain('claims must have /project_id and /namespace_id');
    const added = await clients(['add', 'other', ...BILLING.slice(2, 6), '--method', 'federated_jwt', ...rule]);
    expect(added.exitCode).not.toBe(0);
    expect(await database.query('select client_id from clients')).toEqual([{ client_id: 'billing' }]);
    expect(await database.query('select * from client_subjects')).toEqual([]);
    const whole = [...rule, '--claim', '/project_id=1', '--claim', '/namespace_id=2'];
    expect((await clients(['subjects', 'add', 'billing', ...whole])).exitCode).toBe(0);
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
    expect(await database.query("select to_regclass('clients') as found")).toEqual([{ found: null }]);
  });

  it.each([
    [['--method', 'private_key_jwt'], '--method private_key_jwt needs --jwks.'],
    [['--method', 'federated_jwt', '--issuer', 'x'], '--method federated_jwt needs --subject.'],
    [['--jwks', 'file'], '--jwks needs --method private_key_jwt.'],
    [['--method', 'none'], "argument 'none' is invalid"],
    [['--expires-in', '1d', '--secret-stdin'], 'A secret from standard input cannot expire'],
    [['--resource', 'api'], 'The resource must be an absolute URI without a fragment (RFC 8707 section 2).'],
  ])('refuses %j as wrong usage', async (options, message) => {
    const run = await clients([...BILLING, ...options]);
    expect(run).toMatchObject({ exitCode: 2, stdout: '' });
    expect(run.stderr).toContain(message);
  });
});
