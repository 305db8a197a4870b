/**
 * The client authentication methods, by their names in metadata (RFC 8414 section 2, RFC 7591 section 2). `federated_jwt` is
 * a name of this service: an assertion that another issuer signed (RFC 7523 section 3).
 */
export const AUTHENTICATION_METHODS = [
  'client_secret_post',
  'client_secret_basic',
  'private_key_jwt',
  'federated_jwt',
] as const;

export type AuthenticationMethod = (typeof AUTHENTICATION_METHODS)[number];

/** Whether one of the methods sends the secret of a client. */
export function usesSecrets(methods: readonly AuthenticationMethod[]): boolean {
  return methods.includes('client_secret_post') || methods.includes('client_secret_basic');
}

/** Whether one of the methods sends a signed assertion. */
export function usesAssertions(methods: readonly AuthenticationMethod[]): boolean {
  return methods.includes('private_key_jwt') || methods.includes('federated_jwt');
}
