import { readClientsFile } from '../adapters/memory/clients-file.ts';
import { failure, type Result, success } from '../domain/result.ts';
import { StoredSecret } from '../domain/stored-secret.ts';
import { MEMBER_OF } from './client-view.ts';
import { encodeSecret } from './encode-secret.ts';
import type { NewClient } from './managed-clients.ts';

/**
 * Reads a clients file for the table: `{noop}` secrets are hashed at this cost, BCrypt encodings are taken as they are.
 * Answers every problem there is with its entry's position, counted from 0, as the service does for its own file.
 */
export async function readClientsToImport(
  json: string,
  cost: number,
): Promise<Result<readonly NewClient[], readonly string[]>> {
  const clients = readClientsFile(json);
  if (!clients.ok) return clients;
  const problems = clients.value.flatMap(unstorableMembers);
  if (problems.length > 0) return failure(problems);
  return success(await Promise.all(clients.value.map((client) => withEncodedSecret(client, cost))));
}

/** A table has no NUL, and no half of a surrogate pair. */
function unstorableMembers(client: NewClient, position: number): readonly string[] {
  return (['clientId', 'clientName'] as const)
    .filter((field) => !client[field].isWellFormed() || client[field].includes('\0'))
    .map((field) => `entry ${position}: ${MEMBER_OF[field]} must be Unicode text without NUL`);
}

async function withEncodedSecret(client: NewClient, cost: number): Promise<NewClient> {
  const secret = StoredSecret.parse(client.clientSecret);
  return secret.kind === 'plain' ? { ...client, clientSecret: await encodeSecret(secret.reveal(), cost) } : client;
}
