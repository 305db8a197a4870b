import { randomUUID } from 'node:crypto';
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import bcrypt from 'bcrypt';
import { columnTexts } from '../../adapters/sql/client-statements.ts';
import type { ClientRow } from '../../application/client-lookup.ts';
import { manageClients } from '../../config/programs/clients-program.ts';
import { inspectService } from '../../config/programs/doctor.ts';
import { migrateTables } from '../../config/programs/migrate-tables.ts';
import { startFromEnvironment } from '../../config/service.ts';
import { clientsInProcess, type RunClients } from '../adapters/cli/clients-program.ts';
import { A_CLIENT, describeClientRepository, type NewClient } from '../contracts/client-repository.ts';
import { FolderClientRepository, fileOf } from '../support/another-storage/folder-client-repository.ts';
import { compactJws, generateSigningKey } from '../support/assertions.ts';
import { clientsTable } from '../support/clients-table.ts';
import { pickDecoy } from '../support/decoys.ts';
import { FixedClock } from '../support/fixed-clock.ts';
import { freePort } from '../support/free-port.ts';
import { requestToken, send } from '../support/http.ts';
import { problemsIn } from '../support/problems.ts';
import { runProgram } from '../support/program.ts';
import { readSamples, total } from '../support/read-samples.ts';
import { REGISTERED_CLIENT, REGISTERED_SECRET } from '../support/registered-client.ts';
import { runInProcess } from '../support/run-in-process.ts';
import { type ServiceUnderTest, startServiceUnderTest } from '../support/running-service.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import { createTestDatabase, PATIENT, type TestDatabase } from '../support/test-database.ts';
import { until } from '../support/until.ts';
import { ruleOf, WorkloadIssuer } from '../support/workload-issuer.ts';

const ROOT = resolve(import.meta.dirname, '../..');

async function store(folder: string, { clientId, clientSecret, clientName, scope, details }: NewClient) {
  const stored: ClientRow = {
    id: randomUUID(),
    clientId,
    clientSecret,
    clientName,
    scope,
    ...columnTexts(details ?? {}),
  };
  await writeFile(fileOf(folder, clientId), JSON.stringify(stored));
}

describeClientRepository('FolderClientRepository', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'clients-'));
  const rewrite = async (clientId: string, changes: Partial<ClientRow>) => {
    const stored: ClientRow = JSON.parse(await readFile(fileOf(folder, clientId), 'utf8'));
    await writeFile(fileOf(folder, clientId), JSON.stringify({ ...stored, ...changes }));
  };
  return {
    repository: new FolderClientRepository(folder, new FixedClock(), pickDecoy),
    add: (client) => store(folder, client),
    change: (clientId, { details: _details, ...changes }) => rewrite(clientId, { id: randomUUID(), ...changes }),
    setDetails: (clientId, details) => rewrite(clientId, columnTexts(details)),
    remove: (clientId) => rm(fileOf(folder, clientId)),
    close: () => rm(folder, { recursive: true }),
  };
});

