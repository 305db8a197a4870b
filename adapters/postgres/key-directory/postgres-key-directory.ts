import { hostname } from 'node:os';
import type { DirectoryAnswer, KeyDirectory, SharedKey } from '../../../application/ports/key-directory.ts';
import type { ConnectionOptions } from '../connection.ts';
import type { DatabaseLog } from '../health.ts';
import type { Runner, Statement } from '../runner.ts';
import { alwaysReady, openTable } from '../table.ts';
import { publishKeys, READ_KEYS } from './key-statements.ts';
import { type KeyRow, readKeyRow, readPublisher, SIGNING_KEY_STATES, SIGNING_KEYS } from './key-tables.ts';
import { ReplicaRegister } from './replica-register.ts';

/** An answer as it is read, all columns as text; without keys they are null. */
interface AnswerRecord {
  readonly time: string;
  readonly keys: string | null;
  readonly revoked: string | null;
}

/** A key as it is read, and who publishes it. */
type KeyRecord = KeyRow & { readonly replica: string | null; readonly trustedSeconds: number };

/** Public keys in the table `signing_keys`, which the replicas of the service write, and the program that revokes keys. */
export class PostgresKeyDirectory implements KeyDirectory {
  readonly #runner: Runner;
  readonly #replica = `${hostname()}:${process.pid}`;

  constructor(runner: Runner) {
    this.#runner = runner;
  }

  publish(keys: readonly SharedKey[]): Promise<DirectoryAnswer> {
    return this.#run(publishKeys(keys, this.#replica));
  }

  read(): Promise<DirectoryAnswer> {
    return this.#run(READ_KEYS);
  }

  async #run(statement: Statement): Promise<DirectoryAnswer> {
    const [answer] = await this.#runner.run<AnswerRecord>(statement);
    if (answer === undefined) throw new Error('a statement that always has a row had none');
    const { time, keys, revoked } = answer;
    const records: readonly KeyRecord[] = JSON.parse(keys ?? '[]');
    const older = records.filter(({ replica }) => readPublisher(replica).algorithm === undefined);
    return {
      keys: sharedKeysOf(records),
      ofOlderVersions: older.map(({ kid }) => String(kid)),
      revoked: JSON.parse(revoked ?? '[]'),
      time: Number(time),
    };
  }
}

/** The keys of these rows, without rows that hold none. The reader checks whether a key can be trusted. */
function sharedKeysOf(records: readonly KeyRecord[]): readonly SharedKey[] {
  return records.flatMap(({ trustedSeconds, ...row }) => {
    const jwk = readKeyRow(row);
    return jwk === undefined ? [] : [{ jwk, trustedSeconds }];
  });
}

/** One connection to publish, and one to look up an unknown key. They are not shared with client look-ups, so neither waits for those. */
export const KEYS_POOL_SIZE = 2;

/**
 * The directory, and the tables that it uses; otherwise as `openClientRepository`. The directory is always ready: without it the service
 * works as long as its own key may sign, and the check of that key reports when it may not.
 */
export async function openKeyDirectory(options: Omit<ConnectionOptions, 'poolSize'>, log: DatabaseLog) {
  const keysOptions = { ...options, poolSize: KEYS_POOL_SIZE };
  const table = await openTable('key directory', SIGNING_KEYS, keysOptions, log, undefined, SIGNING_KEY_STATES);
  const replicas = new ReplicaRegister(table.runner);
  const dependency = alwaysReady(table, () => replicas.close());
  return { adapter: new PostgresKeyDirectory(table.runner), replicas, dependency };
}
