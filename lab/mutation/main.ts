import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { generateKeyPool, KEY_POOL_VARIABLE } from '../../tests/support/pooled-key-factory.ts';
import { TestDatabaseBroker } from '../../tests/support/test-database-broker.ts';
import { say } from '../bench/report.ts';
import { selectAreas } from './areas.ts';
import { mutationTable, type Report, readSurvivors, sampleOf, scoreOf } from './report.ts';

// npm run mutation [-- [--concurrency N] [--share N] FOLDER|FILE...]: changes the code of each area (areas.ts) in many
// small ways and runs the tests of the area for each change. Fails if they notice fewer than the area asks for.
// README.md has the figures, and why each change that is not noticed does not matter.

const FOLDER = fileURLToPath(new URL('./', import.meta.url));
const ROOT = fileURLToPath(new URL('../../', import.meta.url));

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { concurrency: { type: 'string', default: '2' }, share: { type: 'string', default: '1' } },
});
const areas = selectAreas(positionals);

const keys = await mkdtemp(join(tmpdir(), 'mutation-'));
const pool = join(keys, 'keys.json');
await writeFile(pool, JSON.stringify(generateKeyPool().map((key) => key.toString('base64'))), { mode: 0o600 });
const database = new TestDatabaseBroker();
await database.listen();
const lines: string[] = [];
for (const { paths, tests, mutate, scoreMin } of areas) {
  const begin = performance.now();
  const report = await runStryker(mutate, tests);
  const seconds = Math.round((performance.now() - begin) / 1000);
  const score = scoreOf(report);
  if (score < scoreMin) process.exitCode = 1;
  lines.push(mutationTable(report), ...readSurvivors(report));
  lines.push(
    `${paths.join(', ')}: ${score.toFixed(1)} % of the changes are noticed; at least ${scoreMin} % are asked for. ${seconds} s`,
  );
}
await database.close();
await rm(keys, { recursive: true });
for (const line of lines) say(line);

async function runStryker(mutate: readonly string[], tests: readonly string[]): Promise<Report> {
  const stryker = fileURLToPath(import.meta.resolve('../node_modules/@stryker-mutator/core/bin/stryker.js'));
  const options = ['--mutate', mutate.join(','), '--concurrency', values.concurrency];
  const child = spawn(process.execPath, [stryker, 'run', 'lab/mutation/stryker.config.mjs', ...options], {
    cwd: ROOT,
    env: { ...process.env, [KEY_POOL_VARIABLE]: pool, MUTATION_TESTS: tests.join(','), MUTATION_SHARE: values.share },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`Stryker exited with ${code}`);
  const report: Report = JSON.parse(await readFile(join(FOLDER, 'report/mutation.json'), 'utf8'));
  return sampleOf(report, Number(values.share));
}