describe('a storage that is added as docs/adding-a-storage.md says', () => {
  let tree: string;
  beforeAll(async () => {
    tree = await mkdtemp(join(tmpdir(), 'another-storage-'));
    for (const name of ['domain', 'application', 'adapters', 'config', 'docs/openapi.json', 'package.json']) {
      await cp(join(ROOT, name), join(tree, name), { recursive: true });
    }
    await symlink(join(ROOT, 'node_modules'), join(tree, 'node_modules'));
  });
  afterAll(() => rm(tree, { recursive: true }));

  async function edit(file: string, before: string, after: string): Promise<void> {
    const text = await readFile(join(tree, file), 'utf8');
    expect(text.split(before)).toHaveLength(2);
    await writeFile(join(tree, file), text.replace(before, after));
  }

  it('issues a token to its client, with each optional part at its default', async () => {
    await mkdir(join(tree, 'adapters/folder'));
    const adapter = await readFile(join(ROOT, 'tests/support/another-storage/folder-client-repository.ts'), 'utf8');
    await writeFile(
      join(tree, 'adapters/folder/folder-client-repository.ts'),
      adapter.replaceAll("'../../../", "'../../"),
    );
    await writeFile(
      join(tree, 'config/storages/folder.ts'),
      `import { FolderClientRepository } from '../../adapters/folder/folder-client-repository.ts';
      import type { Storage } from './storage.ts';
      export const folder: Storage = {
        openClients: async ({ file, clock, pickDecoy }) => ({ clients: new FolderClientRepository(file, clock, pickDecoy) }),
      };`,
    );
    await edit(
      'config/storages.ts',
      '  memory: [',
      "  folder: ['DATABASE_FILE', async () => (await import('./storages/folder.ts')).folder],\n  memory: [",
    );
    const folder = join(tree, 'clients');
    await mkdir(folder);
    await store(folder, REGISTERED_CLIENT);

    const port = String(await freePort());
    await using service = runProgram(join(tree, 'config/main.ts'), {
      CLIENT_REPOSITORY: 'folder',
      DATABASE_FILE: folder,
      CLIENT_AUTHENTICATION_METHODS: 'client_secret_post,private_key_jwt',
      PORT: port,
      MANAGEMENT_PORT: '0',
    });
    await service.printed(/"event":"started"/);
    const url = `http://127.0.0.1:${port}`;
    const form = {
      grant_type: 'client_credentials',
      client_id: REGISTERED_CLIENT.clientId,
      client_secret: REGISTERED_SECRET,
    };
    expect((await requestToken(url, form)).status).toBe(200);
    expect((await requestToken(url, { ...form, client_id: 'nobody' })).status).toBe(401);
    expect((await requestToken(url, { ...form, resource: 'https://api.example.com' })).status).toBe(400);
  });
});

