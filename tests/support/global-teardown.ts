import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { printNotTested } from './not-tested.ts';
import { KEY_POOL_VARIABLE } from './pooled-key-factory.ts';
import type { TestDatabaseBroker } from './test-database-broker.ts';

/** Runs after all tests, in the process that ran the setup. */
export default async function cleanUp(): Promise<void> {
  const { testDatabaseBroker } = globalThis as { testDatabaseBroker?: TestDatabaseBroker };
  await testDatabaseBroker?.close();
  printNotTested();
  const { COMPILE_CACHE_OF_PROGRAMS, [KEY_POOL_VARIABLE]: keys } = process.env;
  if (COMPILE_CACHE_OF_PROGRAMS !== undefined) rmSync(COMPILE_CACHE_OF_PROGRAMS, { recursive: true, force: true });
  if (keys !== undefined) rmSync(dirname(keys), { recursive: true, force: true });
}
