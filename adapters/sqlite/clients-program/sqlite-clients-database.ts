import type { DatabaseSync } from 'node:sqlite';
import { setTimeout } from 'node:timers/promises';
import { PLAN_WAIT_MS } from '../../../application/ports/client-store.ts';
import type { ClientsDatabase } from '../../sql/sql-database.ts';
import { connectionTo, SQLITE } from '../file-connection.ts';
import { codeOf, FileUnusable, storeFault } from '../file-fault.ts';
import { BUSY_MS, closeKeepingLog, openMigrated } from '../migrate-file.ts';

/** Between two attempts to lock the file. */
const RETRY_MS = 20;

const BUSY = 5;

/**
 * The file of the registrations, for the store that manages them. It is opened at the first use, and has to exist. A
 * transaction that changes it locks the whole file: another program waits, and the service reads what was there before.
 */
export function openClientsFile(path: string): ClientsDatabase {
  const idle: DatabaseSync[] = [];
  return {
    ...SQLITE,
    async connect() {
      const database = idle.pop() ?? (await openMigrated(path, 'refuse')).database;
      return {
        ...connectionTo(database),
        begin: (locks) => lock(database, locks === 'rows' ? BUSY_MS : PLAN_WAIT_MS),
        release(isBroken) {
          if (isBroken && database.isTransaction) database.exec('rollback');
          idle.push(database);
        },
      };
    },
    hasDetails: async () => true,
    faultOf: (fault) => storeFault(path, fault),
    refusalIn(fault) {
      const { cause } = Object(fault);
      return cause instanceof FileUnusable && cause.lasts ? cause.problem : undefined;
    },
    isMissing: () => false,
    async close() {
      for (const database of idle.splice(0)) closeKeepingLog(database, path);
    },
  };
}

/** Waits without blocking this process, in which another transaction may run that has the lock. */
async function lock(database: DatabaseSync, waitMs: number): Promise<void> {
  database.exec('pragma busy_timeout = 0');
  for (const end = performance.now() + waitMs; ; ) {
    try {
      database.exec('begin immediate');
      return;
    } catch (fault) {
      if (codeOf(fault) !== BUSY || performance.now() > end) throw fault;
      await setTimeout(RETRY_MS);
    }
  }
}
