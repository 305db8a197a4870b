import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { SqlLastUsed } from '../../../../adapters/sql/last-used/sql-last-used.ts';
import { tablesOf } from '../../../../adapters/sql/transaction.ts';
import { createKeyRingFile, keyRingFile } from '../../../../adapters/sqlite/key-directory/sqlite-key-ring.ts';
import { describeLastUsed } from '../../../contracts/last-used.ts';

describeLastUsed('SqlLastUsed on SQLite', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'last-used-'));
  const path = join(folder, 'clients.db.keys');
  await createKeyRingFile(path);
  const lastUsed = new SqlLastUsed(tablesOf(keyRingFile(path)));
  return { lastUsed, close: async () => rmSync(folder, { recursive: true }) };
});

it('without the file, nothing is known and nothing to be forgotten', async () => {
  const lastUsed = new SqlLastUsed(tablesOf(keyRingFile(join(tmpdir(), 'no-such-file'))));
  expect(await lastUsed.find(['a'])).toEqual({ since: undefined, days: new Map() });
  await lastUsed.forget(['a']);
});
