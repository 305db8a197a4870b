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

/**
 * `npm run bench -- profile`: CPU time of a token by part of the service in memory. The event loop is profiled; its
 * threads are the rest.
 */
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
  const before = await candidate.tree.cpuMs();
  const { tokens, tokensPerSecond, failures } = await runLoad(candidate, generator, { ...STANDARD_LOAD, seconds });
  const all = 1_000 * ((await candidate.tree.cpuMs()) - before);
  await service.disposeAsync();

  const [name] = (await readdir(folder)).filter((file) => file.endsWith('.cpuprofile'));
  if (name === undefined) throw new Error(`the service wrote no profile to ${folder}`);
  const profile: CpuProfile = JSON.parse(await readFile(join(folder, name), 'utf8'));
  const parts = [...timeByPart(profile, seconds * 1e6, END_MS * 1e3)].map(([part, time]) => ({ part, time }));
  const threads = all - sum(parts.map(({ time }) => time));
  const rows = [...parts, { part: 'threads: signatures, garbage collection, BCrypt', time: Math.max(0, threads) }];
  print(
    conditions(
      `Load: ${generator.name}, ${STANDARD_LOAD.connections} connections, ${seconds} s; ${figure(tokensPerSecond)} tokens/s while profiled`,
    ),
  );
  print(
    table(
      [...rows.toSorted((one, other) => other.time - one.time), { part: 'all', time: all }],
      [
        ['part', ({ part }) => part],
        ['share', ({ time }) => `${figure((100 * time) / all, 1)} %`],
        ['µs/token', ({ time }) => time / tokens, 1],
      ],
    ),
  );
  if (kept !== '') say(`The profile is in ${kept}. Any viewer of .cpuprofile files, such as DevTools, opens it.`);
  return failures === 0 && parts.length > 0;
}

/**
 * Microseconds of each part in a window of `windowUs` that ends `beforeEndUs` before the end. Idle time counts for no
 * part.
 */
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
  if (url.includes('internal/crypto') || url === 'node:crypto') return 'other crypto: digests, ids';
  if (url === '') return 'system calls and native code';
  if (url.startsWith('node:')) return 'Node.js: HTTP, streams, event loop';
  return /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? 'this service';
}
