import type { LoadGenerator } from '../load/load-generator.ts';
import { type Measurement, measure } from '../load/measurement.ts';
import { say } from '../say.ts';
import type { BenchDatabaseServer } from '../servers/bench-database-server.ts';
import type { Candidate } from '../servers/candidate.ts';
import { postgresEnvironment } from '../servers/postgres-environment.ts';
import { hashedSecret, SECRET } from '../servers/registrations.ts';
import { startServiceCandidate } from '../servers/service-candidate.ts';

const CONNECTIONS = 16;

/** How many different clients ask, spread over the whole table. */
const WALKED_CLIENTS = 1_000;

/** The cheapest: every secret is remembered after the warm-up, and until then the comparison is about look-ups. */
const COST = 4;

export interface GrowthPlan {
  readonly rounds: number;
  readonly seconds: number;
  /** Sizes of the tables. */
  readonly registrations: readonly number[];
}

export interface GrowthRow {
  readonly registrations: number;
  readonly rounds: readonly Measurement[];
}

/** The service on PostgreSQL, once for each size of its table, all running at the same time and measured in turn. */
export async function measureGrowth(
  { rounds, seconds, registrations }: GrowthPlan,
  generator: LoadGenerator,
  databases: BenchDatabaseServer,
  opened: AsyncDisposableStack,
): Promise<readonly GrowthRow[]> {
  const stored = await hashedSecret(COST);
  const sizes: { count: number; candidate: Candidate; rounds: Measurement[] }[] = [];
  for (const count of registrations) {
    say(`${count} registrations …`);
    const database = await databases.create();
    const candidate = await startServiceCandidate(
      `${count}`,
      environmentOf(database.url, registrations.length),
      opened,
    );
    await database.insertMany(count, stored);
    await measure(candidate, generator, { ...planOf(count, seconds), warmUpSeconds: seconds });
    sizes.push({ count, candidate, rounds: [] });
  }
  for (let round = 1; round <= rounds; round += 1) {
    for (const { count, candidate, rounds: measured } of sizes) {
      const measurement = await measure(candidate, generator, planOf(count, seconds));
      measured.push(measurement);
      say(`round ${round} of ${rounds}, ${count} registrations: ${measurement.tokensPerSecond.toFixed(0)} tokens/s`);
    }
  }
  return sizes.map(({ count, rounds: measured }) => ({ registrations: count, rounds: measured }));
}

function environmentOf(databaseUrl: string, services: number): Readonly<Record<string, string>> {
  return {
    ...postgresEnvironment(databaseUrl, services),
    // Longer than any run, so that no check falls into a measurement.
    CLIENT_SECRET_REMEMBERED_SECONDS: '86400',
  };
}

function planOf(registrations: number, seconds: number) {
  const count = Math.min(WALKED_CLIENTS, registrations);
  const clients = { count, step: Math.floor(registrations / count), secret: SECRET };
  return { connections: CONNECTIONS, seconds, warmUpSeconds: 1, clients };
}
