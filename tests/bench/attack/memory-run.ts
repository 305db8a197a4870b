import { setTimeout as delay } from 'node:timers/promises';
import { type Candidate, startInMemory } from '../candidates.ts';
import { MemoryLog } from '../process-tree.ts';
import { hashedSecret, RECOMMENDED_COST, registrations } from '../registrations.ts';
import { figure, say } from '../report.ts';
import { runFlood } from './attack-drivers.ts';
import { FLOODS, type FloodName } from './floods.ts';
import { MemoryGroup } from './memory-group.ts';
import type { MemoryResult } from './memory-report.ts';

/** Always two workers, so that the figures of machines with more cores can be compared. */
const WORKERS = '2';
const KNOWN_CLIENTS = 20;

/** Milliseconds from the start until the memory counts as idle. */
const SETTLE_MS = 1_000;
const SAMPLE_EVERY_MS = 50;

/** Runs each flood against a new service and measures the memory of all its processes. */
export async function measureMemory(seconds: number, opened: AsyncDisposableStack): Promise<readonly MemoryResult[]> {
  const results: MemoryResult[] = [];
  for (const flood of Object.keys(FLOODS) as FloodName[]) {
    say(`memory: ${flood}, ${seconds} s …`);
    const result = await measureFlood(flood, seconds, opened);
    say(`  highest ${figure(result.highestMb)} MB, cgroup ${figure(result.groupPeakMb)} MB`);
    results.push(result);
  }
  return results;
}

/** Starts a service, runs one flood against it and stops it. */
export async function measureFlood(
  flood: FloodName,
  seconds: number,
  opened: AsyncDisposableStack,
): Promise<MemoryResult> {
  await using running = new AsyncDisposableStack();
  opened.defer(() => running.disposeAsync());
  const group = await MemoryGroup.create(`bench-${process.pid}`);
  if (group !== undefined) running.use(group);
  const clients = registrations('client', KNOWN_CLIENTS, await hashedSecret(RECOMMENDED_COST));
  const service: Candidate = await startInMemory('memory', clients, running, { environment: { WORKERS }, group });
  await delay(SETTLE_MS);
  const idleMb = await service.tree.memoryMb();
  const processes = await service.tree.pids();
  const log = new MemoryLog(service.tree, SAMPLE_EVERY_MS);
  const port = Number(new URL(service.tokenUrls[0] ?? '').port);
  const answers = await runFlood({ port, flood, seconds });
  const samples = (await log.end()).map(({ megabytes }) => megabytes);
  return {
    flood,
    connections: FLOODS[flood].connections,
    idleMb,
    highestMb: samples.length === 0 ? undefined : Math.max(...samples),
    atTheEndMb: samples.at(-1),
    groupPeakMb: await group?.peakMb(),
    processesKept: String(await service.tree.pids()) === String(processes),
    answers,
  };
}
