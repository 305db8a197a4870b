import { chmod, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { manageClients } from '../../config/capabilities/clients-program.ts';
import { inspectService } from '../../config/capabilities/doctor.ts';
import { migrateTables } from '../../config/migrate-tables.ts';
import { clientsInProcess, type RunClients } from '../adapters/cli/clients-program.ts';
import { compactJws, generateSigningKey } from '../support/assertions.ts';
import { requestToken } from '../support/http.ts';
import { runProgram } from '../support/program.ts';
import { runInProcess } from '../support/run-in-process.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import { until } from '../support/until.ts';
import { ruleOf, WorkloadIssuer } from '../support/workload-issuer.ts';

const ISSUER = 'http://issuer.test';
const ASSERTION = {
  grant_type: 'client_credentials',
  client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
};
const KEY = generateSigningKey('ES256');

const MANY = 16;

let folder: string;
let path: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sqlite-service-'));
  path = join(folder, 'clients.db');
});
afterAll(() => rm(folder, { recursive: true }));

describe('a service that finds no file', () => {
  const missing = () => ({ CLIENT_REPOSITORY: 'sqlite', DATABASE_FILE: join(folder, 'none.db') });

  it('does not start, and says how the file is created', async () => {
    await using program = runProgram('config/main.ts', {
      ...missing(),
      PORT: '0',
      BASE_URL: ISSUER,
      MANAGEMENT_PORT: '0',
    });
    expect(await program.ended()).toBe(1);
    expect(program.stderr()).toContain('none.db does not exist: npm run migrate creates it');
    expect(await readdir(folder)).not.toContain('none.db');
  });
});

