import { NO_DETAILS, withMarks, withoutEmpty } from '../../domain/client-details.ts';
import type { ClientDocument } from '../../domain/client-document.ts';
import { ClientRegistration, type RegistrationProblem } from '../../domain/client-registration.ts';
import { checkDetails, type DetailsProblem } from '../../domain/details-rules.ts';
import { failure, type Result, success } from '../../domain/result.ts';
import { NO_SECRET } from '../../domain/stored-secret.ts';
import { type AddedDetails, type ManagementParts, problemOfRules } from './change-client.ts';
import { describeClient } from './describe-client.ts';
import { type NamedSecretRequest, newSecret, type SecretRequest } from './new-secret.ts';

export interface NewClientRequest {
  /** Generated if it is undefined. */
  readonly clientId: string | undefined;
  readonly clientName: string;
  /** Space-delimited (RFC 6749 section 3.3). */
  readonly scope: string;
  /** A secret without an id, or with a generated one; undefined for a client that authenticates in another way. */
  readonly secret: SecretRequest | NamedSecretRequest | undefined;
  readonly details?: AddedDetails;
}

/** A client, and its secret if it has one. */
export interface AddedClient {
  readonly client: ClientDocument;
  readonly secret?: string | undefined;
}

export type AddClientProblem = RegistrationProblem | DetailsProblem | 'client_id_taken';

const WITHOUT_SECRET = { secret: undefined, clientSecret: NO_SECRET, marks: undefined, secrets: [] };

/** Registers a client. */
export async function addClient(
  parts: ManagementParts,
  request: NewClientRequest,
): Promise<Result<AddedClient, AddClientProblem>> {
  const { store, lastUsed, ids, clock, checkRule } = parts;
  const { clientId = ids.uuid(), clientName, scope } = request;
  const fields = { clientId, clientSecret: NO_SECRET, clientName, scope };
  const registration = ClientRegistration.toRegister({ ...fields, id: 'not stored yet' });
  if (!registration.ok) return registration;
  const { secret, clientSecret, marks, secrets } =
    request.secret === undefined ? WITHOUT_SECRET : await newSecret(parts, request.secret);
  const details = checkDetails(withMarks({ ...NO_DETAILS, ...request.details, secrets }, marks ?? {}));
  if (!details.ok) return details;
  const weakRule = problemOfRules(details.value.federated_subjects, checkRule);
  if (weakRule !== undefined) return failure(weakRule);
  const added = await store.add({ ...fields, clientSecret, details: withoutEmpty(details.value) });
  if (added === undefined) return failure('client_id_taken');
  // Of a client that had this id before, and was removed by another program.
  await lastUsed.forget([clientId]);
  return success({ client: describeClient(added, clock.now()), secret });
}
