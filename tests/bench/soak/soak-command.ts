import { figure } from '../figures/figure.ts';
import { markdownList } from '../figures/markdown-list.ts';
import { findLoadGenerator } from '../load/find-load-generator.ts';
import { machineLines } from '../machine/machine-lines.ts';
import { MemoryLog } from '../machine/memory-log.ts';
import { say } from '../say.ts';
import { hashedSecret, registrations, SECRET, writeClientsFile } from '../servers/registrations.ts';
import { startServiceCandidate } from '../servers/service-candidate.ts';
import { temporaryFolder } from '../servers/temporary-folder.ts';
import { memoryTrend } from './memory-trend.ts';

export interface SoakOptions {
  readonly minutes: number;
  /** Of the same load, before memory is looked at. */
  readonly warmUpSeconds: number;
  readonly sampleEverySeconds: number;
}

const CONNECTIONS = 16;
const CLIENTS = 16;
const COST = 10;

/** `npm run bench -- soak`: memory under steady load. Answers whether it stays where it is. */
export async function runSoak(options: SoakOptions, opened: AsyncDisposableStack): Promise<boolean> {
  const generator = await findLoadGenerator();
  const clients = registrations('client', CLIENTS, await hashedSecret(COST));
  const file = await writeClientsFile(await temporaryFolder(opened), 'clients.json', clients);
  const environment = { CLIENT_REPOSITORY: 'memory', CLIENTS_FILE: file };
  const { tokenUrl, tree } = await startServiceCandidate('memory', environment, opened);
  const job = { tokenUrl, connections: CONNECTIONS, clients: { count: CLIENTS, step: 1, secret: SECRET } };

  say(`${options.warmUpSeconds} s of warm-up, then ${options.minutes} min …`);
  await generator.run({ ...job, seconds: options.warmUpSeconds });
  const log = new MemoryLog(tree, options.sampleEverySeconds * 1000);
  const load = await generator.run({ ...job, seconds: Math.ceil(options.minutes * 60) });
  const samples = await log.end();
  if (samples.length < 4) throw new Error('too few samples of memory: run for longer, on a system with /proc');

  const trend = memoryTrend(samples);
  const lines = [
    ...machineLines(),
    `Load: ${generator.name}, ${CONNECTIONS} connections, ${figure(options.minutes, 1)} min`,
    `Tokens: ${figure(load.tokens)}, ${figure(load.tokensPerSecond)}/s; failures: ${figure(load.failures)}`,
    `Memory, median of the first quarter: ${figure(trend.firstQuarter, 1)} MB`,
    `Memory, median of the last quarter: ${figure(trend.lastQuarter, 1)} MB`,
    `Slope: ${figure(trend.megabytesPerHour, 1)} MB/h over ${samples.length} samples`,
    `${trend.holds ? 'holds' : 'does not hold'}: memory stays where it is`,
  ];
  process.stdout.write(`${markdownList(lines)}\n`);
  return trend.holds && load.failures === 0;
}
