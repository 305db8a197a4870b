import type { NamedSecret } from '../../domain/client-details.ts';
import type { ClientRegistrationFields } from '../../domain/client-registration.ts';
import type { TestDatabase } from './test-database.ts';

type Client = Omit<ClientRegistrationFields, 'id'>;

/** Adds, changes and removes registrations, as the program that manages them does. */
export function clientsTable({ query }: Pick<TestDatabase, 'query'>) {
  return {
    async add({ clientId, clientSecret, clientName, scope }: Client): Promise<void> {
      await query('insert into clients (client_id, client_secret, client_name, scope) values ($1, $2, $3, $4)', [
        clientId,
        clientSecret,
        clientName,
        scope,
      ]);
    },
    async change(clientId: string, { clientSecret, clientName, scope }: Partial<Client>): Promise<void> {
      await query(
        `update clients set client_secret = coalesce($2, client_secret), client_name = coalesce($3, client_name),
          scope = coalesce($4, scope) where client_id = $1`,
        [clientId, clientSecret, clientName, scope],
      );
    },
    async addSecret(clientId: string, { secret_id, name, encoded, expires_at }: NamedSecret): Promise<void> {
      await query(
        `insert into client_secrets (client_id, registration_id, secret_id, name, encoded, expires_at, created_at)
          select client_id, id::text, $2, $3, $4, $5, 0 from clients where client_id = $1`,
        [clientId, secret_id, name, encoded, expires_at],
      );
    },
    async remove(clientId: string): Promise<void> {
      await query('delete from clients where client_id = $1', [clientId]);
    },
  };
}
