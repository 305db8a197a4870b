import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { figure } from '../figures/figure.ts';
import { markdownList } from '../figures/markdown-list.ts';
import { findLoadGenerator } from '../load/find-load-generator.ts';
import { machineLines } from '../machine/machine-lines.ts';
import { say } from '../say.ts';
import { hashedSecret, registrations, SECRET, writeClientsFile } from '../servers/registrations.ts';
import { startServiceCandidate } from '../servers/service-candidate.ts';
import { temporaryFolder } from '../servers/temporary-folder.ts';
import { type CpuProfile, timeByPart } from './cpu-profile.ts';
import { profileReport } from './profile-report.ts';

export interface ProfileOptions {
  readonly seconds: number;
  /** Where the profiles are kept, for a flame graph; in a temporary folder where there is none. */
  readonly folder: string | undefined;
}

const CONNECTIONS = 16;
const CLIENTS = 16;

/** Milliseconds between the end of the load and that of the service. */
const END_MS = 300;

/** `npm run bench -- profile`: where the time of a token goes, in the workers of the service in memory. */
export async function runProfile(options: ProfileOptions, opened: AsyncDisposableStack): Promise<boolean> {
  const generator = await findLoadGenerator();
  const folder = options.folder ?? (await temporaryFolder(opened));
  const clients = registrations('client', CLIENTS, await hashedSecret(4));
  const file = await writeClientsFile(await temporaryFolder(opened), 'clients.json', clients);
  const flags = ['--cpu-prof', `--cpu-prof-dir=${folder}`];
  await using service = new AsyncDisposableStack();
  const environment = { CLIENT_REPOSITORY: 'memory', CLIENTS_FILE: file };
  const { tokenUrl } = await startServiceCandidate('memory', environment, service, flags);
  const job = { tokenUrl, connections: CONNECTIONS, clients: { count: CLIENTS, step: 1, secret: SECRET } };
  await generator.run({ ...job, seconds: 2 });
  const load = await generator.run({ ...job, seconds: options.seconds });
  await service.disposeAsync();

  const names = (await readdir(folder)).filter((name) => name.endsWith('.cpuprofile'));
  const profiles = await Promise.all(
    names.map(async (name): Promise<CpuProfile> => JSON.parse(await readFile(join(folder, name), 'utf8'))),
  );
  const times = profiles.map((profile) => timeByPart(profile, options.seconds * 1e6, END_MS * 1e3));
  // With several processes, the first is not among those that issue tokens.
  const workers = times.filter((time) => time.has('RSA signature'));
  const lines = [
    ...machineLines(),
    `Load: ${generator.name}, ${CONNECTIONS} connections, ${options.seconds} s; ${figure(load.tokensPerSecond)} tokens/s while profiled`,
    `Processes that sign: ${workers.length}`,
  ];
  process.stdout.write(`${markdownList(lines)}\n\n${profileReport(workers, load.tokens)}\n`);
  if (options.folder !== undefined)
    say(`The profiles are in ${folder}; a viewer of .cpuprofile files draws the flame graph.`);
  return load.failures === 0 && workers.length > 0;
}
