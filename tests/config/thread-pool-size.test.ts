import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';

const { scripts, bin } = JSON.parse(readFileSync('package.json', 'utf8'));

/** What starts a process with code of `config/`, by package.json. */
const ENTRY_POINTS = [...Object.values<string>(scripts), bin.ccauth.replace(/^dist\/(.*)\.js$/, 'node $1.ts')]
  .flatMap((command) => /node .*?(config\/[\w-]+\.ts)/.exec(command)?.[1] ?? [])
  .toSorted();

describe('the size of the pool of threads', () => {
  it.each(ENTRY_POINTS)('is set by the first import of %s: it counts only before the first use of the pool', (file) => {
    const [first] = readFileSync(file, 'utf8').match(/^import .*$/m) ?? [];
    expect(first).toBe("import './thread-pool-size.ts';");
  });

  it('is set by every program', () => {
    expect(ENTRY_POINTS.map((file) => file.slice('config/'.length, -'.ts'.length))).toEqual([
      'clients',
      'demo',
      'doctor',
      'health-check',
      'keys',
      'locations',
      'main',
      'migrate',
      'program',
    ]);
  });
});
