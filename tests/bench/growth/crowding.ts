import type { LoadGenerator } from '../load/load-generator.ts';
import { type Measurement, measure } from '../load/measurement.ts';
import { say } from '../say.ts';
import { hashedSecret, registrations, SECRET, writeClientsFile } from '../servers/registrations.ts';
import { startServiceCandidate } from '../servers/service-candidate.ts';

const CLIENTS = 16;
const COST = 10;

export interface CrowdingRow {
  readonly connections: number;
  readonly rounds: readonly Measurement[];
}

/** The service with registrations in memory, at more and more connections at once. */
export async function measureCrowding(
  plan: { readonly rounds: number; readonly seconds: number; readonly connections: readonly number[] },
  generator: LoadGenerator,
  folder: string,
  opened: AsyncDisposableStack,
): Promise<readonly CrowdingRow[]> {
  const file = await writeClientsFile(
    folder,
    'clients.json',
    registrations('client', CLIENTS, await hashedSecret(COST)),
  );
  const environment = { CLIENT_REPOSITORY: 'memory', CLIENTS_FILE: file };
  const candidate = await startServiceCandidate('memory', environment, opened);
  const { seconds } = plan;
  const clients = { count: CLIENTS, step: 1, secret: SECRET };
  await measure(candidate, generator, { connections: CLIENTS, seconds, warmUpSeconds: seconds, clients });

  const rows = plan.connections.map((connections) => ({ connections, rounds: [] as Measurement[] }));
  for (let round = 1; round <= plan.rounds; round += 1) {
    for (const { connections, rounds } of rows) {
      const measurement = await measure(candidate, generator, { connections, seconds, warmUpSeconds: 1, clients });
      rounds.push(measurement);
      say(
        `round ${round} of ${plan.rounds}, ${connections} connections: ${measurement.tokensPerSecond.toFixed(0)} tokens/s`,
      );
    }
  }
  return rows;
}
