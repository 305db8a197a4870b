import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { clientsTable } from '../support/clients-table.ts';
import { freePort } from '../support/free-port.ts';
import { requestToken } from '../support/http.ts';
import { childrenOf, runProgram } from '../support/program.ts';
import { GOOD_CLIENT, GOOD_SECRET } from '../support/running-service.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { until } from '../support/until.ts';

/** The most production files that may run code between accept and response. */
const FILES_FOR_A_KNOWN_CLIENT = 25;
const FILES_FOR_A_NEW_CLIENT = 30;

/** A timer may fire during one request, but hardly during each of several. On a very busy machine that takes more of them. */
const REQUESTS = 4;
const REQUESTS_MAX = 24;

/** What only timers run: heartbeats every 200 ms, and every 250 ms a worker looks at the health of its dependencies. */
const OF_TIMERS: ReadonlySet<string> = new Set([
  'adapters/cluster/cpu-use.ts',
  'adapters/cluster/heartbeat.ts',
  'adapters/cluster/worker-health.ts',
  'adapters/pino/log-destination.ts',
  'adapters/postgres/health.ts',
  'adapters/postgres/table.ts',
]);

/** What only other authentication methods need. */
const OF_OTHER_METHODS =
  /authenticate-(?:client|by-key|by-identity)|assertion|basic-credentials|client-key|subject|issuer|federated|optional-table/;

const CLIENTS = Array.from({ length: REQUESTS_MAX + 1 }, (_, number) => ({
  ...GOOD_CLIENT,
  client_id: `client-${number}`,
}));

/** A service whose processes record which files ran. */
async function startService(folder: string, settings: Readonly<Record<string, string>>) {
  const port = await freePort();
  const program = runProgram(
    'config/main.ts',
    {
      PORT: String(port),
      MANAGEMENT_PORT: '0',
      CLIENT_SECRET_COST: '4',
      SHUTDOWN_GRACE_MS: '0',
      COVERAGE_FOLDER: folder,
      // It makes the coverage less exact.
      NODE_DISABLE_COMPILE_CACHE: '1',
      ...settings,
    },
    [],
    ['--import', './tests/support/coverage-agent.ts'],
  );
  await program.printed(/"event":"started"/);
  const { pid } = program.process;
  if (pid === undefined) throw new Error('the service has no process');
  const pids = [pid, ...childrenOf(pid)];
  let asked = 0;

  /** The files that ran in any of the processes since the last call. */
  const takeFiles = async (): Promise<ReadonlySet<string>> => {
    asked += 1;
    for (const process_ of pids) process.kill(process_, 'SIGUSR2');
    const written = pids.map((process_) => join(folder, `${process_}-${asked}.json`));
    await until(() => written.every((file) => existsSync(file)), 'each process has written its files');
    return new Set(written.flatMap((file) => JSON.parse(readFileSync(file, 'utf8')) as string[]));
  };

  /** The files that run for each of these clients' requests, in order of their names. Stops when they are at most so many. */
  const filesOf = async (clientIds: readonly string[], most: number): Promise<readonly string[]> => {
    let common: ReadonlySet<string> | undefined;
    const walked = () => [...(common ?? [])].filter((file) => !OF_TIMERS.has(file)).toSorted();
    for (const [index, client_id] of clientIds.entries()) {
      if (index >= REQUESTS && walked().length <= most) break;
      await takeFiles();
      const form = { grant_type: 'client_credentials', client_id, client_secret: GOOD_SECRET };
      const answer = await requestToken(`http://127.0.0.1:${port}`, form);
      expect(answer.status).toBe(200);
      const files = await takeFiles();
      common = common?.intersection(files) ?? files;
    }
    return walked();
  };
  return { program, filesOf };
}

describe.each([
  ['memory', '1'],
  ['memory', '2'],
  ['postgres', '1'],
  ['postgres', '2'],
] as const)('the walk of a token request, with registrations in %s and %s worker(s)', (repository, workers) => {
  let folder: string;
  let database: TestDatabase | undefined;
  let service: Awaited<ReturnType<typeof startService>>;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'token-walk-'));
    const settings = { CLIENT_REPOSITORY: repository, WORKERS: workers };
    if (repository === 'memory') {
      const file = join(folder, 'clients.json');
      await writeFile(file, JSON.stringify(CLIENTS));
      service = await startService(folder, { ...settings, CLIENTS_FILE: file });
    } else {
      database = await createTestDatabase();
      service = await startService(folder, { ...settings, DATABASE_URL: database.url });
      const table = clientsTable(database);
      for (const { client_id, client_secret, client_name, scope } of CLIENTS) {
        await table.add({ clientId: client_id, clientSecret: client_secret, clientName: client_name, scope });
      }
    }
    // The first request of a process also runs code that creates objects on first use.
    for (let time = 0; time < 2 * Number(workers); time += 1) await service.filesOf(['client-0'], 0);
  });
  afterAll(async () => {
    await service.program[Symbol.asyncDispose]();
    await database?.drop();
    await rm(folder, { recursive: true });
  });

  it(`passes at most ${FILES_FOR_A_NEW_CLIENT} files for a client that is new`, async () => {
    const files = await service.filesOf(
      CLIENTS.slice(1).map(({ client_id }) => client_id),
      FILES_FOR_A_NEW_CLIENT,
    );
    expect(files).toContain('application/authenticate-by-secret.ts');
    expect(files).toContain('adapters/secrets/bcrypt-secret-verifier.ts');
    expect(files.filter((file) => OF_OTHER_METHODS.test(file))).toEqual([]);
    expect({ files, count: files.length <= FILES_FOR_A_NEW_CLIENT }).toEqual({ files, count: true });
  });

  it(`passes at most ${FILES_FOR_A_KNOWN_CLIENT} files for a client that is cached`, async () => {
    const files = await service.filesOf(
      Array.from({ length: REQUESTS_MAX }, () => 'client-1'),
      FILES_FOR_A_KNOWN_CLIENT,
    );
    expect(files).toContain('adapters/jwt/rs256-token-signer.ts');
    expect(files).not.toContain('adapters/secrets/bcrypt-secret-verifier.ts');
    expect({ files, count: files.length <= FILES_FOR_A_KNOWN_CLIENT }).toEqual({ files, count: true });
  });
});
