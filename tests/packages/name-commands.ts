import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const DIST = fileURLToPath(new URL('../../dist/', import.meta.url));

/** A command as messages and help pages name it: `npm run --silent clients -- list`, `npm start`. */
const NPM_COMMAND = /npm (?:run (?:--silent )?(clients|keys|doctor|migrate|demo|health)\b|start\b)(?: --(?![\w-]))?/g;

/** The same as a command of the package: `ccauth clients list`, `ccauth serve`. */
function nameCommands(text: string): string {
  return text.replace(NPM_COMMAND, (_command, program = 'serve') => `ccauth ${program}`);
}

/** A page of the documentation, as messages name it. */
const PAGE = /\bdocs\/(?=[\w-]+\.md\b)/g;

/**
 * With the URL where the documentation of this version is, the pages are named by it: an image has no folder `docs`.
 */
function namePages(text: string, url: string | undefined): string {
  return url ? text.replace(PAGE, `${url.replace(/\/$/, '')}/`) : text;
}

/** A package and an image have no npm scripts. Lines keep their numbers, so the maps still fit. */
if (import.meta.main) {
  for (const file of readdirSync(DIST, { recursive: true, encoding: 'utf8' })) {
    if (!/\.(js|html)$/.test(file)) continue;
    const text = readFileSync(DIST + file, 'utf8');
    const named = namePages(nameCommands(text), process.env['DOCS_URL']);
    if (named !== text) writeFileSync(DIST + file, named);
  }
}
