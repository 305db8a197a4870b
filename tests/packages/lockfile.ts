import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const PATH = fileURLToPath(new URL('../../package-lock.json', import.meta.url));

interface LockedPackage {
  readonly version?: string;
  readonly optional?: boolean;
  /** Whether only development needs it. */
  readonly dev?: boolean;
  engines?: Readonly<Record<string, string>>;
}

/** The part of package-lock.json that is read here: its packages, by their path from the root. */
interface Lockfile {
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

export function readLockfile(): Lockfile {
  return JSON.parse(readFileSync(PATH, 'utf8'));
}

/** Paths of the packages that are always installed. npm silently skips optional ones that do not fit the platform. */
export function requiredPackages({ packages }: Lockfile): readonly string[] {
  return Object.keys(packages).filter((path) => path !== '' && packages[path]?.optional !== true);
}

/**
 * Drops `engines` from the required packages of package-lock.json. `npm ci` compares them with the Node.js that runs
 * npm, which is not the one that runs the packages; docs/decisions has the reasons.
 */
function dropEngines(): void {
  const lockfile = readLockfile();
  for (const path of requiredPackages(lockfile)) delete lockfile.packages[path]?.engines;
  writeFileSync(PATH, `${JSON.stringify(lockfile, null, 2)}\n`);
}

if (import.meta.main) dropEngines();
