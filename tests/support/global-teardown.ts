import { rmSync } from 'node:fs';
import type { TestDatabaseBroker } from './test-database-broker.ts';

/** Runs after all tests, in the process that ran the setup. */
export default async function cleanUp(): Promise<void> {
  const { testDatabaseBroker } = globalThis as { testDatabaseBroker?: TestDatabaseBroker };
  await testDatabaseBroker?.close();
  const { NODE_COMPILE_CACHE } = process.env;
  if (NODE_COMPILE_CACHE !== undefined) rmSync(NODE_COMPILE_CACHE, { recursive: true, force: true });
}
