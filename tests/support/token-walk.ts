import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clientsTable } from './clients-table.ts';
import { freePort } from './free-port.ts';
import { requestToken } from './http.ts';
import { childrenOf, runProgram } from './program.ts';
import { GOOD_CLIENT, GOOD_SECRET } from './running-service.ts';
import type { TestDatabase } from './test-database.ts';
import { until } from './until.ts';

/** A timer may fire during one request, but hardly during each of several. */
const REQUESTS = 4;

/** What only timers run: heartbeats every 200 ms, and every 250 ms a worker looks at the health of its dependencies. */
const OF_TIMERS: ReadonlySet<string> = new Set([
  'adapters/workers/heartbeat.ts',
  'adapters/workers/worker-health.ts',
  'adapters/log/line-writer.ts',
  'adapters/postgres/health.ts',
  'adapters/postgres/table.ts',
]);

/** One client is cached, and each of the others gets a token for the first time. */
const [CACHED, ...NEW] = Array.from({ length: REQUESTS + 1 }, (_, number) => `client-${number}`);

const CLIENTS = [CACHED, ...NEW].map((client_id) => ({ ...GOOD_CLIENT, client_id: client_id ?? '' }));

export interface TokenWalk extends AsyncDisposable {
  /** The production files whose code runs for a token request, in order of their names. */
  filesFor(client: 'a cached client' | 'a new client'): Promise<readonly string[]>;
}

/** Starts a service whose processes record which files run. Its clients are in memory, or in the database if there is one. */
export async function startTokenWalk(workers: number, database?: TestDatabase): Promise<TokenWalk> {
  const folder = await mkdtemp(join(tmpdir(), 'token-walk-'));
  const port = await freePort();
  const clientsFile = join(folder, 'clients.json');
  await writeFile(clientsFile, JSON.stringify(CLIENTS));
  const storage =
    database === undefined
      ? { CLIENT_REPOSITORY: 'memory', CLIENTS_FILE: clientsFile }
      : { CLIENT_REPOSITORY: 'postgres', DATABASE_URL: database.url };
  const settings = {
    ...storage,
    PORT: String(port),
    MANAGEMENT_PORT: '0',
    WORKERS: String(workers),
    CLIENT_SECRET_COST: '4',
    SHUTDOWN_GRACE_MS: '0',
    COVERAGE_FOLDER: folder,
    // It makes the coverage less exact.
    NODE_DISABLE_COMPILE_CACHE: '1',
  };
  const program = runProgram('config/main.ts', settings, [], ['--import', './tests/support/coverage-agent.ts']);
  await program.printed(/"event":"started"/);
  const { pid } = program.process;
  if (pid === undefined) throw new Error('the service has no process');
  if (database !== undefined) {
    for (const { client_id, client_secret, client_name, scope } of CLIENTS) {
      await clientsTable(database).add({
        clientId: client_id,
        clientSecret: client_secret,
        clientName: client_name,
        scope,
      });
    }
  }
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

  const filesOf = async (client_id: string | undefined): Promise<ReadonlySet<string>> => {
    await takeFiles();
    const form = { grant_type: 'client_credentials', client_id: client_id ?? '', client_secret: GOOD_SECRET };
    const answer = await requestToken(`http://127.0.0.1:${port}`, form);
    if (answer.status !== 200) throw new Error(`${client_id} got ${answer.status}`);
    return takeFiles();
  };

  // The first requests of a process also run code that creates objects on first use.
  for (let time = 0; time < 2 * workers; time += 1) await filesOf(CACHED);
  return {
    async filesFor(client) {
      const ids = client === 'a new client' ? NEW : Array.from({ length: REQUESTS }, () => CACHED);
      let common: ReadonlySet<string> | undefined;
      for (const id of ids) {
        const files = await filesOf(id);
        common = common?.intersection(files) ?? files;
      }
      return [...(common ?? [])].filter((file) => !OF_TIMERS.has(file)).toSorted();
    },
    async [Symbol.asyncDispose]() {
      await program[Symbol.asyncDispose]();
      await rm(folder, { recursive: true });
    },
  };
}
