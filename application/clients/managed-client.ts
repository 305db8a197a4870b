import {
  ClientRegistration,
  type ClientRegistrationFields,
  type RegistrationProblem,
} from '../../domain/client-registration.ts';
import { failure, type Result, success } from '../../domain/result.ts';
import { isLocked, NO_SECRET, StoredSecret, unlock } from '../../domain/stored-secret.ts';
import { DISPLAYED_TEXT_MAX } from '../ports/client-store.ts';

/** A stored client as an operator sees it, valid or not. Never contains the secret. */
export interface ManagedClient {
  /** The id of the registration, as text: a table's may be beyond 2^53. */
  readonly id: string;
  readonly clientId: string;
  readonly clientName: string;
  readonly scope: string;
  /** `broken` and `disabled` clients get no token. */
  readonly state: 'enabled' | 'disabled' | 'broken';
  /** log2 of the rounds, also of a locked hash; null if the secret without an id is not a BCrypt encoding, or there is none. */
  readonly bcryptCost: number | null;
  /** The rule that the registration breaks, so that the service refuses the client; null if it breaks none. */
  readonly problem: RegistrationProblem | null;
}

/**
 * Describes clients in the order of their ids. Two clients with the same id both have a problem.
 *
 * @param previousId the id of the client before the first one.
 */
export function describeInOrder(
  clients: readonly ClientRegistrationFields[],
  previousId?: string,
): readonly ManagedClient[] {
  return clients.map((client, index) => {
    const before = index === 0 ? previousId : clients[index - 1]?.clientId;
    return describe(client, client.clientId !== before && client.clientId !== clients[index + 1]?.clientId);
  });
}

/** Describes the client of one id. Storage may have several; the first is described. */
export function describeClient(clients: readonly ClientRegistrationFields[]): Result<ManagedClient, 'client_unknown'> {
  const [client] = describeInOrder(clients);
  return client === undefined ? failure('client_unknown') : success(client);
}

function describe(fields: ClientRegistrationFields, isUnique: boolean): ManagedClient {
  const { clientSecret, ...client } = { ...fields, scope: wholeTokens(fields.scope) };
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
  if (unlock(client.clientSecret) === NO_SECRET) return null;
  return secret.kind === 'bcrypt' ? null : { field: 'clientSecret', rule: 'must be a BCrypt encoding of cost 4 to 14' };
}

/** A scope that was cut while it was read, without the token in which it ends: a part of a token is no token. */
function wholeTokens(scope: string): string {
  const end = scope.length < DISPLAYED_TEXT_MAX ? -1 : scope.lastIndexOf(' ');
  return end === -1 ? scope : scope.slice(0, end);
}
