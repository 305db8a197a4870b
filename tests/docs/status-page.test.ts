import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';

const PAGE = new URL('../../docs/monitoring.md', import.meta.url);
const PICTURE_BYTES_MAX = 150_000;

it('docs/monitoring.md has four pictures, none of which makes a clone slow', () => {
  const paths = [...readFileSync(PAGE, 'utf8').matchAll(/!\[[^\]]+\]\(([^)]+)\)/g)].map(([, path = '']) => path);
  const large = paths.filter((path) => readFileSync(new URL(path, PAGE)).length > PICTURE_BYTES_MAX);
  expect({ pictures: paths.length, large }).toEqual({ pictures: 4, large: [] });
});
