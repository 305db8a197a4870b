import { rmSync } from 'node:fs';
import type { TestDatabaseBroker } from './test-database-broker.ts';

/** Runs after all tests, in the process that ran the setup. */
export default async function cleanUp(): Promise<void> {
  const { testDatabaseBroker } = globalThis as { testDatabaseBroker?: TestDatabaseBroker };
  await testDatabaseBroker?.close();
  const { COMPILE_CACHE_OF_PROGRAMS } = process.env;
  if (COMPILE_CACHE_OF_PROGRAMS !== undefined) rmSync(COMPILE_CACHE_OF_PROGRAMS, { recursive: true, force: true });
}