describe('npm run migrate with DATABASE_FILE', () => {
  const migrate = (...args: string[]) => runInProcess(migrateTables, args, { DATABASE_FILE: path });

  it('says in a dry run what it would do, and does nothing', async () => {
    const { exitCode, stdout } = await migrate('--dry-run');
    expect([exitCode, stdout]).toEqual([0, expect.stringContaining('create table clients')]);
    expect(await readdir(folder)).not.toContain('clients.db');
  });

  it('creates the file for its owner only, once', async () => {
    const [first, second] = [await migrate(), await migrate()];
    expect([first.exitCode, first.stderr]).toEqual([0, 'Migrated: 0001-clients\n']);
    expect([second.exitCode, second.stderr]).toEqual([0, 'The database is up to date.\n']);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  it('creates -wal and -shm with the mode of the file', async () => {
    const shared = join(folder, 'shared.db');
    const modes = async () =>
      Promise.all(['', '-wal', '-shm'].map(async (end) => (await stat(shared + end)).mode & 0o777));
    const migrateShared = () => runInProcess(migrateTables, [], { DATABASE_FILE: shared });
    await migrateShared();
    expect(await modes()).toEqual([0o600, 0o600, 0o600]);
    await chmod(shared, 0o640);
    for (const end of ['-wal', '-shm']) await rm(shared + end);
    await migrateShared();
    expect(await modes()).toEqual([0o640, 0o640, 0o640]);
  });

  it.each<[string, Record<string, string>, readonly string[], RegExp]>([
    ['a role', {}, ['--grant-to', 'auth'], /a file has no roles/],
    [
      'a URL too',
      { DATABASE_URL: 'postgresql://a@b/c' },
      [],
      /unset one of them, or set CLIENT_REPOSITORY to sqlite or postgres/,
    ],
    [
      'no database',
      { DATABASE_FILE: '' },
      [],
      /^The database: set DATABASE_FILE \(SQLite\) or DATABASE_URL \(PostgreSQL\)/,
    ],
    ['a typo', { DATABASE_FILE: '', DATABSE_FILE: 'a.db' }, [], /DATABSE_FILE is set: did you mean DATABASE_FILE\?/],
    [
      'registrations in memory',
      { CLIENT_REPOSITORY: 'memory', DATABASE_FILE: '' },
      [],
      /is memory, and this program does not manage a clients file, which you edit: set DATABASE_FILE/,
    ],
    ['no file', { CLIENT_REPOSITORY: 'sqlite', DATABASE_FILE: '' }, [], /DATABASE_FILE: must be set/],
  ])('refuses to run with %s', async (_what, more, args, complaint) => {
    const { exitCode, stderr } = await runInProcess(migrateTables, args, { DATABASE_FILE: path, ...more });
    expect([exitCode, stderr]).toEqual([2, expect.stringMatching(complaint)]);
  });
});

describe('a service with registrations in a file of SQLite', () => {
  let service: ServiceProcess;
  let issuer: WorkloadIssuer;
  let clients: RunClients;
  let environment: Record<string, string>;
  beforeAll(async () => {
    issuer = await WorkloadIssuer.start('kubernetes');
    const issuers = join(folder, 'issuers.json');
    await writeFile(issuers, JSON.stringify([issuer.entry()]), { mode: 0o600 });
    environment = { CLIENT_REPOSITORY: 'sqlite', DATABASE_FILE: path, CLIENT_ASSERTION_ISSUERS_FILE: issuers };
    clients = clientsInProcess('', environment);
    await runInProcess(migrateTables, [], environment);
    service = await startServiceProcess({
      ...environment,
      CLIENT_SECRET_COST: '4',
      CLIENT_AUTHENTICATION_METHODS: 'client_secret_post,client_secret_basic,private_key_jwt,federated_jwt',
      BASE_URL: ISSUER,
      CLIENT_ASSERTION_KEYS_REFRESH_SECONDS: '1',
    });
  }, 60_000);
  afterAll(async () => {
    await service.program[Symbol.asyncDispose]();
    await issuer[Symbol.asyncDispose]();
  });

  /** The statuses of many requests at once. */
  async function statuses(form: () => Readonly<Record<string, string>>): Promise<readonly number[]> {
    const answers = await Promise.all(Array.from({ length: MANY }, () => requestToken(service.url, form())));
    return [...new Set(answers.map(({ status }) => status))];
  }

  const withSecret = (client_secret: unknown, more = {}) =>
    statuses(() => ({
      grant_type: 'client_credentials',
      client_id: 'billing',
      client_secret: String(client_secret),
      ...more,
    }));

  async function run(...args: readonly string[]): Promise<Record<string, unknown>> {
    const done = await clients([...args, '--json']);
    expect([done.exitCode, done.stderr]).toEqual([0, expect.anything()]);
    return done.json();
  }

  it('gives a client tokens, and each change counts at the next request', async () => {
    const { client_secret: first } = await run(
      'add',
      'billing',
      '--name',
      'Billing',
      '--scope',
      'read write',
      '--cost',
      '4',
    );
    expect(await withSecret(first)).toEqual([200]);
    const { client_secret: second } = await run('rotate', 'billing', '--cost', '4');
    expect(await withSecret(first)).toEqual([401]);
    expect(await withSecret(second)).toEqual([200]);
    await run('disable', 'billing');
    expect(await withSecret(second)).toEqual([401]);
    await run('enable', 'billing');
    expect(await withSecret(second)).toEqual([200]);
    const { client_secret: third } = await run('secrets', 'add', 'billing', '--name', 'third', '--cost', '4');
    expect([await withSecret(second), await withSecret(third)]).toEqual([[200], [200]]);
    expect(await withSecret(second, { resource: 'https://api.test' })).toEqual([400]);
    await run('resources', 'add', 'billing', 'https://api.test');
    expect(await withSecret(second, { resource: 'https://api.test' })).toEqual([200]);
    await run('remove', 'billing', '--yes');
    expect(await withSecret(second)).toEqual([401]);
  });

  it('accepts a signed assertion once', async () => {
    const jwks = join(folder, 'keys.json');
    await writeFile(jwks, JSON.stringify({ keys: [KEY.jwk] }));
    await run('add', 'signing', '--name', 'Signing', '--scope', 'read', '--method', 'private_key_jwt', '--jwks', jwks);
    const now = Math.floor(Date.now() / 1_000);
    const claims = { iss: 'signing', sub: 'signing', aud: ISSUER, iat: now, exp: now + 300, jti: 'once' };
    const client_assertion = compactJws({ alg: 'ES256' }, claims, KEY.seal);
    const answers = await Promise.all(
      Array.from({ length: MANY }, () => requestToken(service.url, { ...ASSERTION, client_assertion })),
    );
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array(MANY - 1).fill(401)]);
  });

  it('accepts the identity of a workload, and explains one', async () => {
    const { subject, claims, issuer: name } = ruleOf(issuer.platform);
    await run(
      'add',
      'workload',
      '--name',
      ...['W', '--scope', 'read', '--method', 'federated_jwt'],
      '--issuer',
      name,
      '--subject',
      subject,
      ...Object.entries(claims).flatMap((claim) => ['--claim', claim.join('=')]),
    );
    const present = () => statuses(() => ({ ...ASSERTION, client_assertion: issuer.mint(ISSUER) }));
    await until(async () => (await present()).join() === '200', 'a token for the workload');
    const explained = await runInProcess(
      manageClients,
      ['explain'],
      { ...environment, TOKEN_ISSUER: ISSUER },
      issuer.mint(ISSUER),
    );
    expect([explained.exitCode, explained.stderr]).toEqual([0, expect.stringContaining('workload')]);
  });

  it('imports and lists', async () => {
    const file = join(folder, 'clients.json');
    const imported = Array.from({ length: 1_200 }, (_, number) => ({
      client_id: `imported-${number}`,
      client_name: 'Imported',
      client_secret: '$2b$04$1a0o6Bc5JolBzzqrgo7CPeXkdMBwN8LGiwUfu.MrnWzF4mbUTljwy',
      scope: 'read',
    }));
    await writeFile(file, JSON.stringify(imported));
    expect((await clients(['import', file])).exitCode).toBe(0);
    expect((await clients(['import', file])).exitCode).not.toBe(0);
    expect((await clients(['import', file, '--replace'])).exitCode).toBe(0);
    const listed = JSON.parse((await clients(['list', '--prefix', 'imported-', '--json'])).stdout);
    expect(listed).toHaveLength(1_200);
  });

  it('is ready with the dependency that a database has', async () => {
    const ready = await (await fetch(`${service.managementUrl}/readyz`)).json();
    expect(JSON.stringify(ready)).toContain('client repository');
  });
});

describe('npm run doctor', () => {
  const inspect = async (DATABASE_FILE: string) =>
    (await runInProcess(inspectService, [], { CLIENT_REPOSITORY: 'sqlite', DATABASE_FILE, MANAGEMENT_PORT: '0' }))
      .stdout;

  it('says whether the file can be read, and what to do if not', async () => {
    expect(await inspect(path)).toMatch(/ok +database file +\S+clients\.db can be read/);
    expect(await inspect(join(folder, 'none.db'))).toMatch(
      /PROBLEM +database file +\S+none\.db does not exist\s+-> npm run migrate creates it/,
    );
  });
});
