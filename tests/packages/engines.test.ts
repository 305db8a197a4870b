import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { satisfies } from 'semver';
import { readLockfile, requiredPackages } from './lockfile.ts';

const LOCKFILE = readLockfile();

/** The versions of Node.js that an installed package supports, as stated in its own package.json. */
function supportedNode(path: string): string {
  const file = fileURLToPath(new URL(`../../${path}/package.json`, import.meta.url));
  return JSON.parse(readFileSync(file, 'utf8')).engines?.node ?? '*';
}

describe('the packages', () => {
  it('make `npm ci` print no engine warning (if this fails: npm run lockfile)', () => {
    const warned = requiredPackages(LOCKFILE).filter((path) => LOCKFILE.packages[path]?.engines !== undefined);
    expect(warned).toEqual([]);
  });

  it('all support the Node.js that runs them', () => {
    const unsupported = requiredPackages(LOCKFILE).filter(
      (path) => !satisfies(process.versions.node, supportedNode(path)),
    );
    expect(unsupported).toEqual([]);
  });
});
