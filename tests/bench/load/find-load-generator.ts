import { createAutocannon } from './autocannon.ts';
import type { LoadGenerator } from './load-generator.ts';
import { findWrk } from './wrk.ts';

/** wrk where it is on the PATH, as it takes the least from the server's cores; else autocannon. */
export async function findLoadGenerator(): Promise<LoadGenerator> {
  return (await findWrk()) ?? createAutocannon();
}
