import { setTimeout as delay } from 'node:timers/promises';
import { migrateDatabase } from '../../../adapters/postgres/migrate-database.ts';
import { KeptConnection } from '../../support/kept-connection.ts';
import { startBenchDatabaseServer } from '../bench-database.ts';
import { type Candidate, type ServiceOptions, startInMemory, startOnPostgres } from '../candidates.ts';
import { MemoryLog } from '../process-tree.ts';
import { hashedSecret, RECOMMENDED_COST, type Registration, registrations } from '../registrations.ts';
import { figure, say } from '../report.ts';
import { runFlood } from './attack-drivers.ts';
import { type AttackedMethod, AttackedMethods } from './attacked-methods.ts';
import { FLOODS, type FloodName, floodOf } from './floods.ts';
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
    const result = await measureFlood(flood, seconds, methodsOf(flood), opened);
    say(`  highest ${figure(result.highestMb)} MB, cgroup ${figure(result.groupPeakMb)} MB`);
    results.push(result);
  }
  return results;
}

/** What a flood needs. */
export function methodsOf(flood: FloodName): readonly AttackedMethod[] {
  const { method } = floodOf(flood);
  return method === undefined ? [] : [method];
}

/**
 * Starts a service with these methods, runs one flood against it and stops it.
 *
 * @param locked a table in PostgreSQL whose look-ups wait during the flood. Without it, registrations are in memory.
 */
export async function measureFlood(
  flood: FloodName,
  seconds: number,
  methods: readonly AttackedMethod[],
  opened: AsyncDisposableStack,
  locked?: string,
): Promise<MemoryResult> {
  await using running = new AsyncDisposableStack();
  opened.defer(() => running.disposeAsync());
  const group = await MemoryGroup.create(`bench-${process.pid}`);
  if (group !== undefined) running.use(group);
  const clients = registrations('client', KNOWN_CLIENTS, await hashedSecret(RECOMMENDED_COST));
  const environment = { WORKERS, ...(await AttackedMethods.create(methods, running)).environment };
  const options = { environment, group };
  const service: Candidate =
    locked === undefined
      ? await startInMemory('memory', clients, running, options)
      : await startBesideLock(locked, clients, running, options);
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

/** On PostgreSQL, with a table that nobody else can read. */
async function startBesideLock(
  table: string,
  clients: readonly Registration[],
  running: AsyncDisposableStack,
  options: ServiceOptions,
): Promise<Candidate> {
  const database = await (await startBenchDatabaseServer(running)).create();
  await migrateDatabase(database.url);
  const environment = { ...options.environment, DATABASE_DEADLINE_MS: '10000' };
  const service = await startOnPostgres('PostgreSQL', database, clients, running, { ...options, environment });
  const lock = new KeptConnection(database.url);
  running.defer(() => lock.close());
  await lock.query('begin');
  await lock.query(`lock table ${table} in access exclusive mode`);
  return service;
}
