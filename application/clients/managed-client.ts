import {
  ClientRegistration,
  type ClientRegistrationFields,
  type RegistrationProblem,
} from '../../domain/client-registration.ts';
import { failure, type Result, success } from '../../domain/result.ts';
import { isLocked, StoredSecret, unlock } from '../../domain/stored-secret.ts';

/** A stored client as an operator sees it, valid or not. Never contains the secret. */
export interface ManagedClient {
  /** The id of the registration, as text: a table's may be beyond 2^53. */
  readonly id: string;
  readonly clientId: string;
  readonly clientName: string;
  readonly scope: string;
  /** `broken` and `disabled` clients get no token. */
  readonly state: 'enabled' | 'disabled' | 'broken';
  /** log2 of the rounds, also of a locked hash; null if the secret is not a BCrypt encoding. */
  readonly bcryptCost: number | null;
  /** The rule that the registration breaks, so that the service refuses the client; null if it breaks none. */
  readonly problem: RegistrationProblem | null;
}

/** Describes stored clients. Two clients with the same id both have a problem. */
export function describeClients(clients: readonly ClientRegistrationFields[]): readonly ManagedClient[] {
  const counts = new Map<string, number>();
  for (const { clientId } of clients) counts.set(clientId, (counts.get(clientId) ?? 0) + 1);
  return clients.map((client) => describe(client, counts.get(client.clientId) === 1));
}

/** Describes the client of one id. Storage may have several; the first is described. */
export function describeClient(clients: readonly ClientRegistrationFields[]): Result<ManagedClient, 'client_unknown'> {
  const [client] = describeClients(clients);
  return client === undefined ? failure('client_unknown') : success(client);
}

function describe({ clientSecret, ...client }: ClientRegistrationFields, isUnique: boolean): ManagedClient {
  const secret = StoredSecret.parse(unlock(clientSecret));
  const problem = isUnique
    ? problemOf({ ...client, clientSecret }, secret)
    : ({ field: 'clientId', rule: 'must be unique' } as const);
  return {
    ...client,
    state: isLocked(clientSecret) ? 'disabled' : problem === null ? 'enabled' : 'broken',
    bcryptCost: secret.kind === 'bcrypt' ? secret.cost : null,
    problem,
  };
}

function problemOf(client: ClientRegistrationFields, secret: StoredSecret): RegistrationProblem | null {
  const registration = ClientRegistration.of(client);
  if (!registration.ok) return registration.problem;
  return secret.kind === 'bcrypt' ? null : { field: 'clientSecret', rule: 'must be a BCrypt encoding of cost 4 to 14' };
}
