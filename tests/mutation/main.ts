import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { say } from '../bench/report.ts';
import { runProcess } from '../bench/server-process.ts';
import { generateKeyPool, KEY_POOL_VARIABLE } from '../support/pooled-key-factory.ts';
import { mutationTable, type Report, readSurvivors, scoreOf } from './report.ts';

// npm run mutation [-- FOLDER[/FILE]]: changes the code of domain/ and application/ in many small ways and runs the tests of
// that folder for each change. Fails if they notice less than nine of ten. The first run installs Stryker, so it needs the
// network. docs/mutation.md has the figures, and why each change that is not noticed does not matter.

const FOLDER = fileURLToPath(new URL('./', import.meta.url));
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const SCORE_MIN = 90;

const [only] = process.argv.slice(2);
const folders = ['domain', 'application'].filter((folder) => only === undefined || only.startsWith(folder));

await runProcess('npm', ['ci', '--no-audit', '--no-fund'], { cwd: FOLDER });
const keys = await mkdtemp(join(tmpdir(), 'mutation-'));
const pool = join(keys, 'keys.json');
await writeFile(pool, JSON.stringify(generateKeyPool().map((key) => key.toString('base64'))), { mode: 0o600 });

const reports: Report[] = [];
for (const folder of folders) {
  const begin = performance.now();
  await mutate(folder, only?.endsWith('.ts') ? only : `${folder}/**/*.ts`);
  say(`${folder}: ${Math.round((performance.now() - begin) / 1000)} s`);
  reports.push(JSON.parse(await readFile(join(FOLDER, `report/${folder}.json`), 'utf8')));
}
await rm(keys, { recursive: true });

say(mutationTable(reports));
for (const survivor of readSurvivors(reports)) say(survivor);
const score = scoreOf(reports);
say(`${score.toFixed(1)} % of the changes are noticed; at least ${SCORE_MIN} % are asked for.`);
process.exitCode = score >= SCORE_MIN ? 0 : 1;

async function mutate(folder: string, files: string): Promise<void> {
  const stryker = fileURLToPath(import.meta.resolve('./node_modules/@stryker-mutator/core/bin/stryker.js'));
  const child = spawn(process.execPath, [stryker, 'run', 'tests/mutation/stryker.config.mjs', '--mutate', files], {
    cwd: ROOT,
    env: { ...process.env, MUTATED_FOLDER: folder, [KEY_POOL_VARIABLE]: pool },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`Stryker exited with ${code}`);
}