describe('registrations in a file of SQLite', () => {
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
      await expect(startServiceUnderTest({ environment: missing() })).rejects.toThrow(
        'none.db does not exist: npm run migrate creates it',
      );
      expect(await readdir(folder)).not.toContain('none.db');
    });
  });

  it.each(['memory', 'sqlite'])('a service without a single client in %s is ready, and says so', async (repository) => {
    const file = join(await mkdtemp(join(folder, 'empty-')), 'clients');
    if (repository === 'sqlite') await runInProcess(migrateTables, [], { DATABASE_FILE: file });
    else await writeFile(file, '[]', { mode: 0o600 });
    const environment = {
      CLIENT_REPOSITORY: repository,
      ...(repository === 'sqlite' ? { DATABASE_FILE: file } : { CLIENTS_FILE: file }),
    };
    const { program, managementUrl } = await startServiceProcess({ ...environment, BASE_URL: ISSUER });
    await using _stopped = program;
    const note = 'no client is registered, so nobody gets a token';
    const { status, text } = await send(managementUrl, '/readyz');
    expect([status, JSON.parse(text).checks]).toEqual([
      200,
      expect.arrayContaining([
        {
          name: repository === 'memory' ? 'clients file' : 'client repository',
          ready: true,
          note,
          fix: expect.stringContaining('add'),
        },
      ]),
    ]);
    await program.printed(/"event":"no_client_registered"/);
    const { stdout } = await runInProcess(inspectService, [], {
      ...environment,
      BASE_URL: ISSUER,
      MANAGEMENT_PORT: '0',
    });
    expect(stdout).toMatch(/note .*no client is registered/);
    expect(stdout).toMatch(/npm run clients -- add|add one to CLIENTS_FILE, as config\/demo\/clients\.json shows/);
    if (repository === 'memory') return;
    const clients = clientsInProcess('', environment);
    await clients(['add', 'a', '--name', 'A', '--scope', 'read', '--cost', '4']);
    await until(async () => !(await send(managementUrl, '/readyz')).text.includes(note), 'the note has ended');
  });

  it.each([
    ['list', []],
    ['add', ['a', '--name', 'A', '--scope', 'read']],
    ['remove', ['a', '--yes']],
    ['export', ['-']],
  ])('npm run clients -- %s creates no file, and no table in an empty one', async (command, args) => {
    const none = join(folder, 'none.db');
    const run = clientsInProcess('', { DATABASE_FILE: none });
    const fix = 'npm run migrate creates it; if it was there before, bring it back';
    for (const problem of ['does not exist', 'has no table clients, or an older schema']) {
      expect(await run([command, ...args])).toMatchObject({
        exitCode: 3,
        stdout: '',
        stderr: expect.stringContaining(`${none} ${problem}: ${fix}`),
      });
      expect((await readdir(folder)).includes('none.db')).toBe(problem !== 'does not exist');
      await writeFile(none, '');
    }
    for (const end of ['', '-wal', '-shm']) await rm(none + end, { force: true });
  });

  describe('registrations that other users may write', () => {
    const settings = (repository: Record<string, string>) => ({
      ...{ PORT: '0', MANAGEMENT_PORT: '0', BASE_URL: ISSUER, KEY_DIRECTORY: 'database' },
      ...{ KEY_SECRET_FILE: 'tests/support/key-secret.txt' },
      ...repository,
    });
    const RULE = 'must be writable only by its owner: chmod go-w';

    async function refusals(environment: Record<string, string>, setting: string) {
      const started = await startFromEnvironment(environment);
      if (started.ok) await started.value.stop('immediate');
      const { exitCode, stdout } = await runInProcess(inspectService, ['--json'], environment);
      const text: readonly string[] = JSON.parse(stdout)
        .map(({ text, fix = '' }: { text: string; fix?: string }) => `${text}: ${fix}`)
        .filter((found: string) => found.startsWith(`${setting}: `));
      return [started.ok ? 'started' : problemsIn(started), exitCode, text];
    }

    it.each([
      ['', ''],
      ['-wal', 'its -wal '],
      ['-shm', 'its -shm '],
      ['.keys', 'its .keys '],
    ])('are refused by the start and the doctor in a file of SQLite (%s)', async (end, its) => {
      const own = await mkdtemp(join(folder, 'writable-'));
      const [file, link] = [join(own, 'clients.db'), join(own, 'link.db')];
      // As somebody may have made it before it was migrated.
      await writeFile(file, '');
      await chmod(file, 0o600);
      const environment = settings({ CLIENT_REPOSITORY: 'sqlite', DATABASE_FILE: file });
      await runInProcess(migrateTables, [], environment);
      const mine = end === '.keys' ? [file, link] : [file];
      for (const path of mine) {
        await writeFile(path + end, '', { flag: 'a' });
        await chmod(path + end, 0o602);
      }
      const problem = `DATABASE_FILE: ${its}${RULE}`;
      expect(await refusals(environment, 'DATABASE_FILE')).toEqual([[problem], 1, [problem]]);
      await symlink(file, link);
      // SQLite has corrected the mode of an empty one.
      for (const path of mine) await chmod(path + end, 0o602);
      expect(await refusals({ ...environment, DATABASE_FILE: link }, 'DATABASE_FILE')).toEqual([
        ...[[problem], 1, [problem]],
      ]);
    });

    it('are refused in a clients file, but not where Kubernetes has them: behind a link, readable by all', async () => {
      const file = join(folder, 'data.json');
      const link = join(folder, 'clients.json');
      const text = '[{"client_id":"a","client_secret":"{noop}s","client_name":"A","scope":"read"}]';
      await writeFile(file, text);
      await symlink(file, link);
      const {
        KEY_DIRECTORY: _,
        KEY_SECRET_FILE: __,
        ...memory
      } = settings({
        ...{ CLIENT_REPOSITORY: 'memory', CLIENTS_FILE: link },
      });
      await chmod(file, 0o606);
      const problem = `CLIENTS_FILE: ${RULE}`;
      expect(await refusals(memory, 'CLIENTS_FILE')).toEqual([[problem], 1, [problem]]);
      await chmod(file, 0o644);
      expect(await refusals(memory, 'CLIENTS_FILE')).toEqual(['started', 0, []]);
    });
  });

  describe('npm run migrate with DATABASE_FILE', () => {
    const migrate = (...args: string[]) => runInProcess(migrateTables, args, { DATABASE_FILE: path });

    it('says in a dry run what it would do, and does nothing', async () => {
      const { exitCode, stdout } = await migrate('--dry-run');
      expect([exitCode, stdout]).toEqual([0, expect.stringContaining('create table `clients`')]);
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
      ['a typo', { DATABASE_FILE: '', DATABSE_FILE: 'a.db' }, [], /DATABSE_FILE: .* did you mean DATABASE_FILE\?/],
      [
        'registrations in memory',
        { CLIENT_REPOSITORY: 'memory', DATABASE_FILE: '' },
        [],
        /is memory, and this program does not manage a clients file, which you edit: set DATABASE_FILE/,
      ],
      ['no file', { CLIENT_REPOSITORY: 'sqlite', DATABASE_FILE: '' }, [], /DATABASE_FILE: is required/],
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
      await run('update', 'billing', '--add-resource', 'https://api.test');
      expect(await withSecret(second, { resource: 'https://api.test' })).toEqual([200]);
      await run('remove', 'billing', '--yes');
      expect(await withSecret(second)).toEqual([401]);
    });

    it('accepts a signed assertion once', async () => {
      const jwks = join(folder, 'keys.json');
      await writeFile(jwks, JSON.stringify({ keys: [KEY.jwk] }));
      await run(
        'add',
        'signing',
        '--name',
        'Signing',
        '--scope',
        'read',
        '--method',
        'private_key_jwt',
        '--jwks',
        jwks,
      );
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
  });

  describe('npm run doctor', () => {
    const inspect = async (DATABASE_FILE: string) =>
      (await runInProcess(inspectService, [], { CLIENT_REPOSITORY: 'sqlite', DATABASE_FILE, MANAGEMENT_PORT: '0' }))
        .stdout;

    it('says whether the file can be read, and what to do if not', async () => {
      expect(await inspect(path)).toMatch(/ok +client repository +the service can use it/);
      expect(await inspect(join(folder, 'none.db'))).toMatch(
        /PROBLEM +startup +\S+none\.db does not exist\s+-> npm run migrate creates it/,
      );
    });
  });
});

