import { databaseProblem } from './database-problem.ts';
import { EXIT } from './exit-code.ts';
import type { ManagedClients } from './managed-clients.ts';
import { type Outcome, problem } from './outcome.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Does the work on the table of the database that DATABASE_URL names, and leaves nothing open. The URL comes from the
 * environment alone: arguments are visible to every user of the machine.
 */
export async function withClients(
  environment: Environment,
  work: (clients: ManagedClients) => Promise<Outcome>,
): Promise<Outcome> {
  const url = environment['DATABASE_URL'] ?? '';
  if (!/^postgres(ql)?:\/\//.test(url) || !URL.canParse(url)) {
    return problem(EXIT.usage, 'DATABASE_URL: must be set in the environment, to a postgresql:// URL.');
  }
  // Loaded here, since it takes longer than everything else: help pages and `hash` do without.
  const { openClients } = await import('./open-clients.ts');
  try {
    const { clients, close } = await openClients(url);
    return await work(clients).finally(close);
  } catch (fault) {
    if (fault instanceof TypeError || fault instanceof RangeError) throw fault; // A bug here is no fault of the database.
    return databaseProblem(fault);
  }
}
