import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.ts';
import { isInstalled } from './installed.ts';
import { runAt } from './run-at.ts';
import { until } from './until.ts';

/** A PgBouncer in front of a database, on loopback. Each connection has the role of its URL. */
export interface PgBouncer extends AsyncDisposable {
  readonly url: string;
}

/** Of PgBouncer 1.x. */
function minorVersion(): number {
  const [, minor = 0] = /PgBouncer 1\.(\d+)/.exec(execFileSync('pgbouncer', ['--version']).toString()) ?? [];
  return Number(minor);
}

/** Whether the installed version can keep prepared statements in transaction mode. */
export function keepsStatements(): boolean {
  return isInstalled('pgbouncer') && minorVersion() >= 21;
}

/** @param settings of `[pgbouncer]`, such as `pool_mode`. */
export async function startPgBouncer(
  databaseUrl: string,
  settings: Readonly<Record<string, string>>,
): Promise<PgBouncer> {
  const { hostname, port, username, password, pathname } = new URL(databaseUrl);
  const folder = await mkdtemp(join(tmpdir(), 'pgbouncer-'));
  const own = Number(settings['listen_port'] ?? (await freePort()));
  const all = { listen_addr: '127.0.0.1', listen_port: own, unix_socket_dir: '', auth_type: 'any', ...settings };
  const file = join(folder, 'pgbouncer.ini');
  const name = pathname.slice(1);
  await writeFile(
    file,
    [
      '[databases]',
      `${name} = host=${hostname === 'localhost' ? '127.0.0.1' : hostname} port=${port} dbname=${name} user=${username} password=${password}`,
      '[pgbouncer]',
      ...Object.entries(all).map(([setting, value]) => `${setting} = ${value}`),
      '',
    ].join('\n'),
  );
  // It does not run as root.
  for (const path of [folder, file]) await chmod(path, 0o755);
  const asUser = userInfo().uid === 0 ? ['-u', 'nobody'] : [];
  const child = spawn('pgbouncer', [...asUser, file], { stdio: 'ignore' });
  const ended = once(child, 'exit');
  const url = Object.assign(new URL(databaseUrl), { hostname: '127.0.0.1', port: String(own) }).href;
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`pgbouncer ended with ${child.exitCode}`);
    return runAt(url, 'select 1').then(
      () => true,
      () => false,
    );
  }, 'PgBouncer answers');
  return {
    url,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
