import { globSync, readFileSync, statSync } from 'node:fs';
import { expect, it } from '@jest/globals';

const README = readFileSync('deploy/README.md', 'utf8');
/** What the first column of the table names: files, folders with a slash at the end, and patterns. */
const NAMED = [...README.matchAll(/^\| (`.*?) \|/gm)].flatMap(([, cell = '']) =>
  [...cell.matchAll(/`([^`]+)`/g)].flatMap(([, name = '']) =>
    globSync(`deploy/${name.endsWith('/') ? `${name}**` : name}`),
  ),
);

it('deploy/README.md names each file with what has checked it', () => {
  const files = globSync('deploy/**').filter((path) => statSync(path).isFile() && path !== 'deploy/README.md');
  expect(files.length).toBeGreaterThan(20);
  expect(files.filter((path) => !NAMED.includes(path))).toEqual([]);
});
