import { setTimeout as delay } from 'node:timers/promises';
import { migrateDatabase } from '../../../adapters/postgres/migrate-database.ts';
import { CertificateAuthority } from '../../../tests/support/certificates.ts';
import { KeptConnection } from '../../../tests/support/kept-connection.ts';
import { methodSettings, type OptionalMethod, workloads } from '../assertion-clients.ts';
import { startBenchDatabaseServer } from '../bench-database.ts';
import { type Candidate, type ServiceOptions, startInMemory, startOnPostgres } from '../candidates.ts';
import { highestMb, sampleMemory } from '../process-tree.ts';
import { hashedSecret, RECOMMENDED_COST, type Registration, registrations } from '../registrations.ts';
import { figure, print, printVerdicts, say, table, type Verdict } from '../report.ts';
import type { ResponseCount } from './connection-flood.ts';
import { FLOODS, type FloodName, floodOf } from './floods.ts';
import { MemoryGroup } from './memory-group.ts';
import {
  countText,
  type LegitimateResult,
  legitimateFigures,
  legitimateJob,
  runFloods,
  runLegitimateClients,
} from './programs.ts';

/** Megabytes of the service. Figures are NaN where the machine does not tell them. */
export interface MemoryResult {
  readonly flood: FloodName;
  readonly idleMb: number;
  /** Resident memory (PSS), sampled. */
  readonly highestMb: number;
  readonly atTheEndMb: number;
  /** The peak of the control group, with page cache and socket buffers. */
  readonly groupPeakMb: number;
  /** Whether the process has not ended. */
  readonly processesKept: boolean;
  readonly answers: ResponseCount;
  /** Clients that were connected before the flood. */
  readonly clients: LegitimateResult;
}

const SECONDS = 8;

/** The memory of the service in the chart. The kernel ends a process that needs more. */
export const LIMIT_MB = 320;
const IDLE_CONNECTIONS: FloodName = 'idle connections, 2,000';

const KNOWN_CLIENTS = 5;
/** They stay connected: a new connection may be refused at the limit. */
const CLIENTS = { rate: 10, connections: 2, maxSockets: 1, newClientEverySeconds: 1, retryMsMax: 250 };

/** Milliseconds from the start until the memory counts as idle. */
const SETTLE_MS = 1_000;
const SAMPLE_EVERY_MS = 50;

/** Runs each flood against a new service and measures its memory. Returns whether it stays bounded. */
export async function runMemory(opened: AsyncDisposableStack): Promise<boolean> {
  const results: MemoryResult[] = [];
  for (const flood of Object.keys(FLOODS) as FloodName[]) {
    say(`memory: ${flood}, ${SECONDS} s …`);
    const result = await measureFlood(flood, SECONDS, methodsOf(flood), opened);
    say(`  highest ${figure(result.highestMb)} MB, cgroup ${figure(result.groupPeakMb)} MB`);
    results.push(result);
  }
  print('### Memory under attack');
  print(
    table(results, [
      ['MB', ({ flood }) => flood],
      ['idle', ({ idleMb }) => idleMb],
      ['highest', (result) => result.highestMb],
      ['cgroup peak', ({ groupPeakMb }) => groupPeakMb],
      ['answers', ({ answers }) => countText(answers)],
      ['clients with a token, %', ({ clients }) => legitimateFigures(clients).success, 1],
    ]),
  );
  for (const { atTheEndMb, idleMb } of results.filter(({ flood }) => flood === IDLE_CONNECTIONS)) {
    const kilobytes = ((atTheEndMb - idleMb) * 1024) / floodOf(IDLE_CONNECTIONS).connections;
    print(`An idle connection needs ${figure(kilobytes)} KiB.`);
  }
  return printVerdicts(memoryVerdicts(results));
}

/** Whether the service met the requirements on its memory. */
export function memoryVerdicts(results: readonly MemoryResult[]): readonly Verdict[] {
  return [
    { requirement: `memory stays below ${LIMIT_MB} MB`, passed: results.every(({ highestMb: mb }) => mb < LIMIT_MB) },
    { requirement: 'no process ends', passed: results.every(({ processesKept }) => processesKept) },
  ];
}

/** What a flood needs. */
export function methodsOf(flood: FloodName): readonly OptionalMethod[] {
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
  methods: readonly OptionalMethod[],
  opened: AsyncDisposableStack,
  locked?: string,
): Promise<MemoryResult> {
  await using running = new AsyncDisposableStack();
  opened.defer(() => running.disposeAsync());
  const group = await MemoryGroup.create(`bench-${process.pid}`, LIMIT_MB);
  if (group !== undefined) running.use(group);
  const clients = registrations('client', KNOWN_CLIENTS, await hashedSecret(RECOMMENDED_COST));
  const trusted = methods.includes('federated_jwt') ? await workloads('ES384', running) : undefined;
  const { isTls = false } = floodOf(flood);
  const settings = methodSettings(['client_secret_post', ...methods], trusted);
  const options = { environment: { ...settings, ...(isTls && tlsSettings(running)) }, group };
  const { tree, port } =
    locked === undefined
      ? await startInMemory('memory', clients, running, options)
      : await startBesideLock(locked, clients, running, options);
  await delay(SETTLE_MS);
  const idleMb = await tree.memoryMb();
  const processes = String(await tree.pids());
  const attack = () => sampleMemory(tree, SAMPLE_EVERY_MS, () => runFloods({ port, seconds, floods: [flood] }));
  const tokenUrl = `${isTls ? 'https' : 'http'}://127.0.0.1:${port}/oauth2/token`;
  const job = legitimateJob(tokenUrl, clients, [], { ...CLIENTS, seconds });
  const [legitimate, [[result], samples]] = await runLegitimateClients(job, attack);
  return {
    flood,
    idleMb,
    highestMb: highestMb(samples),
    atTheEndMb: samples.at(-1)?.megabytes ?? Number.NaN,
    groupPeakMb: (await group?.peakMb()) ?? Number.NaN,
    processesKept: String(await tree.pids()) === processes,
    answers: result?.answers ?? {},
    clients: legitimate,
  };
}

function tlsSettings(running: AsyncDisposableStack): Readonly<Record<string, string>> {
  const { certificate, key } = running.use(new CertificateAuthority()).issue('DNS:localhost');
  return { TLS_CERT_FILE: certificate, TLS_KEY_FILE: key, BASE_URL: 'https://localhost' };
}

/** Longer than a flood, so that its first look-up waits until its end. */
const LOCKED_DEADLINE_MS = '6000';

/** On PostgreSQL, with a table that nobody else can read. */
async function startBesideLock(
  locked: string,
  clients: readonly Registration[],
  running: AsyncDisposableStack,
  options: ServiceOptions,
): Promise<Candidate> {
  const database = await (await startBenchDatabaseServer(running)).create();
  await migrateDatabase(database.url);
  const environment = { ...options.environment, DATABASE_DEADLINE_MS: LOCKED_DEADLINE_MS };
  const service = await startOnPostgres('PostgreSQL', database, clients, running, { ...options, environment });
  const lock = new KeptConnection(database.url);
  running.defer(() => lock.close());
  await lock.query('begin');
  await lock.query(`lock table ${locked} in access exclusive mode`);
  return service;
}
