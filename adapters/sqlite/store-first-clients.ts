import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { NewClient } from '../../domain/client-registration.ts';
import { storeFault } from './file-fault.ts';
import { closeKeepingLog, inTransaction, openMigrated } from './migrate-file.ts';

/**
 * Creates the file with its folder if it is missing, and stores clients without details in one that has none. Returns whether it did. Throws
 * DependencyUnavailable if the file cannot be used.
 */
export function storeFirstClients(path: string, clients: readonly NewClient[]): boolean {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  } catch (fault) {
    throw storeFault(path, fault);
  }
  const { database } = openMigrated(path);
  try {
    return inTransaction(database, () => {
      if (database.prepare('select 1 from clients limit 1').get() !== undefined) return false;
      const insert = database.prepare(
        'insert into clients (client_id, client_secret, client_name, scope) values (?, ?, ?, ?)',
      );
      for (const { clientId, clientSecret, clientName, scope } of clients) {
        insert.run(clientId, clientSecret, clientName, scope);
      }
      return true;
    });
  } catch (fault) {
    throw storeFault(path, fault);
  } finally {
    closeKeepingLog(database, path);
  }
}
