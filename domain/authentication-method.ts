/**
 * The client authentication methods, by their names in metadata (RFC 8414 section 2, RFC 7591 section 2).
 * `federated_jwt` is a name of this service: an assertion that another issuer signed (RFC 7523 section 3).
 *
 * A new one begins here. The compiler then asks for its row in every table of methods; docs/how-a-token-is-issued.md
 * has the whole list.
 */
export const AUTHENTICATION_METHODS = [
  'client_secret_post',
  'client_secret_basic',
  'private_key_jwt',
  'federated_jwt',
] as const;

export type AuthenticationMethod = (typeof AUTHENTICATION_METHODS)[number];

/** What the registration of a client has to have for a method. */
type Credential = 'secret' | 'key' | 'subject';

const NEEDS: Readonly<Record<AuthenticationMethod, Credential>> = {
  client_secret_post: 'secret',
  client_secret_basic: 'secret',
  private_key_jwt: 'key',
  federated_jwt: 'subject',
};

/** Whether a client sends a secret by each of the methods; by the others it sends a signed assertion. */
export function sendOnlySecrets(methods: readonly AuthenticationMethod[]): boolean {
  return methods.every((method) => NEEDS[method] === 'secret');
}

/** The methods by which a client may authenticate that has these. */
export function methodsFor(has: Readonly<Record<Credential, boolean>>): readonly AuthenticationMethod[] {
  return AUTHENTICATION_METHODS.filter((method) => has[NEEDS[method]]);
}
