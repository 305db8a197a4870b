import type { BenchDatabaseServer } from '../servers/bench-database-server.ts';
import type { Candidate } from '../servers/candidate.ts';
import { startPeerCandidate } from '../servers/peer-candidate.ts';
import { postgresEnvironment } from '../servers/postgres-environment.ts';
import { hashedSecret, registrations, SECRET, writeClientsFile } from '../servers/registrations.ts';
import { startServiceCandidate } from '../servers/service-candidate.ts';

/** The BCrypt cost that the service's documents recommend. */
const COST = 10;

/** All servers of the comparison, running at the same time, each with the same clients. */
export async function startComparisonCandidates(
  clientCount: number,
  folder: string,
  databases: BenchDatabaseServer,
  opened: AsyncDisposableStack,
): Promise<readonly Candidate[]> {
  const clients = registrations('client', clientCount, await hashedSecret(COST));
  const hashed = await writeClientsFile(folder, 'hashed.json', clients);
  const plain = await writeClientsFile(folder, 'plain.json', registrations('client', clientCount, `{noop}${SECRET}`));
  const memory = { CLIENT_REPOSITORY: 'memory', CLIENTS_FILE: hashed };

  const database = await databases.create();
  const postgres = postgresEnvironment(database.url);
  const onPostgres = await startServiceCandidate('this service, PostgreSQL', postgres, opened);
  await database.insert(clients);

  const forgetful = { ...memory, CLIENT_SECRET_REMEMBERED_SECONDS: '0' };
  const alone = { PROCESSES: '1' };
  const peer = '@node-oauth/oauth2-server';
  return [
    await startServiceCandidate('this service, memory', memory, opened),
    onPostgres,
    await startServiceCandidate('this service, remembering off', forgetful, opened),
    await startPeerCandidate('oidc-provider, one process as it ships', 'oidc-provider.mjs', plain, opened, alone),
    await startPeerCandidate('oidc-provider, a process a core', 'oidc-provider.mjs', plain, opened),
    await startPeerCandidate(`${peer}, secrets in clear`, 'node-oauth2-server.mjs', plain, opened),
    await startPeerCandidate(`${peer}, BCrypt`, 'node-oauth2-server.mjs', hashed, opened),
  ];
}
