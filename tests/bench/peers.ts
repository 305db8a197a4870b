import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { runProcess } from '../support/server-process.ts';
import { say } from './report.ts';

const FOLDER = fileURLToPath(new URL('./', import.meta.url));

/** The path of a program in tests/bench/peers. These run as processes of their own, so their packages are never imported here. */
export function peerFile(name: string): string {
  return `${FOLDER}peers/${name}`;
}

/** The exact version of a package that only the benchmark uses. */
export async function peerVersion(name: string): Promise<string> {
  return JSON.parse(await readFile(`${FOLDER}package.json`, 'utf8')).dependencies[name];
}

/** Installs the packages that only the benchmark needs (other servers, autocannon) if they are not there as locked. */
export async function installPeers(): Promise<void> {
  if (await isInstalled()) return;
  say('Installing the packages of the benchmark into tests/bench/node_modules …');
  try {
    await runProcess('npm', ['ci', '--no-audit', '--no-fund'], { cwd: FOLDER });
  } catch (cause) {
    throw new Error('npm ci failed in tests/bench; the first run of the benchmark needs the network', { cause });
  }
}

/** The packages of a lock file, by path. */
type Locked = Readonly<Record<string, { readonly version?: string; readonly optional?: boolean }>>;

/** Compares with the lock file that npm leaves in node_modules, which omits optional packages of other platforms. */
async function isInstalled(): Promise<boolean> {
  const installed = await packagesOf('node_modules/.package-lock.json').catch((): Locked => ({}));
  return Object.entries(await packagesOf('package-lock.json')).every(
    ([path, { version, optional }]) => path === '' || optional || installed[path]?.version === version,
  );
}

async function packagesOf(lockFile: string): Promise<Locked> {
  return JSON.parse(await readFile(`${FOLDER}${lockFile}`, 'utf8')).packages;
}
