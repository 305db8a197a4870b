import { type BenchDatabaseServer, startBenchDatabaseServer } from './bench-database.ts';
import { type Candidate, startInMemory, startOnPostgres } from './candidates.ts';
import { findLoadGenerator, type LoadGenerator } from './load-generator.ts';
import { type Measurement, measure, medianFigures, STANDARD_LOAD } from './measurement.ts';
import { hashedSecret, RECOMMENDED_COST, registrations, SECRET } from './registrations.ts';
import { figure, machineLines, markdownList, markdownTable, say } from './report.ts';

export interface GrowthOptions {
  readonly rounds: number;
  readonly seconds: number;
  /** Sizes of the tables. */
  readonly registrations: readonly number[];
}

/** One size of the table, or one number of connections, and its rounds. */
interface GrowthRow {
  readonly size: number;
  readonly candidate: Candidate;
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
export async function runGrowth(options: GrowthOptions, opened: AsyncDisposableStack): Promise<boolean> {
  const generator = await findLoadGenerator();
  const databases = await startBenchDatabaseServer(opened);
  const tables = await measureTables(options, generator, databases, opened);
  const connections = await measureConnections(options, generator, opened);
  const conditions = [
    ...machineLines(),
    `Load: ${generator.name}, ${options.rounds} rounds of ${options.seconds} s; tables with ${STANDARD_LOAD.connections} connections`,
    `PostgreSQL: ${databases.name}`,
  ];
  process.stdout.write(`${markdownList(conditions)}\n\n${tablesReport(tables)}\n\n${connectionsReport(connections)}\n`);
  return tables.every(({ rounds }) => rounds.every(({ failures }) => failures === 0));
}

/** One service on PostgreSQL per table size; all run at the same time and are measured one after another in each round. */
async function measureTables(
  options: GrowthOptions,
  generator: LoadGenerator,
  databases: BenchDatabaseServer,
  opened: AsyncDisposableStack,
): Promise<readonly GrowthRow[]> {
  const stored = await hashedSecret(TABLE_COST);
  const services = options.registrations.length;
  const rows: GrowthRow[] = [];
  for (const size of options.registrations) {
    say(`${size} registrations …`);
    const database = await databases.create();
    const settings = { services, environment: CACHE_SETTINGS };
    const candidate = await startOnPostgres(`${size}`, database, [], opened, settings);
    await database.insertMany(size, stored);
    await measure(candidate, generator, { ...tablePlan(size, options.seconds), warmUpSeconds: options.seconds });
    rows.push({ size, candidate, rounds: [] });
  }
  await runRounds('registrations', rows, options.rounds, ({ size, candidate }) =>
    measure(candidate, generator, tablePlan(size, options.seconds)),
  );
  return rows;
}

/** One service with registrations in memory and an increasing number of connections. */
async function measureConnections(
  { rounds, seconds }: GrowthOptions,
  generator: LoadGenerator,
  opened: AsyncDisposableStack,
): Promise<readonly GrowthRow[]> {
  const { clients } = STANDARD_LOAD;
  const registered = registrations('client', clients.count, await hashedSecret(RECOMMENDED_COST));
  const candidate = await startInMemory('memory', registered, opened);
  await measure(candidate, generator, { ...STANDARD_LOAD, seconds, warmUpSeconds: seconds });
  const rows: readonly GrowthRow[] = CONNECTIONS.map((size) => ({ size, candidate, rounds: [] }));
  await runRounds('connections', rows, rounds, ({ size: connections }) =>
    measure(candidate, generator, { connections, seconds, warmUpSeconds: 1, clients }),
  );
  return rows;
}

async function runRounds(
  unit: string,
  rows: readonly GrowthRow[],
  count: number,
  run: (row: GrowthRow) => Promise<Measurement>,
): Promise<void> {
  for (let round = 1; round <= count; round += 1) {
    for (const row of rows) {
      const measurement = await run(row);
      row.rounds.push(measurement);
      say(`round ${round} of ${count}, ${row.size} ${unit}: ${figure(measurement.tokensPerSecond)} tokens/s`);
    }
  }
}

function tablePlan(registered: number, seconds: number) {
  const count = Math.min(ACTIVE_CLIENTS_MAX, registered);
  const clients = { count, step: Math.floor(registered / count), secret: SECRET };
  return { connections: STANDARD_LOAD.connections, seconds, warmUpSeconds: 1, clients };
}

function tablesReport(rows: readonly GrowthRow[]): string {
  // Each size is compared with the first one, round by round.
  const reference = rows[0]?.rounds.map(({ tokensPerSecond }) => tokensPerSecond) ?? [];
  const header = ['tokens/s', `relative to ${figure(rows[0]?.size)}`, 'p99 ms', 'memory MB', 'failures'];
  const cells = rows.map(({ size, rounds }) => {
    const { tokensPerSecond, ratio, p99Ms, memoryMb, failures } = medianFigures(rounds, reference);
    const percent = `${figure(ratio * 100)} %`;
    return [figure(size), figure(tokensPerSecond), percent, figure(p99Ms, 1), figure(memoryMb), figure(failures)];
  });
  return markdownTable(['registrations in PostgreSQL', ...header], cells);
}

function connectionsReport(rows: readonly GrowthRow[]): string {
  const header = ['tokens/s', 'p50 ms', 'p99 ms', 'memory MB', 'no token (503 and others)'];
  const cells = rows.map(({ size, rounds }) => {
    const { tokensPerSecond, p50Ms, p99Ms, memoryMb, failures } = medianFigures(rounds, []);
    const latencies = [figure(p50Ms, 1), figure(p99Ms, 1)];
    return [figure(size), figure(tokensPerSecond), ...latencies, figure(memoryMb), figure(failures)];
  });
  return markdownTable(['connections, registrations in memory', ...header], cells);
}
