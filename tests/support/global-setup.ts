import { TestDatabaseBroker } from './test-database-broker.ts';

/** Runs before all tests. */
export default async function startBroker(): Promise<void> {
  if (!process.env['WYCHEPROOF_DIR']) {
    process.stderr.write('The Wycheproof vectors are not tested, because WYCHEPROOF_DIR is not set.\n');
  }
  const broker = new TestDatabaseBroker();
  await broker.listen();
  Object.assign(globalThis, { testDatabaseBroker: broker });
}
