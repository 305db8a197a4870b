import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SqlRevocations } from '../../../../adapters/sql/token-revocation/sql-revocations.ts';
import { tablesOf } from '../../../../adapters/sql/transaction.ts';
import { createKeyRingFile, keyRingFile } from '../../../../adapters/sqlite/key-directory/sqlite-key-ring.ts';
import { describeRevocations } from '../../../contracts/revocations.ts';

describeRevocations('SqlRevocations on SQLite', async (limits) => {
  const folder = mkdtempSync(join(tmpdir(), 'revocations-'));
  const path = join(folder, 'clients.db.keys');
  await createKeyRingFile(path);
  const open = () => new SqlRevocations(tablesOf(keyRingFile(path)), limits);
  const close = async () => rmSync(folder, { recursive: true });
  return { revocations: open(), other: open(), now: () => Date.now() / 1_000, close };
});
