import { readFileSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The text of a page. The path starts at the project's root. */
export function readPage(path: string): string {
  return readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), 'utf8');
}

/** The code blocks of a language in a page, or in the part of it below a heading, in order. */
export function blocksOf(page: string, language: string, heading = ''): readonly string[] {
  const part = heading === '' ? page : (page.split(/^#+ /m).find((text) => text.startsWith(`${heading}\n`)) ?? '');
  const blocks = part.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'));
  return [...blocks].map(([, code = '']) => code.trim());
}

/**
 * The code of a page, by the names of its files: the fenced blocks whose first line is a comment with such a name, and
 * the files in examples/ to which the page links, by the text of the link.
 */
export function snippetsOf(page: string): ReadonlyMap<string, string> {
  const blocks = page.matchAll(/^```\w+\n(?:\/\/|#) ([\w./-]+\.\w+)\n(.*?)^```$/gms);
  const linked = page.matchAll(/\[([\w./-]+)\]\(\.\.\/(examples\/[\w./-]+)\)/g);
  return new Map([
    ...[...blocks].map(([, name = '', text = '']) => [name, text] as const),
    ...[...linked].map(([, name = '', path = '']) => [name, readPage(path)] as const),
  ]);
}

/** Writes files into a new folder, which is deleted with its content at the end. */
export async function writeFiles(
  folder: string,
  files: ReadonlyMap<string, string>,
): Promise<{ folder: string } & AsyncDisposable> {
  for (const [name, text] of files) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  return { folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
}
