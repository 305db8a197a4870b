import { readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';

/** The version of this program, from its package.json: above this file, compiled or not. */
export function packageVersion(): string {
  const file = findPackageJSON('..', import.meta.url);
  const { version } = JSON.parse(file === undefined ? '{}' : readFileSync(file, 'utf8')) as { version?: string };
  return version ?? 'unknown';
}
