import type { TestDatabaseBroker } from './test-database-broker.ts';

/** What Jest does after all tests, in the process that did the setup. */
export default async function stopBroker(): Promise<void> {
  const { testDatabaseBroker } = globalThis as { testDatabaseBroker?: TestDatabaseBroker };
  await testDatabaseBroker?.close();
}
