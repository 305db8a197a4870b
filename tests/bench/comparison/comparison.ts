import type { LoadGenerator } from '../load/load-generator.ts';
import { type Measurement, measure } from '../load/measurement.ts';
import type { RsaLimit } from '../machine/rsa-limit.ts';
import { say } from '../say.ts';
import type { BenchDatabaseServer } from '../servers/bench-database-server.ts';
import { SECRET } from '../servers/registrations.ts';
import { checkToken } from './check-token.ts';
import { startComparisonCandidates } from './comparison-candidates.ts';
import type { ComparisonRow } from './comparison-figures.ts';

export const COMPARISON_CONNECTIONS = 16;

const WARM_UP_SECONDS = 2;
const RSA_SECONDS = 2;

export interface ComparisonPlan {
  readonly rounds: number;
  /** Of load on each candidate in each round. */
  readonly seconds: number;
}

export interface Tools {
  readonly generator: LoadGenerator;
  readonly rsaLimit: RsaLimit;
  readonly databases: BenchDatabaseServer;
  /** Where files may be left until the end. */
  readonly folder: string;
}

export interface Comparison {
  /** The machine's RSA-2048 signatures a second, round by round. */
  readonly rsaLimits: readonly number[];
  readonly rows: readonly ComparisonRow[];
}

/**
 * Measures all candidates in each round, and the machine's own limit in the same round, so that what disturbs the machine
 * meets all of them. While one is measured, the others run and idle.
 */
export async function compare(
  { rounds, seconds }: ComparisonPlan,
  { generator, rsaLimit, databases, folder }: Tools,
  opened: AsyncDisposableStack,
): Promise<Comparison> {
  const candidates = await startComparisonCandidates(COMPARISON_CONNECTIONS, folder, databases, opened);
  const sizes = new Map<string, number>();
  for (const candidate of candidates) sizes.set(candidate.name, await checkToken(candidate, 'client-1'));

  const plan = {
    connections: COMPARISON_CONNECTIONS,
    seconds,
    warmUpSeconds: WARM_UP_SECONDS,
    clients: { count: COMPARISON_CONNECTIONS, step: 1, secret: SECRET },
  };
  const rsaLimits: number[] = [];
  const measured = new Map<string, Measurement[]>(candidates.map(({ name }) => [name, []]));
  for (let round = 1; round <= rounds; round += 1) {
    rsaLimits.push(await rsaLimit.measure(RSA_SECONDS));
    say(`round ${round} of ${rounds}: ${rsaLimits.at(-1)?.toFixed(0)} RSA-2048 signatures/s`);
    for (const candidate of candidates) {
      const measurement = await measure(candidate, generator, plan);
      measured.get(candidate.name)?.push(measurement);
      say(`  ${candidate.name}: ${measurement.tokensPerSecond.toFixed(0)} tokens/s`);
    }
  }
  const rows = candidates.map(({ name }) => ({
    name,
    tokenBytes: sizes.get(name) ?? Number.NaN,
    rounds: measured.get(name) ?? [],
  }));
  return { rsaLimits, rows };
}
