import { renameSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { fileURLToPath } from 'node:url';

// Preloaded with `--import` into a process of the service and, through its arguments, into the workers. At each SIGUSR2 it
// writes the production files whose functions were called since the last one to a file in COVERAGE_FOLDER.

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const PRODUCTION = /^(domain|application|adapters|config)\//;
const folder = process.env['COVERAGE_FOLDER'];
if (folder === undefined) throw new Error('COVERAGE_FOLDER: must be set');

const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });

let count = 0;
process.on('SIGUSR2', async () => {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const files = result
    .filter(({ url }) => url.startsWith('file://'))
    .map(({ url, functions }) => ({ file: fileURLToPath(url).slice(ROOT.length), functions }))
    // The first entry has no name and stands for the whole module.
    .filter(({ file, functions }) => PRODUCTION.test(file) && functions.some(wasCalled))
    .map(({ file }) => file);
  count += 1;
  const target = `${folder}/${process.pid}-${count}.json`;
  writeFileSync(`${target}.part`, JSON.stringify(files));
  renameSync(`${target}.part`, target);
});

function wasCalled({
  functionName,
  ranges,
}: {
  functionName: string;
  ranges: { startOffset: number; count: number }[];
}) {
  const [range] = ranges;
  const isModule = functionName === '' && range?.startOffset === 0;
  return !isModule && (range?.count ?? 0) > 0;
}
