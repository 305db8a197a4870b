import type { AuthenticationMethod } from '../../domain/authentication-method.ts';
import type { Settings } from './settings.ts';

/** The methods whose credentials this deployment verifies: those of clients, and what a grant accepts. */
export function verifiedMethods({
  CLIENT_AUTHENTICATION_METHODS: methods,
  GRANT_TYPES: grants,
  CLIENT_ASSERTION_ISSUERS_FILE: issuersFile,
}: Pick<
  Settings,
  'CLIENT_AUTHENTICATION_METHODS' | 'GRANT_TYPES' | 'CLIENT_ASSERTION_ISSUERS_FILE'
>): readonly AuthenticationMethod[] {
  if (!grants.includes('jwt-bearer')) return methods;
  return [...methods, 'private_key_jwt', ...(issuersFile === undefined ? [] : (['federated_jwt'] as const))];
}
