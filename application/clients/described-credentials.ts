import type { AuthenticationMethod } from '../../domain/authentication-method.ts';
import type { FederatedSubject } from '../../domain/client-details.ts';
import { algorithmsOf } from '../../domain/public-jwk.ts';
import { type Result, success } from '../../domain/result.ts';
import { StoredSecret, unlock } from '../../domain/stored-secret.ts';
import type { ClientAfterChange, CredentialsSummary, StoredCredentials } from '../ports/client-store.ts';
import { describeClient, type ManagedClient } from './managed-client.ts';

/** When something stops to authenticate its client. */
interface Expiring {
  /** Seconds since the epoch; null if it never expires. */
  readonly expiresAt: number | null;
  readonly isExpired: boolean;
}

/** A secret as an operator sees it. Never contains its hash. */
export interface DescribedSecret extends Expiring {
  /** Null for the secret without an id, which is in the table of the clients. */
  readonly secretId: string | null;
  readonly name: string | null;
}

export interface DescribedKey extends Expiring {
  readonly keyId: string;
  readonly kid: string | null;
  readonly type: string;
  readonly algorithms: readonly string[];
}

/** How a client authenticates, and what it may name as a resource. */
export interface DescribedCredentials {
  /** The methods for which the client has something that is valid now, whatever the service has switched on. */
  readonly methods: readonly AuthenticationMethod[];
  readonly secrets: readonly DescribedSecret[];
  readonly keys: readonly DescribedKey[];
  readonly subjects: readonly FederatedSubject[];
  readonly resources: readonly string[];
}

/** A client with its credentials, without any secret. */
export interface DescribedClient {
  readonly client: ManagedClient;
  readonly credentials: DescribedCredentials;
}

/** Describes the client of one id. Storage may have several; the first is described. */
export function describeWithCredentials(
  { clients, details }: ClientAfterChange,
  now: number,
): Result<DescribedClient, 'client_unknown'> {
  const client = describeClient(clients);
  if (!client.ok) return client;
  const clientSecret = clients[0]?.clientSecret ?? '';
  return success({ client: client.value, credentials: describeCredentials({ clientSecret, details }, now) });
}

/** Describes credentials, also those of a disabled client, which come back when it is enabled. */
function describeCredentials({ clientSecret, details }: StoredCredentials, now: number): DescribedCredentials {
  const expiring = (expiresAt = Infinity): Expiring => ({
    expiresAt: expiresAt === Infinity ? null : expiresAt,
    isExpired: expiresAt <= now,
  });
  const secrets: DescribedSecret[] = details.secrets.map(({ secretId, name, expiresAt }) => ({
    secretId,
    name,
    ...expiring(expiresAt),
  }));
  if (hasSecretWithoutId(clientSecret)) secrets.unshift({ secretId: null, name: null, ...expiring() });
  const keys = details.keys.map(({ keyId, jwk, expiresAt }) => {
    const { kty: type, kid = null } = jwk;
    return { keyId, kid, type, algorithms: algorithmsOf(jwk), ...expiring(expiresAt) };
  });
  const isLive = ({ isExpired }: Expiring) => !isExpired;
  const hasSubject = details.subjects.length > 0;
  const methods = methodsOf({ hasSecret: secrets.some(isLive), hasKey: keys.some(isLive), hasSubject });
  return { methods, secrets, keys, subjects: details.subjects, resources: details.resources };
}

/** The methods of a client with that secret in the table of the clients, and details of which that is a summary. */
export function methodsOfSummary(
  clientSecret: string,
  { secretsUntil = -Infinity, keysUntil = -Infinity, hasSubjects }: CredentialsSummary,
  now: number,
): readonly AuthenticationMethod[] {
  const hasSecret = hasSecretWithoutId(clientSecret) || secretsUntil > now;
  return methodsOf({ hasSecret, hasKey: keysUntil > now, hasSubject: hasSubjects });
}

/** The methods for which a client has something that is valid. */
function methodsOf(
  has: Readonly<Record<'hasSecret' | 'hasKey' | 'hasSubject', boolean>>,
): readonly AuthenticationMethod[] {
  return [
    ...(has.hasSecret ? (['client_secret_post', 'client_secret_basic'] as const) : []),
    ...(has.hasKey ? (['private_key_jwt'] as const) : []),
    ...(has.hasSubject ? (['federated_jwt'] as const) : []),
  ];
}

/** Whether the table of the clients has a secret that can match, now or when the client is enabled. */
export function hasSecretWithoutId(stored: string): boolean {
  return StoredSecret.parse(unlock(stored)).kind !== 'unusable';
}
