/**
 * The client authentication methods, by their names in metadata (RFC 8414 section 2, RFC 7591 section 2). `federated_jwt` is
 * a name of this service: an assertion that another issuer signed (RFC 7523 section 3).
 *
 * A new one begins here. The compiler then asks for its row in every table of methods; docs/how-a-token-is-issued.md has the whole list.
 */
export const AUTHENTICATION_METHODS = [
  'client_secret_post',
  'client_secret_basic',
  'private_key_jwt',
  'federated_jwt',
] as const;

export type AuthenticationMethod = (typeof AUTHENTICATION_METHODS)[number];

interface MethodRow {
  /** What a client sends. */
  readonly sends: 'secret' | 'assertion';
  /** What its registration has to have for that. */
  readonly needs: 'secret' | 'key' | 'subject';
  /** Whether what it sends is good for one request, so that the storage has to know what was used. */
  readonly isUsedOnce: boolean;
}

const METHODS: Readonly<Record<AuthenticationMethod, MethodRow>> = {
  client_secret_post: { sends: 'secret', needs: 'secret', isUsedOnce: false },
  client_secret_basic: { sends: 'secret', needs: 'secret', isUsedOnce: false },
  private_key_jwt: { sends: 'assertion', needs: 'key', isUsedOnce: true },
  federated_jwt: { sends: 'assertion', needs: 'subject', isUsedOnce: false },
};

/** Whether each of the methods sends a secret. */
export function sendOnlySecrets(methods: readonly AuthenticationMethod[]): boolean {
  return methods.every((method) => METHODS[method].sends === 'secret');
}

/** Whether one of the methods sends a signed assertion. */
export function usesAssertions(methods: readonly AuthenticationMethod[]): boolean {
  return methods.some((method) => METHODS[method].sends === 'assertion');
}

/** Whether used assertions have to be recorded for one of the methods. */
export function recordsUses(methods: readonly AuthenticationMethod[]): boolean {
  return methods.some((method) => METHODS[method].isUsedOnce);
}

/** The methods by which a client may authenticate that has these. */
export function methodsFor(has: Readonly<Record<MethodRow['needs'], boolean>>): readonly AuthenticationMethod[] {
  return AUTHENTICATION_METHODS.filter((method) => has[METHODS[method].needs]);
}
