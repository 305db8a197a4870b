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

// npm run mutation [-- FOLDER|FILE...]: changes the code of domain/ and application/ in many small ways and runs the tests of
// these folders for each change. Fails if they notice less than nine of ten. The first run installs Stryker, so it needs the
// network. docs/mutation.md has the figures, and why each change that is not noticed does not matter.

const FOLDER = fileURLToPath(new URL('./', import.meta.url));
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const SCORE_MIN = 90;

const chosen = process.argv.slice(2);
const patterns = (chosen.length > 0 ? chosen : ['domain', 'application']).map((path) =>
  path.endsWith('.ts') ? path : `${path}/**/*.ts`,
);

await runProcess('npm', ['ci', '--no-audit', '--no-fund'], { cwd: FOLDER });
const keys = await mkdtemp(join(tmpdir(), 'mutation-'));
const pool = join(keys, 'keys.json');
await writeFile(pool, JSON.stringify(generateKeyPool().map((key) => key.toString('base64'))), { mode: 0o600 });
const begin = performance.now();
await mutate(patterns);
say(`${Math.round((performance.now() - begin) / 1000)} s`);
await rm(keys, { recursive: true });

const report: Report = JSON.parse(await readFile(join(FOLDER, 'report/mutation.json'), 'utf8'));
say(mutationTable(report));
for (const survivor of readSurvivors(report)) say(survivor);
const score = scoreOf(report);
say(`${score.toFixed(1)} % of the changes are noticed; at least ${SCORE_MIN} % are asked for.`);
process.exitCode = score >= SCORE_MIN ? 0 : 1;

async function mutate(files: readonly string[]): Promise<void> {
  const stryker = fileURLToPath(import.meta.resolve('./node_modules/@stryker-mutator/core/bin/stryker.js'));
  const args = [stryker, 'run', 'tests/mutation/stryker.config.mjs', '--mutate', files.join(',')];
  const child = spawn(process.execPath, args, {
    cwd: ROOT,
    env: { ...process.env, [KEY_POOL_VARIABLE]: pool },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`Stryker exited with ${code}`);
}
