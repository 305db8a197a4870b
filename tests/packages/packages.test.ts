import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { satisfies } from 'semver';
import { readLockfile, requiredPackages } from './lockfile.ts';
import { productionSbom } from './sbom.ts';

const LOCKFILE = readLockfile();

/** The versions of Node.js that an installed package supports, as stated in its own package.json. */
function supportedNode(path: string): string {
  const file = fileURLToPath(new URL(`../../${path}/package.json`, import.meta.url));
  return JSON.parse(readFileSync(file, 'utf8')).engines?.node ?? '*';
}

describe('the version', () => {
  it('is the newest of the changelog, and the same in the description and the chart', () => {
    const versionOf = (file: string, pattern: RegExp) => pattern.exec(readFileSync(file, 'utf8'))?.[1];
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
    expect(versionOf('CHANGELOG.md', /^## \[(\d.*)\]/m)).toBe(version);
    expect(versionOf('docs/openapi.json', /"version": "(.*)"/)).toBe(version);
    expect(versionOf('deploy/helm/ccauth/Chart.yaml', /^version: (.*)$/m)).toBe(version);
  });
});

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

/** Each package is code that can fail or be attacked: raise this only for a good reason. */
const PRODUCTION_PACKAGES_MAX = 100;

const PRODUCTION = Object.entries(readLockfile().packages)
  .filter(([path, { dev }]) => path !== '' && dev !== true)
  .map(([path, { version }]) => `${path.split('node_modules/').at(-1)}@${version}`);

describe('the packages that the service needs at run time', () => {
  it(`are at most ${PRODUCTION_PACKAGES_MAX}`, () => {
    expect(PRODUCTION.length).toBeLessThanOrEqual(PRODUCTION_PACKAGES_MAX);
  });

  it('are all in the bill of materials, and nothing else is', () => {
    const { components } = JSON.parse(productionSbom());
    const listed = components.map(({ name, version }: { name: string; version: string }) => `${name}@${version}`);
    expect(listed.toSorted()).toEqual([...new Set(PRODUCTION)].toSorted());
  });
});
