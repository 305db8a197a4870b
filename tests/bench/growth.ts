import { startBenchDatabaseServer } from './bench-database.ts';
import { type Candidate, startInMemory, startOnPostgres } from './candidates.ts';
import type { Options } from './command-line.ts';
import { findLoadGenerator, type LoadGenerator } from './load-generator.ts';
import { type LoadPlan, type Measurement, measure, medianFigures, STANDARD_LOAD } from './measurement.ts';
import { hashedSecret, RECOMMENDED_COST, registrations, SECRET } from './registrations.ts';
import { conditions, figure, print, say, table } from './report.ts';

/** One size of the table, or one number of connections, and its rounds. */
interface GrowthRow {
  readonly size: number;
  readonly candidate: Candidate;
  readonly plan: LoadPlan;
  readonly rounds: Measurement[];
}

const CONNECTIONS = [1, 16, 256, 2_048];

/** How many different clients send requests, spread over the whole table. */
const ACTIVE_CLIENTS_MAX = 1_000;

/** The cheapest BCrypt cost: after the warm-up every secret is cached, and only the look-ups are compared. */
const TABLE_COST = 4;

/** Longer than any run, so that no cached secret expires during a measurement. */
const CACHE_SETTINGS = { CLIENT_SECRET_REMEMBERED_SECONDS: '86400' };

/** `npm run bench -- growth`: the cost of registrations and connections. Returns whether all clients of the tables got their tokens. */
export async function runGrowth(options: Options<'growth'>, opened: AsyncDisposableStack): Promise<boolean> {
  const generator = await findLoadGenerator();
  const { connections } = STANDARD_LOAD;
  print(
    conditions(
      `Load: ${generator.name}, ${options.rounds} rounds of ${options.seconds} s; tables with ${connections} connections`,
    ),
  );
  const tables = await startTables(options, generator, opened);
  await runRounds('registrations', tables, options.rounds, generator);
  const reference = tables[0]?.rounds.map(({ tokensPerSecond }) => tokensPerSecond);
  printRows('registrations in PostgreSQL', tables, reference);
  const loads = await startInMemoryWithConnections(options, generator, opened);
  await runRounds('connections', loads, options.rounds, generator);
  const few = loads[0]?.rounds.map(({ tokensPerSecond }) => tokensPerSecond);
  printRows('connections, registrations in memory', loads, few);
  return tables.every(({ rounds }) => rounds.every(({ failures }) => failures === 0));
}

/** One service on PostgreSQL per table size; all run at the same time and are measured one after another in each round. */
async function startTables(
  { registrations: sizes, seconds }: Options<'growth'>,
  generator: LoadGenerator,
  opened: AsyncDisposableStack,
): Promise<readonly GrowthRow[]> {
  const databases = await startBenchDatabaseServer(opened);
  const stored = await hashedSecret(TABLE_COST);
  const rows: GrowthRow[] = [];
  for (const size of sizes) {
    say(`${size} registrations …`);
    const database = await databases.create();
    const settings = { services: sizes.length, environment: CACHE_SETTINGS };
    const candidate = await startOnPostgres(`${size}`, database, [], opened, settings);
    await database.insertMany(size, stored);
    const count = Math.min(ACTIVE_CLIENTS_MAX, size);
    const clients = { count, step: Math.floor(size / count), secret: SECRET };
    const plan = { connections: STANDARD_LOAD.connections, seconds, warmUpSeconds: 1, clients };
    await measure(candidate, generator, { ...plan, warmUpSeconds: seconds });
    rows.push({ size, candidate, plan, rounds: [] });
  }
  return rows;
}

/** One service with registrations in memory and an increasing number of connections. */
async function startInMemoryWithConnections(
  { seconds }: Options<'growth'>,
  generator: LoadGenerator,
  opened: AsyncDisposableStack,
): Promise<readonly GrowthRow[]> {
  const { clients } = STANDARD_LOAD;
  const registered = registrations('client', clients.count, await hashedSecret(RECOMMENDED_COST));
  const candidate = await startInMemory('memory', registered, opened);
  await measure(candidate, generator, { ...STANDARD_LOAD, seconds, warmUpSeconds: seconds });
  return CONNECTIONS.map((connections) => {
    return { size: connections, candidate, plan: { connections, seconds, warmUpSeconds: 1, clients }, rounds: [] };
  });
}

async function runRounds(unit: string, rows: readonly GrowthRow[], count: number, generator: LoadGenerator) {
  for (let round = 1; round <= count; round += 1) {
    for (const { size, candidate, plan, rounds } of rows) {
      const measurement = await measure(candidate, generator, plan);
      rounds.push(measurement);
      say(`round ${round} of ${count}, ${size} ${unit}: ${figure(measurement.tokensPerSecond)} tokens/s`);
    }
  }
}

/** @param reference tokens per second of each round, with which each row is compared. */
function printRows(unit: string, rows: readonly GrowthRow[], reference: readonly number[] = []): void {
  const figures = rows.map(({ size, rounds }) => ({ size, ...medianFigures(rounds, reference) }));
  print(
    table(figures, [
      [unit, ({ size }) => figure(size)],
      ['tokens/s', ({ tokensPerSecond }) => tokensPerSecond],
      [`relative to ${figure(rows[0]?.size ?? Number.NaN)}`, ({ ratio }) => `${figure(ratio * 100)} %`],
      ['p50 ms', ({ p50Ms }) => p50Ms, 1],
      ['p99 ms', ({ p99Ms }) => p99Ms, 1],
      ['memory MB', ({ memoryMb }) => memoryMb],
      ['no token (503 and others)', ({ failures }) => failures],
    ]),
  );
}
