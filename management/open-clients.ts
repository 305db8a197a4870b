import { CLIENTS_TABLE } from '../adapters/postgres/clients-table.ts';
import { Database } from '../adapters/postgres/database.ts';
import { DatabaseTable } from '../adapters/postgres/database-table.ts';
import { StatementRunner } from '../adapters/postgres/statement-runner.ts';
import { ManagedClients } from './managed-clients.ts';

/** The longest that a statement may take, in milliseconds; half of it for the connection, and for a lock. */
const DEADLINE_MS = 10_000;

export interface OpenClients {
  readonly clients: ManagedClients;
  close(): Promise<void>;
}

/** Connects, and makes the table where there is none, with the service's own code. Throws TableUnusable and the driver's errors, with nothing left open. */
export async function openClients(url: string): Promise<OpenClients> {
  const database = await Database.open({ url, poolSize: 1, deadlineMs: DEADLINE_MS }, CLIENTS_TABLE);
  // A connection that breaks between two statements is met by the second.
  database.pool.on('error', () => {});
  const table = new DatabaseTable(CLIENTS_TABLE, database, new StatementRunner(database.pool, DEADLINE_MS));
  try {
    await table.prepare();
  } catch (fault) {
    await database.close();
    throw fault;
  }
  return { clients: new ManagedClients(database.pool), close: () => database.close() };
}
