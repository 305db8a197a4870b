import type { TestDatabaseBroker } from './test-database-broker.ts';

/** Runs after all tests, in the process that ran the setup. */
export default async function stopBroker(): Promise<void> {
  const { testDatabaseBroker } = globalThis as { testDatabaseBroker?: TestDatabaseBroker };
  await testDatabaseBroker?.close();
}
