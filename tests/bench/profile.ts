import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startInMemory } from './candidates.ts';
import { type CpuProfile, PARTS, type Part, timeByNode, timeByPart } from './cpu-profile.ts';
import { flameGraph } from './drawing/flame-graph.ts';
import { flameTree } from './drawing/flame-tree.ts';
import { writePicture } from './drawing/write-picture.ts';
import { findLoadGenerator } from './load-generator.ts';
import { runLoad, STANDARD_LOAD } from './measurement.ts';
import { hashedSecret, registrations, temporaryFolder } from './registrations.ts';
import { figure, machineLines, machineText, markdownList, markdownTable, say } from './report.ts';

export interface ProfileOptions {
  readonly seconds: number;
  /** Where the profiles are kept, for a flame graph; otherwise they are deleted. */
  readonly folder: string | undefined;
  /** Whether docs/images/flame-graph.svg is drawn again. */
  readonly write: boolean;
}

/** The cheapest BCrypt cost: hashing happens only during the warm-up. */
const COST = 4;

/** Milliseconds between the end of the load and the end of the service. */
const END_MS = 300;

/** Frames with a smaller share of the time are not drawn. */
const LEAST_SHARE = 0.005;

const ROOT = new URL('../../', import.meta.url).href;

/** `npm run bench -- profile`: CPU time of a token by part, in the workers of the service in memory. */
export async function runProfile(options: ProfileOptions, opened: AsyncDisposableStack): Promise<boolean> {
  const generator = await findLoadGenerator();
  const folder = options.folder ?? (await temporaryFolder(opened));
  const clients = registrations('client', STANDARD_LOAD.clients.count, await hashedSecret(COST));
  const flags = ['--cpu-prof', `--cpu-prof-dir=${folder}`];
  await using service = new AsyncDisposableStack();
  const candidate = await startInMemory('memory', clients, service, { flags });
  await runLoad(candidate, generator, { ...STANDARD_LOAD, seconds: 2 });
  const load = await runLoad(candidate, generator, { ...STANDARD_LOAD, seconds: options.seconds });
  await service.disposeAsync();

  const names = (await readdir(folder)).filter((name) => name.endsWith('.cpuprofile'));
  const profiles = await Promise.all(
    names.map(async (name): Promise<CpuProfile> => JSON.parse(await readFile(join(folder, name), 'utf8'))),
  );
  const [windowUs, beforeEndUs] = [options.seconds * 1e6, END_MS * 1e3];
  // The primary process signs nothing.
  const workers = profiles
    .map((profile) => ({ profile, parts: timeByPart(profile, windowUs, beforeEndUs) }))
    .filter(({ parts }) => parts.has('RSA signature'));
  const times = totals(workers.map(({ parts }) => parts));
  const lines = [
    ...machineLines(),
    `Load: ${generator.name}, ${STANDARD_LOAD.connections} connections, ${options.seconds} s; ${figure(load.tokensPerSecond)} tokens/s while profiled`,
    `Processes that sign: ${workers.length}`,
  ];
  process.stdout.write(`${markdownList(lines)}\n\n${profileReport(times, load.tokens)}\n`);
  if (options.folder !== undefined)
    say(`The profiles are in ${folder}. Any viewer of .cpuprofile files draws the flame graph.`);
  if (options.write) {
    const timed = workers.map(({ profile }) => ({ profile, times: timeByNode(profile, windowUs, beforeEndUs) }));
    const perToken = [...times.values()].reduce((sum, time) => sum + time, 0) / load.tokens;
    await writePicture(
      'flame-graph.svg',
      flameGraph({
        title: 'Where the CPU time of a token goes',
        subtitle: subtitle(times, perToken),
        description: `${subtitle(times, perToken)} Each frame is as wide as its share of the time, and stands on the function that called it.`,
        tree: flameTree(timed, LEAST_SHARE, ROOT),
        times,
        tokens: load.tokens,
        notes: [
          `${workers.length} workers, merged; registrations in memory, cached secrets. Frames below ${LEAST_SHARE * 100} % are not drawn. Open the file by itself for tooltips.`,
          `${machineText()}. Drawn by: npm run bench -- profile --seconds ${options.seconds} --write`,
        ],
      }),
    );
  }
  return load.failures === 0 && workers.length > 0;
}

function subtitle(times: ReadonlyMap<Part, number>, perToken: number): string {
  const all = [...times.values()].reduce((sum, time) => sum + time, 0);
  const share = (part: Part) => `${figure((100 * (times.get(part) ?? 0)) / all)} %`;
  return `A token costs ${figure(perToken)} µs of a core: ${share('RSA signature')} is its RSA signature, ${share('this service')} the code of this service.`;
}

/** The sum over all processes, in the order of PARTS. */
function totals(times: readonly ReadonlyMap<Part, number>[]): ReadonlyMap<Part, number> {
  const sums = PARTS.map((part) => [part, times.reduce((sum, time) => sum + (time.get(part) ?? 0), 0)] as const);
  return new Map(sums.filter(([, time]) => time > 0));
}

/** The share of each part in the workers' busy time, and microseconds per token. */
function profileReport(times: ReadonlyMap<Part, number>, tokens: number): string {
  const all = [...times.values()].reduce((sum, time) => sum + time, 0);
  const row = (name: string, time: number) => [name, `${figure((100 * time) / all, 1)} %`, figure(time / tokens, 1)];
  const rows = PARTS.map((part) => row(part, times.get(part) ?? 0));
  return markdownTable(['part', 'share', 'µs/token'], [...rows, row('all', all)]);
}
