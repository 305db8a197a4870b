import type { FederatedSubject } from '../../domain/client-details.ts';
import { clientsTable } from './clients-table.ts';
import type { TestDatabase } from './test-database.ts';

/** Registers a client without a secret, with a rule for each subject. */
export async function addWorkload(
  database: TestDatabase,
  clientId: string,
  subjects: readonly FederatedSubject[],
  scope = 'read',
): Promise<void> {
  const client = { clientId, clientSecret: '*', clientName: 'A workload', scope };
  await clientsTable(database).add({ ...client, details: { federated_subjects: subjects } });
}
