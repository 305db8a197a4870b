import { ClientsTable } from '../adapters/postgres/clients-table.ts';
import { Database } from '../adapters/postgres/database.ts';
import { StatementRunner } from '../adapters/postgres/statement-runner.ts';
import { databaseProblem } from './database-problem.ts';
import { EXIT } from './exit-code.ts';
import { ManagedClients } from './managed-clients.ts';
import { type Outcome, problem } from './outcome.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The longest that a statement may take, in milliseconds; half of it for the connection, and for a lock. */
const DEADLINE_MS = 10_000;

/**
 * Opens the database that DATABASE_URL names, makes the table where there is none, exactly as the service does, and
 * leaves nothing open. The URL comes from the environment alone: arguments are visible to every user of the machine.
 */
export async function withClients(
  environment: Environment,
  work: (clients: ManagedClients) => Promise<Outcome>,
): Promise<Outcome> {
  const url = environment['DATABASE_URL'] ?? '';
  if (!/^postgres(ql)?:\/\//.test(url) || !URL.canParse(url)) {
    return problem(EXIT.usage, 'DATABASE_URL: must be set in the environment, to a postgresql:// URL.');
  }
  const database = await Database.open({ url, poolSize: 1, deadlineMs: DEADLINE_MS });
  // A connection that breaks between two statements is met by the second.
  database.pool.on('error', () => {});
  try {
    await new ClientsTable(new StatementRunner(database.pool, DEADLINE_MS), () => database.createTableSql()).prepare();
    return await work(new ManagedClients(database.pool));
  } catch (fault) {
    return databaseProblem(fault);
  } finally {
    await database.close();
  }
}
