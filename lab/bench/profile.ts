import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startInMemory } from './candidates.ts';
import type { Options } from './command-line.ts';
import { findLoadGenerator } from './load-generator.ts';
import { runLoad, STANDARD_LOAD } from './measurement.ts';
import { hashedSecret, registrations, temporaryFolder } from './registrations.ts';
import { conditions, figure, print, say, sum, table } from './report.ts';

/** The part of V8's .cpuprofile format that is used here. Times in microseconds. */
export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string };
  }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/** The cheapest BCrypt cost: hashing happens only during the warm-up. */
const COST = 4;

/** Milliseconds between the end of the load and the end of the service. */
const END_MS = 300;

const SIGNATURE = 'RSA signature';

/** `npm run bench -- profile`: CPU time of a token by part, in the workers of the service in memory. */
export async function runProfile(
  { folder: kept, seconds }: Options<'profile'>,
  opened: AsyncDisposableStack,
): Promise<boolean> {
  const generator = await findLoadGenerator();
  const folder = kept === '' ? await temporaryFolder(opened) : kept;
  const clients = registrations('client', STANDARD_LOAD.clients.count, await hashedSecret(COST));
  const flags = ['--cpu-prof', `--cpu-prof-dir=${folder}`];
  await using service = new AsyncDisposableStack();
  const candidate = await startInMemory('memory', clients, service, { flags });
  await runLoad(candidate, generator, { ...STANDARD_LOAD, seconds: 2 });
  const { tokens, tokensPerSecond, failures } = await runLoad(candidate, generator, { ...STANDARD_LOAD, seconds });
  await service.disposeAsync();

  const names = (await readdir(folder)).filter((name) => name.endsWith('.cpuprofile'));
  const profiles = await Promise.all(
    names.map(async (name): Promise<CpuProfile> => JSON.parse(await readFile(join(folder, name), 'utf8'))),
  );
  // The primary process signs nothing.
  const workers = profiles
    .map((profile) => timeByPart(profile, seconds * 1e6, END_MS * 1e3))
    .filter((parts) => parts.has(SIGNATURE));
  const parts = Map.groupBy(
    workers.flatMap((times) => [...times]),
    ([part]) => part,
  );
  const rows = [...parts].map(([part, times]) => ({ part, time: sum(times.map(([, time]) => time)) }));
  const all = sum(rows.map(({ time }) => time));
  print(
    conditions(
      `Load: ${generator.name}, ${STANDARD_LOAD.connections} connections, ${seconds} s; ${figure(tokensPerSecond)} tokens/s while profiled`,
      `Processes that sign: ${workers.length}`,
    ),
  );
  const sorted = rows.toSorted((one, other) => other.time - one.time);
  print(
    table(
      [...sorted, { part: 'all', time: all }],
      [
        ['part', ({ part }) => part],
        ['share', ({ time }) => `${figure((100 * time) / all, 1)} %`],
        ['µs/token', ({ time }) => time / tokens, 1],
      ],
    ),
  );
  if (kept !== '') say(`The profiles are in ${kept}. Any viewer of .cpuprofile files, such as DevTools, opens them.`);
  return failures === 0 && workers.length > 0;
}

/** Microseconds of each part in a window of `windowUs` that ends `beforeEndUs` before the end. Idle time counts for no part. */
export function timeByPart(
  { nodes, samples, timeDeltas }: CpuProfile,
  windowUs: number,
  beforeEndUs: number,
): ReadonlyMap<string, number> {
  const parts = new Map(nodes.map(({ id, callFrame }) => [id, partOf(callFrame)]));
  const times = new Map<string, number>();
  let left = sum(timeDeltas);
  for (const [position, node] of samples.entries()) {
    const delta = timeDeltas[position] ?? 0;
    left -= delta;
    const part = parts.get(node);
    if (part === undefined || left < beforeEndUs || left > beforeEndUs + windowUs) continue;
    times.set(part, (times.get(part) ?? 0) + delta);
  }
  return times;
}

/** The package, or what else a function is part of; undefined if the process is idle. */
function partOf({ functionName, url }: CpuProfile['nodes'][number]['callFrame']): string | undefined {
  if (functionName === '(idle)') return undefined;
  if (functionName === '(garbage collector)') return 'garbage collection';
  if (functionName === 'signOneShot') return SIGNATURE;
  if (url.includes('internal/crypto') || url === 'node:crypto') return 'other crypto: digests, ids';
  if (url === '') return 'system calls and native code';
  if (url.startsWith('node:')) return 'Node.js: HTTP, streams, event loop';
  return /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? 'this service';
}
