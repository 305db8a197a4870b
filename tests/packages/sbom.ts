import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readLockfile } from './lockfile.ts';

const PACKAGE_FILE = fileURLToPath(new URL('../../package.json', import.meta.url));

/**
 * The software bill of materials (CycloneDX, as JSON) of the packages that the service needs at run time: what `npm ci
 * --omit=dev` installs. npm gets a copy of the lockfile without development packages, because `npm sbom --omit dev` of
 * npm 11 leaves out half of the others.
 */
export function productionSbom(): string {
  const { devDependencies: _, ...manifest } = JSON.parse(readFileSync(PACKAGE_FILE, 'utf8'));
  const lockfile = readLockfile();
  const packages = Object.entries(lockfile.packages).filter(([path, locked]) => path !== '' && locked.dev !== true);
  const files = {
    'package.json': manifest,
    'package-lock.json': { ...lockfile, packages: { '': manifest, ...Object.fromEntries(packages) } },
  };
  const folder = mkdtempSync(join(tmpdir(), 'sbom-'));
  try {
    for (const [name, value] of Object.entries(files)) writeFileSync(join(folder, name), JSON.stringify(value));
    const options = ['--package-lock-only', '--sbom-format=cyclonedx', '--sbom-type=application'];
    return execFileSync('npm', ['sbom', ...options], { cwd: folder, encoding: 'utf8' });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

if (import.meta.main) process.stdout.write(productionSbom());
