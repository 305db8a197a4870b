import { methodsFor } from '../../domain/authentication-method.ts';
import { hasExpired, marksOf, type NamedSecret } from '../../domain/client-details.ts';
import type { ClientDocument, ExpiryDocument } from '../../domain/client-document.ts';
import { simpleFieldsOf } from '../../domain/client-fields.ts';
import { ClientRegistration, describeProblem } from '../../domain/client-registration.ts';
import { readTokenFields } from '../../domain/details-document.ts';
import { algorithmsOf } from '../../domain/public-jwk.ts';
import { isLocked, NO_SECRET, StoredSecret, unlock } from '../../domain/stored-secret.ts';
import type { StoredClient } from '../ports/client-store.ts';

/** Describes a client with everything that authenticates it, also of a disabled one, for when it is enabled. */
export function describeClient(stored: StoredClient, now: number): ClientDocument {
  const { id, clientId: client_id, clientName: client_name, scope, clientSecret, details, keyIds } = stored;
  const problem = problemOf(stored);
  const own = hasSecretWithoutId(clientSecret) ? [marksOf(details)] : [];
  const withoutId: readonly Partial<NamedSecret>[] = own;
  const secrets = [...withoutId, ...details.secrets].map((secret) => {
    const { secret_id = null, name = null, expires_at = null, generated } = secret;
    const { client_secret: encoded = unlock(clientSecret) } = secret;
    const shown = { secret_id, name, expires_at, bcrypt_cost: costOf(encoded) };
    return { ...shown, expired: hasExpired(secret, now), generated: generated === true };
  });
  const keys = details.jwks.keys.map((key, index) => {
    const { kid = null, kty, expires_at = null } = key;
    const key_id = keyIds[index] ?? '';
    return { key_id, kid, kty, algorithms: algorithmsOf(key), expires_at, expired: hasExpired(key, now) };
  });
  const isValid = ({ expired }: ExpiryDocument) => !expired;
  return {
    id,
    client_id,
    client_name,
    scope,
    state: isLocked(clientSecret) ? 'disabled' : problem === null ? 'enabled' : 'broken',
    bcrypt_cost: costOf(unlock(clientSecret)),
    problem,
    authentication_methods: methodsFor({
      secret: secrets.some(isValid),
      key: keys.some(isValid),
      subject: details.federated_subjects.length > 0,
    }),
    secrets,
    keys,
    federated_subjects: details.federated_subjects,
    resources: details.resources,
    ...simpleFieldsOf(details),
  };
}

/** Whether the column `client_secret` has a secret that can match, now or when the client is enabled. */
export function hasSecretWithoutId(stored: string): boolean {
  return StoredSecret.parse(unlock(stored)).kind !== 'unusable';
}

/** Null if it is not a BCrypt encoding. */
function costOf(encoded: string): number | null {
  return StoredSecret.parse(encoded).cost || null;
}

function problemOf({ details, problem, ...client }: StoredClient): string | null {
  const registration = ClientRegistration.of({ ...client, ...readTokenFields({ ...details }) });
  if (!registration.ok) return describeProblem(registration.problem);
  const stored = unlock(client.clientSecret);
  const isUsable = costOf(stored) !== null || stored === NO_SECRET;
  return isUsable ? (problem ?? null) : 'client_secret must be a BCrypt encoding of cost 4 to 14';
}
