import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CHROMIUM_PATH, hasChromium } from './chromium-path.ts';
import { NOT_TESTED_VARIABLE, notTested } from './not-tested.ts';
import { generateKeyPool, KEY_POOL_VARIABLE } from './pooled-key-factory.ts';
import { TestDatabaseBroker } from './test-database-broker.ts';

/** Runs before all tests. */
export default async function prepareRun(): Promise<void> {
  const file = join(mkdtempSync(join(tmpdir(), 'not-tested-')), 'reasons.txt');
  writeFileSync(file, '');
  process.env[NOT_TESTED_VARIABLE] = file;
  if (!process.env['WYCHEPROOF_DIR']) {
    notTested('The Wycheproof vectors are not tested, because WYCHEPROOF_DIR is not set.');
  }
  if (!hasChromium) {
    notTested(`The status page is not tested in a browser, because ${CHROMIUM_PATH} does not exist (CHROMIUM_PATH).`);
  }
  // Empty at first, so that no run depends on another one. Under its usual name, Jest's workers would write into it
  // too.
  process.env['COMPILE_CACHE_OF_PROGRAMS'] = mkdtempSync(join(tmpdir(), 'compile-cache-'));
  const keys = join(mkdtempSync(join(tmpdir(), 'keys-')), 'keys.json');
  writeFileSync(keys, JSON.stringify(generateKeyPool().map((key) => key.toString('base64'))), { mode: 0o600 });
  process.env[KEY_POOL_VARIABLE] = keys;
  const broker = new TestDatabaseBroker();
  await broker.listen();
  Object.assign(globalThis, { testDatabaseBroker: broker });
}
