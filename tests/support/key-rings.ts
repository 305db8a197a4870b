import { openKeyRing } from '../../adapters/postgres/key-directory/postgres-key-ring.ts';
import { openKeyRingDatabase } from '../../adapters/postgres/keys-program/postgres-key-ring-database.ts';
import { SqlKeyRing } from '../../adapters/sql/key-directory/sql-key-ring.ts';
import { SqlKeyRingRecords } from '../../adapters/sql/keys-program/sql-key-ring-records.ts';
import { tablesOf } from '../../adapters/sql/transaction.ts';
import { createKeyRingFile, keyRingFile } from '../../adapters/sqlite/key-directory/sqlite-key-ring.ts';
import type { ChangeRecorder } from '../../application/ports/change-recorder.ts';
import type { KeyRingChange } from '../../application/ports/key-ring-records.ts';

type Recorder = ChangeRecorder<readonly KeyRingChange[]>;

/** The key ring in PostgreSQL, as the service opens it. */
export async function postgresKeyRing(...options: Parameters<typeof openKeyRing>) {
  const { dependency, tables } = await openKeyRing(...options);
  return { store: new SqlKeyRing(tables), dependency };
}

/** The same for an operator. */
export async function postgresKeyRingRecords(url: string, recorder?: Recorder): Promise<SqlKeyRingRecords> {
  return new SqlKeyRingRecords(await openKeyRingDatabase(url), recorder);
}

/** The key ring in a file of SQLite, as the service opens it. */
export async function sqliteKeyRing(path: string): Promise<SqlKeyRing> {
  await createKeyRingFile(path);
  return new SqlKeyRing(tablesOf(keyRingFile(path)));
}

/** The same for an operator. */
export function sqliteKeyRingRecords(path: string, recorder?: Recorder): SqlKeyRingRecords {
  return new SqlKeyRingRecords(keyRingFile(path), recorder);
}
