import type { KeyRingStore, KeyRows, SealedKey } from '../../../application/ports/key-ring-store.ts';
import type { ConnectionOptions } from '../connection.ts';
import type { DatabaseLog } from '../health.ts';
import type { Runner } from '../runner.ts';
import { alwaysReady, openTable } from '../table.ts';
import { addKey, KEY_RING, type KeyRingRecord, keyRowsOf, READ_RING } from './key-ring-table.ts';

/** The key ring in the table `key_ring`, which the replicas of the service write, and the program that revokes keys. */
export class PostgresKeyRing implements KeyRingStore {
  readonly #runner: Pick<Runner, 'run'>;

  constructor(runner: Pick<Runner, 'run'>) {
    this.#runner = runner;
  }

  async read(): Promise<KeyRows> {
    return keyRowsOf(await this.#runner.run<KeyRingRecord>(READ_RING));
  }

  async add(key: SealedKey): Promise<void> {
    await this.#runner.run(addKey(key));
  }
}

/** One connection to write, and one to look up an unknown key. They are not shared with client look-ups, so neither waits for those. */
export const KEYS_POOL_SIZE = 2;

/** Of a statement: a key that was revoked while the database does not answer is dropped in time once it does. */
const DEADLINE_MS_MAX = 3_000;

/** The ring is always ready: without it the service works as long as a key that it knows may sign, which the key ring reports. */
export async function openKeyRing(options: Omit<ConnectionOptions, 'poolSize'>, log: DatabaseLog) {
  const deadlineMs = Math.min(options.deadlineMs, DEADLINE_MS_MAX);
  const table = await openTable('key directory', KEY_RING, { ...options, deadlineMs, poolSize: KEYS_POOL_SIZE }, log);
  return { store: new PostgresKeyRing(table.runner), dependency: alwaysReady(table, () => {}) };
}
