import type { FederatedSubject } from '../../domain/client-details.ts';
import type { TestDatabase } from './test-database.ts';

/** Registers a client without a secret in the tables of a database that was migrated, with a rule for each subject. */
export async function addWorkload(
  database: TestDatabase,
  clientId: string,
  subjects: readonly FederatedSubject[],
  scope = 'read',
): Promise<void> {
  await database.query(
    `insert into clients (client_id, client_secret, client_name, scope) values ($1, '*', 'A workload', $2)`,
    [clientId, scope],
  );
  for (const { issuer, subject, claims } of subjects) {
    await database.query(
      `insert into client_subjects (client_id, registration_id, issuer, subject, claims)
        select client_id, id::text, $2, $3, $4 from clients where client_id = $1`,
      [clientId, issuer, subject, JSON.stringify(claims)],
    );
  }
}
