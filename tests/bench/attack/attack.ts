import { availableParallelism } from 'node:os';
import { startBenchDatabaseServer } from '../bench-database.ts';
import { type Candidate, type Store, startInMemory, startOnPostgres } from '../candidates.ts';
import { MemoryLog } from '../process-tree.ts';
import { hashedSecret, RECOMMENDED_COST, registrations, SECRET } from '../registrations.ts';
import { machineLines, markdownList, say } from '../report.ts';
import {
  type AttackJob,
  type AttackResult,
  type LegitimateJob,
  runAttackers,
  runLegitimateClients,
} from './attack-drivers.ts';
import { attackReport, attackVerdicts } from './attack-report.ts';
import { memoryReport, memoryVerdicts } from './memory-report.ts';
import { measureMemory } from './memory-run.ts';
import { strongReport, strongVerdicts } from './strong-report.ts';
import { measureStrongAttacks } from './strong-run.ts';

export interface AttackOptions {
  /** Without the attack, and then again during it. */
  readonly seconds: number;
  /** Requests per second of all legitimate clients together. */
  readonly rate: number;
  /** Connections that send their header section slowly. */
  readonly lorises: number;
  readonly stores: readonly Store[];
  readonly parts: readonly AttackPart[];
}

/** `mixed`: many kinds of requests at once. `strong`: one aim at a time. `memory`: as much memory as possible. */
export type AttackPart = 'mixed' | 'strong' | 'memory';

const EXPENSIVE_COST = 14;
const KNOWN_CLIENTS = 20;
const NEW_CLIENT_EVERY_SECONDS = 2;
const ATTACKING_CONNECTIONS = 64;
const MEMORY_EVERY_MS = 1_000;
const RETRY_MS_MAX = 250;
const MEMORY_SECONDS = 8;

/** The attack outlasts the measurement, so that every measured request is sent during it. */
const SURPLUS_SECONDS = 2;

/** `npm run bench -- attack`: clients, and the memory of the service, during attacks. Returns whether it met all requirements. */
export async function runAttack(options: AttackOptions, opened: AsyncDisposableStack): Promise<boolean> {
  process.stdout.write(`${markdownList(machineLines())}\n`);
  const run = { mixed: runMixed, strong: runStrong, memory: runMemory };
  let passed = true;
  for (const part of options.parts) passed = (await run[part](options, opened)) && passed;
  return passed;
}

async function runMixed(options: AttackOptions, opened: AsyncDisposableStack): Promise<boolean> {
  let passed = true;
  for (const store of options.stores) {
    await using running = new AsyncDisposableStack();
    opened.defer(() => running.disposeAsync());
    say(`${store}: ${options.seconds} s without and ${options.seconds} s during the attack …`);
    const result = await measureAttack(await startTarget(store, options, running), options);
    process.stdout.write(`\n${attackReport(`Repository: ${store}`, result)}\n`);
    passed &&= attackVerdicts(result).every((verdict) => verdict.passed);
  }
  return passed;
}

async function runStrong(options: AttackOptions, opened: AsyncDisposableStack): Promise<boolean> {
  const result = await measureStrongAttacks(options, opened);
  process.stdout.write(`\n${strongReport(result)}\n`);
  return strongVerdicts(result).every((verdict) => verdict.passed);
}

async function runMemory(_: AttackOptions, opened: AsyncDisposableStack): Promise<boolean> {
  const results = await measureMemory(MEMORY_SECONDS, opened);
  process.stdout.write(`\n${memoryReport(results)}\n`);
  return memoryVerdicts(results).every((verdict) => verdict.passed);
}

/** Legitimate clients at a steady rate, first without and then during the attack. */
async function measureAttack({ tokenUrls, tree }: Candidate, options: AttackOptions): Promise<AttackResult> {
  const [tokenUrl = ''] = tokenUrls;
  const clients = legitimateJob(tokenUrl, options);
  const attackers: AttackJob = {
    port: Number(new URL(tokenUrl).port),
    seconds: options.seconds + SURPLUS_SECONDS,
    connections: ATTACKING_CONNECTIONS,
    lorises: options.lorises,
    knownClients: clients.clientIds,
    expensiveClient: 'expensive-1',
  };
  const [without] = await runLegitimateClients({ ...clients, newClientIds: [] }, async () => {});
  const before = await tree.memoryMb();
  const memory = new MemoryLog(tree, MEMORY_EVERY_MS);
  const [during, answers] = await runLegitimateClients(clients, () => runAttackers(attackers));
  const samples = (await memory.end()).map(({ megabytes }) => megabytes);
  const highest = samples.length === 0 ? undefined : Math.max(...samples);
  return { without, during, attackers: answers, memory: { before, atTheEnd: samples.at(-1), highest } };
}

function legitimateJob(tokenUrl: string, { seconds, rate }: AttackOptions): LegitimateJob {
  // Enough connections that each worker process of the service gets some.
  const connections = Math.max(16, 2 * availableParallelism());
  return {
    tokenUrl,
    secret: SECRET,
    clientIds: clientIds('client', KNOWN_CLIENTS),
    ratePerSecond: rate,
    connections,
    // Until each client has used each connection, plus one second.
    warmUpSeconds: Math.ceil((KNOWN_CLIENTS * connections) / rate) + 1,
    seconds,
    newClientIds: clientIds('new', newClientCount(seconds)),
    newClientEverySeconds: NEW_CLIENT_EVERY_SECONDS,
    retryMsMax: RETRY_MS_MAX,
  };
}

/**
 * The service under attack. Only the table has a row with cost 14: with registrations in memory, which are all known at the
 * start, the service would hash at this cost for every refusal.
 */
async function startTarget(store: Store, { seconds }: AttackOptions, opened: AsyncDisposableStack): Promise<Candidate> {
  const stored = await hashedSecret(RECOMMENDED_COST);
  const known = registrations('client', KNOWN_CLIENTS, stored);
  const clients = [...known, ...registrations('new', newClientCount(seconds), stored)];
  if (store === 'memory') return startInMemory('memory', clients, opened);
  const expensive = registrations('expensive', 1, await hashedSecret(EXPENSIVE_COST));
  const database = await (await startBenchDatabaseServer(opened)).create();
  return startOnPostgres('PostgreSQL', database, [...clients, ...expensive], opened);
}

function newClientCount(seconds: number): number {
  return Math.max(1, Math.floor(seconds / NEW_CLIENT_EVERY_SECONDS));
}

function clientIds(prefix: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, n) => `${prefix}-${n + 1}`);
}
