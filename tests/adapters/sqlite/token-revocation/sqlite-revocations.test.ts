import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SqlRevocations } from '../../../../adapters/sql/token-revocation/sql-revocations.ts';
import { queryable } from '../../../../adapters/sql/transaction.ts';
import { createKeyRingFile, keyRingFile } from '../../../../adapters/sqlite/key-directory/sqlite-key-ring.ts';
import { describeRevocations } from '../../../contracts/revocations.ts';

describeRevocations('SqlRevocations on SQLite', async (limits) => {
  const folder = mkdtempSync(join(tmpdir(), 'revocations-'));
  const path = join(folder, 'clients.db.keys');
  createKeyRingFile(path);
  const open = () => new SqlRevocations({ ...queryable(keyRingFile(path)), count: 'count' }, limits);
  const close = async () => rmSync(folder, { recursive: true });
  return { revocations: open(), other: open(), now: () => Date.now() / 1_000, close };
});
