import { TestDatabaseBroker } from './test-database-broker.ts';

/** Runs before all tests. */
export default async function startBroker(): Promise<void> {
  const broker = new TestDatabaseBroker();
  await broker.listen();
  Object.assign(globalThis, { testDatabaseBroker: broker });
}
