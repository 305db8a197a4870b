import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { remark } from 'remark';
import remarkValidateLinks from 'remark-validate-links';
import { engine } from 'unified-engine';
import { VFile } from 'vfile';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** Every page: those at the root, all below docs/, and the reports beside the tools. Paths from the root. */
const PAGES = [
  ...readdirSync(ROOT),
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' }).map((path) => join('docs', path)),
  ...globSync('{deploy,examples,tests/*}/*.md', { cwd: ROOT }),
].filter((path) => path.endsWith('.md'));

/** The pages that cite tests for their statements. */
const CITING_PAGES = ['SECURITY.md', 'docs/evidence/rfc-conformance.md'];

/** `file` › "name", or `file` › "name" › "case". */
const CITATION = /`(tests\/[^`]+)` › "([^"]+)"(?: › "([^"]+)")?/g;

const textOf = (path: string) => readFileSync(join(ROOT, path), 'utf8');

/** A page without its code blocks, which may contain links for other places. */
const proseOf = (page: string) => textOf(page).replace(/^```[\s\S]*?^```/gm, '');

/** What is wrong with the links between pages: files that are missing, and headings that are missing in them. */
async function brokenLinksOf(pages: readonly VFile[]): Promise<readonly string[]> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  await promisify(engine)({
    cwd: ROOT,
    files: [...pages],
    processor: remark(),
    // `false`: no remote repository is asked, and links to the outside are not followed.
    // @ts-expect-error The engine declares its plugins with options of type unknown, which no plugin accepts.
    plugins: [[remarkValidateLinks, { repository: false, root: ROOT }]],
    output: false,
    streamError: nowhere,
  });
  return pages.flatMap(({ path, messages }) => messages.map(({ line, reason }) => `${path}:${line} ${reason}`));
}

/** The files of this repository that a page names in backticks and that do not exist. */
function missingFilesOf(page: string): readonly string[] {
  return [...proseOf(page).matchAll(/`((?:adapters|application|config|docs|domain|tests)\/[\w./-]*(?:\/|\.\w+))`/g)]
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
  it('link to files and headings that exist', async () => {
    const pages = PAGES.map((path) => new VFile({ cwd: ROOT, path, value: textOf(path) }));
    expect(await brokenLinksOf(pages)).toEqual([]);
  });

  it('would report a link to a missing file, and one to a missing heading of another page', async () => {
    const value = '[file](docs/missing.md) [heading](docs/glossary.md#missing) [page](docs/glossary.md#glossary)';
    const broken = await brokenLinksOf([new VFile({ cwd: ROOT, path: 'planted.md', value })]);
    expect(broken).toEqual([expect.stringContaining('missing.md'), expect.stringContaining('#missing')]);
  });

  it.each(PAGES)('%s: every file that is named exists', (page) => {
    expect(missingFilesOf(page)).toEqual([]);
  });

  it.each(PAGES)('%s: every test that is cited exists', (page) => {
    expect(brokenCitationsOf(page)).toEqual([]);
  });

  it.each(CITING_PAGES)('%s: cites tests, and each one in the form that is checked', (page) => {
    const cited = [...proseOf(page).matchAll(CITATION)].length;
    const named = [...proseOf(page).matchAll(/`tests\/[^`]+\.ts`/g)].length;
    expect(cited).toBeGreaterThan(0);
    expect(cited).toBe(named);
  });

  it('would report a test that was renamed, and a case that was deleted', () => {
    const source = "it('refuses %s', async () => {});\nconst rows = [['a case', 401]];";
    expect(hasTest(source, 'refuses %s')).toBe(true);
    expect(hasTest(source, 'refuses')).toBe(false);
    expect(hasTest(source, 'a case')).toBe(false);
    expect(hasText(source, 'a case')).toBe(true);
    expect(hasText(source, 'a cas')).toBe(false);
  });
});
