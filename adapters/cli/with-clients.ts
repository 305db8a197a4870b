import type { AddClient } from '../../application/clients/add-client.ts';
import type { DisableClient } from '../../application/clients/disable-client.ts';
import type { EnableClient } from '../../application/clients/enable-client.ts';
import type { ImportClients } from '../../application/clients/import-clients.ts';
import type { ListClients } from '../../application/clients/list-clients.ts';
import type { RemoveClient } from '../../application/clients/remove-client.ts';
import type { RotateSecret } from '../../application/clients/rotate-secret.ts';
import type { ShowClient } from '../../application/clients/show-client.ts';
import { ValueRefused } from '../../application/ports/client-store.ts';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import type { Result } from '../../domain/result.ts';
import { EXIT, type Outcome, problem } from './outcome.ts';

/** The use cases of the commands, on a store that is open. */
export interface ClientUseCases {
  readonly addClient: AddClient;
  readonly listClients: ListClients;
  readonly showClient: ShowClient;
  readonly rotateSecret: RotateSecret;
  readonly disableClient: DisableClient;
  readonly enableClient: EnableClient;
  readonly removeClient: RemoveClient;
  readonly importClients: ImportClients;
  close(): Promise<void>;
}

/** Opens the use cases, or answers what is wrong with the environment. */
export type OpenClients = () => Promise<Result<ClientUseCases, string>>;

/** Runs a command's work on the stored clients, and leaves nothing open. Faults of the storage become problems. */
export async function withClients(
  open: OpenClients,
  work: (clients: ClientUseCases) => Promise<Outcome>,
): Promise<Outcome> {
  const opened = await open();
  if (!opened.ok) return problem(EXIT.usage, opened.problem);
  const clients = opened.value;
  try {
    return await work(clients).finally(() => clients.close());
  } catch (fault) {
    if (fault instanceof ValueRefused) {
      return problem(EXIT.refused, `The table clients refuses this: ${detailsOf(fault.cause)}`);
    }
    if (fault instanceof DependencyUnavailable) {
      return problem(EXIT.databaseUnavailable, `The database cannot be used: ${detailsOf(fault.cause)}`);
    }
    throw fault;
  }
}

/** Message and code of a fault. Adapters keep values, statements and URLs out of both. */
function detailsOf(fault: unknown): string {
  if (!(fault instanceof Error)) return '';
  return 'code' in fault ? `${fault.message} (${fault.code})`.trimStart() : fault.message;
}
