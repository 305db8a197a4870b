import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clientsTable } from './clients-table.ts';
import { freshTables } from './details-tables.ts';
import { REGISTERED_CLIENT, REGISTERED_SECRET } from './registered-client.ts';
import { SEALED_KEYS } from './sealed-keys.ts';
import { type ServiceProcess, startServiceProcess, TRACED } from './service-process.ts';
import { createTestDatabase, PATIENT, type TestDatabase } from './test-database.ts';
import { WorkloadIssuer } from './workload-issuer.ts';

/** A token request of the client that is registered. */
export const TOKEN_REQUEST = {
  grant_type: 'client_credentials',
  client_id: REGISTERED_CLIENT.clientId,
  client_secret: REGISTERED_SECRET,
};

/** The service on PostgreSQL, with the key directory, every method and traces. */
export interface ServiceWithEverything extends ServiceProcess, AsyncDisposable {
  readonly database: TestDatabase;
}

export async function startServiceWithEverything(
  more: Readonly<Record<string, string>> = {},
): Promise<ServiceWithEverything> {
  const folder = await mkdtemp(join(tmpdir(), 'everything-'));
  const [database, issuer] = [await createTestDatabase(), await WorkloadIssuer.start('kubernetes')];
  await freshTables(database);
  const issuers = join(folder, 'issuers.json');
  await writeFile(issuers, JSON.stringify([issuer.entry()]));
  const service = await startServiceProcess(
    {
      CLIENT_REPOSITORY: 'postgres',
      ...SEALED_KEYS,
      DATABASE_URL: database.url,
      ...PATIENT,
      CLIENT_AUTHENTICATION_METHODS: 'client_secret_post,client_secret_basic,private_key_jwt,federated_jwt',
      CLIENT_ASSERTION_ISSUERS_FILE: issuers,
      TOKEN_REVOCATION: 'true',
      ADMIN_API: 'true',
      RECORD_LAST_USED: 'true',
      TOKEN_PROFILE: 'common',
      TOKEN_AUDIENCE: 'https://api.example.com',
      ...more,
    },
    TRACED,
  );
  await clientsTable(database).add({ ...REGISTERED_CLIENT, details: { client_secret_generated: true } });
  return {
    ...service,
    database,
    async [Symbol.asyncDispose]() {
      await service.program[Symbol.asyncDispose]();
      await issuer[Symbol.asyncDispose]();
      await database.drop();
      await rm(folder, { recursive: true });
    },
  };
}
