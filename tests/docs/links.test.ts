import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** Every page: those at the root, and all below docs/. Paths from the root. */
const PAGES = [
  ...readdirSync(ROOT),
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' }).map((path) => join('docs', path)),
].filter((path) => path.endsWith('.md'));

/** The pages that show their statements by tests. */
const CITING_PAGES = ['SECURITY.md', 'docs/rfc-conformance.md'];

/** `file` › "name", or `file` › "name" › "case". */
const CITATION = /`(tests\/[^`]+)` › "([^"]+)"(?: › "([^"]+)")?/g;

const textOf = (path: string) => readFileSync(join(ROOT, path), 'utf8');

/** A page without its code blocks, which show links of other places. */
const proseOf = (page: string) => textOf(page).replace(/^```[\s\S]*?^```/gm, '');

/** The targets of a page's links to this repository, without their fragments. */
function relativeLinksOf(page: string): readonly string[] {
  return [...proseOf(page).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z][a-z\d+.-]*:/i.test(target))
    .map((target) => target.replace(/#.*/, ''))
    .filter((target) => target !== '');
}

/** Whether a test file names a test, or a suite, so. */
function hasTest(source: string, name: string): boolean {
  return new RegExp(String.raw`\(\s*(['"\`])${RegExp.escape(name)}\1\s*,`).test(source);
}

/** Whether a test file has a text of exactly these characters, such as a row's first cell. */
function hasText(source: string, text: string): boolean {
  return new RegExp(String.raw`(['"\`])${RegExp.escape(text)}\1`).test(source);
}

/** What is wrong with the citations of a page. */
function brokenCitationsOf(page: string): readonly string[] {
  return [...proseOf(page).matchAll(CITATION)]
    .filter(([, file = '', name = '', row]) => {
      if (!existsSync(join(ROOT, file))) return true;
      const source = textOf(file);
      return !hasTest(source, name) || (row !== undefined && !hasText(source, row));
    })
    .map(([citation]) => citation);
}

describe('the documents', () => {
  it.each(PAGES)('%s: every relative link leads to a file', (page) => {
    const broken = relativeLinksOf(page).filter((target) => !existsSync(join(ROOT, dirname(page), target)));
    expect(broken).toEqual([]);
  });

  it.each(PAGES)('%s: every test that is cited is there', (page) => {
    expect(brokenCitationsOf(page)).toEqual([]);
  });

  it.each(CITING_PAGES)('%s: cites tests, and each one in the form that is checked', (page) => {
    const cited = [...proseOf(page).matchAll(CITATION)].length;
    const named = [...proseOf(page).matchAll(/`tests\/[^`]+\.ts`/g)].length;
    expect(cited).toBeGreaterThan(0);
    expect(cited).toBe(named);
  });

  it('would show a test that was renamed, and a case that is gone', () => {
    const source = "it('refuses %s', async () => {});\nconst rows = [['a case', 401]];";
    expect(hasTest(source, 'refuses %s')).toBe(true);
    expect(hasTest(source, 'refuses')).toBe(false);
    expect(hasTest(source, 'a case')).toBe(false);
    expect(hasText(source, 'a case')).toBe(true);
    expect(hasText(source, 'a cas')).toBe(false);
  });
});
