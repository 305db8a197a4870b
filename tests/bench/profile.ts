import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startInMemory } from './candidates.ts';
import { type CpuProfile, PARTS, type Part, timeByNode, timeByPart } from './cpu-profile.ts';
import { writePicture } from './drawing/write-picture.ts';
import { findLoadGenerator } from './load-generator.ts';
import { runLoad, STANDARD_LOAD } from './measurement.ts';
import { profileChart } from './profile-chart.ts';
import { hashedSecret, registrations, temporaryFolder } from './registrations.ts';
import { figure, machineLines, markdownList, markdownTable, say } from './report.ts';

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
    await writePicture(
      'flame-graph.svg',
      profileChart({ profiles: timed, times, tokens: load.tokens, seconds: options.seconds }),
    );
  }
  return load.failures === 0 && workers.length > 0;
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
