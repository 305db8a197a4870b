import { existsSync } from 'node:fs';
import { readDetails } from '../../adapters/files/clients-file.ts';
import { SqlKeyRing } from '../../adapters/sql/key-directory/sql-key-ring.ts';
import { SqlKeyRingRecords } from '../../adapters/sql/keys-program/sql-key-ring-records.ts';
import { SqlLastUsed } from '../../adapters/sql/last-used/sql-last-used.ts';
import { SqlClientRepository } from '../../adapters/sql/sql-client-repository.ts';
import { SqlClientStore } from '../../adapters/sql/sql-client-store.ts';
import { SqlClientTokens } from '../../adapters/sql/token-revocation/sql-client-tokens.ts';
import { SqlRevocations } from '../../adapters/sql/token-revocation/sql-revocations.ts';
import { tablesOf } from '../../adapters/sql/transaction.ts';
import { openClientsFile } from '../../adapters/sqlite/clients-program/sqlite-clients-database.ts';
import { createKeyRingFile, keyRingFile, keyRingFileOf } from '../../adapters/sqlite/key-directory/sqlite-key-ring.ts';
import { migrateFile } from '../../adapters/sqlite/migrate-file.ts';
import { openClientRows } from '../../adapters/sqlite/sqlite-client-rows.ts';
import { failure, success } from '../../domain/result.ts';
import type { ServiceNeeds, Storage } from './storage.ts';

/** The file is read by one connection, and one statement at a time. */
const ONE_CONNECTION = () => ({ open: 1, max: 1, idle: 1, waiting: 0 });

/** The key ring reports what is wrong with the file that it shares with the other tables. */
const READY = () => ({ ready: true }) as const;

/** The file of the tables that the service writes, beside that of the registrations. */
async function openBeside({ file, database: { mayCreate = true } }: ServiceNeeds) {
  const path = keyRingFileOf(file);
  if (mayCreate || existsSync(path)) await createKeyRingFile(path);
  return tablesOf(keyRingFile(path));
}

/** Registrations in a file of SQLite, and the key ring in another one beside it. */
export const sqlite: Storage = {
  async openClients({ file, clock, log, database, pickDecoy }) {
    const { rows, ...opened } = await openClientRows(
      file,
      log,
      database.measure?.('client repository', ONE_CONNECTION),
    );
    return { clients: new SqlClientRepository({ rows, log, clock, pickDecoy }), ...opened };
  },

  async openKeyRing(needs) {
    const { readiness, close, ...tables } = await openBeside(needs);
    return { store: new SqlKeyRing(tables), dependency: { name: 'key directory', readiness, close } };
  },

  async openRevocations(needs) {
    const { close, ...tables } = await openBeside(needs);
    return { store: new SqlRevocations(tables), dependency: { name: 'revocations', readiness: READY, close } };
  },

  async openLastUsed(needs) {
    const { close, ...tables } = await openBeside(needs);
    return { store: new SqlLastUsed(tables), dependency: { name: 'last used', readiness: READY, close } };
  },

  programs: {
    async openClients({ file }) {
      const [clients, revocations] = [openClientsFile(file), keyRingFile(keyRingFileOf(file))];
      return {
        refusal: () => new SqlClientStore(clients, readDetails).refusal(),
        with: (recorder) => ({
          store: new SqlClientStore(clients, readDetails, recorder),
          tokens: new SqlClientTokens(revocations, recorder),
          lastUsed: new SqlLastUsed(tablesOf(revocations)),
        }),
        close: () => clients.close(),
      };
    },
    async openKeyRing({ file }, recorder) {
      return new SqlKeyRingRecords(keyRingFile(keyRingFileOf(file)), recorder);
    },
    async migrate({ file }, { grantTo, dryRun }) {
      if (grantTo !== undefined) return failure('--grant-to: a file has no roles; its owner and group decide.');
      return success({ done: await migrateFile(file, dryRun), hasRoles: false });
    },
  },
};
