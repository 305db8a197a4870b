import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** Every page: those at the root, all below docs/, and the reports beside the tools. Paths from the root. */
const PAGES = [
  ...readdirSync(ROOT),
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' }).map((path) => join('docs', path)),
  ...globSync('{deploy,examples,tests/*,lab/*}/*.md', { cwd: ROOT }),
].filter((path) => path.endsWith('.md'));

/** The pages that cite tests for their statements. */
const CITING_PAGES = ['SECURITY.md', 'docs/evidence/rfc-conformance.md'];

/** `file` › "name", or `file` › "name" › "case". */
const CITATION = /`((?:tests|lab)\/[^`]+)` › "([^"]+)"(?: › "([^"]+)")?/g;

const textOf = (path: string) => readFileSync(join(ROOT, path), 'utf8');

/** A page without its code blocks, which may contain links for other places. */
const proseOf = (page: string) => textOf(page).replace(/^```[\s\S]*?^```/gm, '');

/** The anchors of a page on GitHub. */
function anchorsOf(page: string): readonly string[] {
  const seen = new Map<string, number>();
  const set = [...page.matchAll(/<a id="([^"]+)">/g)].map(([, id = '']) => id);
  const made = [...page.matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = '']) => {
    const text = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
    const anchor = text.replace(/[^\p{L}\p{N}\p{M}_ -]/gu, '').replaceAll(' ', '-');
    const count = seen.get(anchor) ?? 0;
    seen.set(anchor, count + 1);
    return count === 0 ? anchor : `${anchor}-${count}`;
  });
  return [...set, ...made];
}

/** The links of a page that lead to no file, or to no heading. Links to the outside are not followed. */
function brokenLinksOf(path: string, prose: string): readonly string[] {
  const links = prose.replace(/`[^`]*`/g, '').matchAll(/\]\(([^)\s]+)\)/g);
  return [...links]
    .map(([, link = '']) => link)
    .filter((link) => !/^(?:https?|mailto):/.test(link))
    .filter((link) => {
      const [file = '', anchor] = decodeURI(link).split('#');
      const target = file === '' ? path : join(dirname(path), file);
      if (!existsSync(join(ROOT, target))) return true;
      return anchor !== undefined && target.endsWith('.md') && !anchorsOf(proseOf(target)).includes(anchor);
    });
}

/** The files of this repository that a page names in backticks and that do not exist. */
function missingFilesOf(page: string): readonly string[] {
  return [...proseOf(page).matchAll(/`((?:adapters|application|config|docs|domain|lab|tests)\/[\w./-]*(?:\/|\.\w+))`/g)]
    .map(([, path = '']) => path)
    .filter((path) => !existsSync(join(ROOT, path)));
}

/** Whether a test file has a test or a suite with this name. */
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
  it.each(PAGES)('%s: links to files and headings that exist', (page) => {
    expect(brokenLinksOf(page, proseOf(page))).toEqual([]);
  });

  it('would report a link to a missing file, and to a missing heading', () => {
    const good = '[page](docs/glossary.md#glossary) [heading](#run-it)';
    const bad = ['docs/missing.md', 'docs/glossary.md#missing', '#missing'];
    const text = `${good} ${bad.map((link) => `[text](${link})`).join(' ')}`;
    expect(brokenLinksOf('README.md', text)).toEqual(bad);
  });

  it.each(PAGES)('%s: every file that is named exists', (page) => {
    expect(missingFilesOf(page)).toEqual([]);
  });

  it.each(PAGES)('%s: every test that is cited exists', (page) => {
    expect(brokenCitationsOf(page)).toEqual([]);
  });

  it.each(CITING_PAGES)('%s: cites tests, and each one in the form that is checked', (page) => {
    const cited = [...proseOf(page).matchAll(CITATION)].length;
    const named = [...proseOf(page).matchAll(/`(?:tests|lab)\/[^`]+\.ts`/g)].length;
    expect(cited).toBeGreaterThan(0);
    expect(cited).toBe(named);
  });
});
