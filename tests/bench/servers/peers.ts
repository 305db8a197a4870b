import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { runProcess } from './own-process.ts';

const FOLDER = fileURLToPath(new URL('../peers/', import.meta.url));

/** The file of a program under tests/bench/peers, which run as processes of their own, so that no type of theirs is needed. */
export function peerFile(name: string): string {
  return `${FOLDER}${name}`;
}

/** The exact version of a package that only the benchmark uses. */
export async function peerVersion(name: string): Promise<string> {
  const { dependencies } = JSON.parse(await readFile(peerFile('package.json'), 'utf8'));
  return dependencies[name];
}

/** Installs what only the benchmark needs where it is not there as the lock file has it: other servers, autocannon, the chart drawer. */
export async function installPeers(): Promise<void> {
  if (await isInstalled()) return;
  process.stderr.write('Installing what only the benchmark needs into tests/bench/peers/node_modules …\n');
  try {
    await runProcess('npm', ['ci', '--no-audit', '--no-fund'], { cwd: FOLDER });
  } catch (cause) {
    throw new Error('npm ci in tests/bench/peers failed; the benchmark needs the network, once', { cause });
  }
}

/** The packages of a lock file, by their path. */
type Locked = Readonly<Record<string, { readonly version?: string; readonly optional?: boolean }>>;

/** npm leaves beside the packages a lock file of what it installed, without the optional ones of other platforms. */
async function isInstalled(): Promise<boolean> {
  const there = await packagesOf('node_modules/.package-lock.json').catch((): Locked => ({}));
  return Object.entries(await packagesOf('package-lock.json')).every(
    ([path, { version, optional }]) => path === '' || optional || there[path]?.version === version,
  );
}

async function packagesOf(lockFile: string): Promise<Locked> {
  return JSON.parse(await readFile(peerFile(lockFile), 'utf8')).packages;
}
