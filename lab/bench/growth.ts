import { until } from '../../tests/support/until.ts';
import { ConnectionFlood } from './attack/connection-flood.ts';
import { startBenchDatabaseServer } from './bench-database.ts';
import { type Candidate, startInMemory, startOnPostgres } from './candidates.ts';
import type { Options } from './command-line.ts';
import { findLoadGenerator, type LoadGenerator } from './load-generator.ts';
import { type LoadPlan, type Measurement, measure, medianFigures, STANDARD_LOAD } from './measurement.ts';
import { hashedSecret, RECOMMENDED_COST, registrations, SECRET } from './registrations.ts';
import { conditions, figure, median, print, say, table } from './report.ts';

/** One size of the table, or one number of connections, and its rounds. */
interface GrowthRow {
  readonly size: number;
  readonly candidate: Candidate;
  readonly plan: LoadPlan;
  readonly rounds: Measurement[];
  /** Seconds from the start of a service on the table until it is ready. */
  readonly startSeconds?: number;
}

const CONNECTIONS = [1, 16, 256, 2_048];

/** Connections that have had a response, and send nothing while others are measured. */
const IDLE_CONNECTIONS = 10_000;

const KEY_SET_REQUEST = 'GET /oauth2/jwks HTTP/1.1\r\nHost: localhost\r\n\r\n';

/** How many different clients send requests, spread over the whole table. */
const ACTIVE_CLIENTS_MAX = 1_000;

/** The cheapest BCrypt cost: after the warm-up every secret is cached, and only the look-ups are compared. */
const TABLE_COST = 4;

/**
 * `npm run bench -- growth`: the cost of registrations and connections. Returns whether all clients of the tables got
 * their tokens.
 */
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
  for (const load of loads.filter(({ size }) => size === connections))
    await measureIdle(load, options.rounds, generator);
  return tables.every(({ rounds }) => rounds.every(({ failures }) => failures === 0));
}

/**
 * One service on PostgreSQL per table size; all run at the same time and are measured one after another in each round.
 */
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
    const settings = { services: sizes.length };
    // The first one creates the table.
    const first = new AsyncDisposableStack();
    await startOnPostgres(`${size}`, database, [], first, settings);
    await first.disposeAsync();
    await database.insertMany(size, stored);
    const begin = performance.now();
    const candidate = await startOnPostgres(`${size}`, database, [], opened, settings);
    const startSeconds = (performance.now() - begin) / 1_000;
    const count = Math.min(ACTIVE_CLIENTS_MAX, size);
    const clients = { count, step: Math.floor(size / count), secret: SECRET };
    const plan = { connections: STANDARD_LOAD.connections, seconds, warmUpSeconds: 1, clients };
    await measure(candidate, generator, { ...plan, warmUpSeconds: seconds });
    rows.push({ size, candidate, plan, rounds: [], startSeconds });
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

/** The load of a row with and without idle connections, in alternation, and the memory of one of these. */
async function measureIdle({ candidate, plan }: GrowthRow, count: number, generator: LoadGenerator): Promise<void> {
  const [alone, beside] = [0, IDLE_CONNECTIONS].map((size) => ({ size, candidate, plan, rounds: [] as Measurement[] }));
  const kilobytes: number[] = [];
  for (let round = 1; round <= count; round += 1) {
    alone?.rounds.push(await measure(candidate, generator, plan));
    const before = await candidate.tree.memoryMb();
    const idle = new ConnectionFlood(candidate.port, IDLE_CONNECTIONS, {
      begin: (connection) => connection.send(KEY_SET_REQUEST),
    });
    await until(() => (idle.answers['200'] ?? 0) >= IDLE_CONNECTIONS, 'each idle connection has had a response');
    kilobytes.push(((await candidate.tree.memoryMb()) - before) * (1_024 / IDLE_CONNECTIONS));
    beside?.rounds.push(await measure(candidate, generator, plan));
    idle.end();
    const isFree = () => (idle.answers['closed'] ?? 0) >= IDLE_CONNECTIONS;
    await until(isFree, 'the idle connections are closed');
    say(`round ${round} of ${count}, idle connections`);
  }
  const rows = [alone, beside].filter((row) => row !== undefined);
  printRows(
    'idle connections',
    rows,
    alone?.rounds.map(({ tokensPerSecond }) => tokensPerSecond),
  );
  print(`An idle connection needs ${figure(median(kilobytes), 1)} KB.`);
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
  const figures = rows.map(({ size, startSeconds = Number.NaN, rounds }) => ({
    ...{ size, startSeconds },
    ...medianFigures(rounds, reference),
  }));
  print(
    table(figures, [
      [unit, ({ size }) => figure(size)],
      ['tokens/s', ({ tokensPerSecond }) => tokensPerSecond],
      [`relative to ${figure(rows[0]?.size ?? Number.NaN)}`, ({ ratio }) => `${figure(ratio * 100)} %`],
      ['p50 ms', ({ p50Ms }) => p50Ms, 1],
      ['p99 ms', ({ p99Ms }) => p99Ms, 1],
      ['start s', ({ startSeconds }) => startSeconds, 1],
      ['memory MB', ({ memoryMb }) => memoryMb],
      ['no token (503 and others)', ({ failures }) => failures],
    ]),
  );
}
