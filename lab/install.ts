import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

// Installs the packages of the laboratory, unless they were installed after their lock file changed.

const LAB = fileURLToPath(new URL('./', import.meta.url));

/** When a file of this folder changed, in milliseconds; 0 if there is none. */
const changedAt = (file: string): number => statSync(`${LAB}${file}`, { throwIfNoEntry: false })?.mtimeMs ?? 0;

if (changedAt('node_modules/.package-lock.json') < changedAt('package-lock.json')) {
  process.stderr.write('Installing the packages of lab/ …\n');
  const npm = ['ci', '--no-audit', '--no-fund', '--loglevel=error'];
  const { status } = spawnSync('npm', npm, { cwd: LAB, stdio: ['ignore', 'ignore', 'inherit'] });
  if (status !== 0) throw new Error('npm ci failed in lab/; the first run needs the network');
}
