import { describe, expect, it } from '@jest/globals';
import { readLockfile } from './lockfile.ts';
import { productionSbom } from './sbom.ts';

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
