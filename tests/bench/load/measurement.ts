import type { Candidate } from '../servers/candidate.ts';
import type { ClientWalk, LoadGenerator, LoadResult } from './load-generator.ts';

/** What one round of load on one candidate showed. */
export interface Measurement extends LoadResult {
  /** Milliseconds of CPU that all processes of the server used for one token; undefined where there is no /proc. */
  readonly cpuMsPerToken: number | undefined;
  /** Resident memory of all processes of the server right after the load; undefined where there is no /proc. */
  readonly memoryMb: number | undefined;
}

export interface LoadPlan {
  readonly connections: number;
  readonly seconds: number;
  readonly warmUpSeconds: number;
  readonly clients: ClientWalk;
}

/** Warms up, then measures. Failures of the warm-up count as failures too. */
export async function measure(
  { tokenUrl, tree }: Candidate,
  generator: LoadGenerator,
  { connections, seconds, warmUpSeconds, clients }: LoadPlan,
): Promise<Measurement> {
  const warmUp = await generator.run({ tokenUrl, connections, seconds: warmUpSeconds, clients });
  const before = await tree.cpuMs();
  const load = await generator.run({ tokenUrl, connections, seconds, clients });
  const after = await tree.cpuMs();
  return {
    ...load,
    failures: warmUp.failures + load.failures,
    cpuMsPerToken: before === undefined || after === undefined ? undefined : (after - before) / load.tokens,
    memoryMb: await tree.memoryMb(),
  };
}