describe('the cost of refusals, with registrations in PostgreSQL', () => {
  let database: TestDatabase;
  let service: ServiceUnderTest;
  let managementUrl: string;
  const start = async () => {
    const MANAGEMENT_PORT = String(await freePort());
    managementUrl = `http://127.0.0.1:${MANAGEMENT_PORT}`;
    const more = { ...PATIENT, CLIENT_SECRET_COST_MAX: '7', MANAGEMENT_PORT };
    const environment = { CLIENT_REPOSITORY: 'postgres', DATABASE_URL: database.url, ...more };
    return startServiceUnderTest({ environment });
  };
  const add = async (clientId: string, cost: number) => {
    const clientSecret = await bcrypt.hash('its-secret', cost);
    await clientsTable(database).add({ ...A_CLIENT, clientId, clientSecret });
  };
  beforeAll(async () => {
    database = await createTestDatabase();
    // The first start creates the table.
    await (await start()).stop();
    await add('cost-5', 5);
    await clientsTable(database).add({ ...A_CLIENT, clientId: 'locked', clientSecret: '!' });
    service = await start();
  }, 120_000);
  afterAll(async () => {
    await service.stop();
    await database.drop();
  });

  const ask = (client_id: string, client_secret: string) =>
    requestToken(service.url, { grant_type: 'client_credentials', client_id, client_secret });
  const refusalCost = async () => {
    const response = await send(managementUrl, '/metrics');
    return total(readSamples(response.text), 'auth_refusal_cost');
  };
  const costsFound = () =>
    [...service.logText().matchAll(/"event":"secret_cost_found","cost":(\d+)/g)].map(([, cost]) => Number(cost));

  it('is the highest of the table when the service starts, in a metric and one log line', async () => {
    await until(() => costsFound().length > 0, 'the log has it');
    expect(await refusalCost()).toBe(5);
    expect(costsFound()).toEqual([5]);
  });

  it('rises with the first request for a more expensive secret, with one log line', async () => {
    await add('cost-7', 7);
    expect((await ask('cost-7', 'its-secret')).status).toBe(200);
    expect(await refusalCost()).toBe(7);
    await ask('cost-7', 'a-guess');
    await until(() => costsFound().includes(7), 'the log has it');
    expect(costsFound()).toEqual([5, 7]);
  });

  it('stops at CLIENT_SECRET_COST_MAX: a more expensive secret matches nothing', async () => {
    await add('cost-8', 8);
    expect((await ask('cost-8', 'its-secret')).status).toBe(401);
    expect(await refusalCost()).toBe(7);
    await until(() => service.logText().includes('stored_secret_unusable'), 'the log has the reason');
  });
});
