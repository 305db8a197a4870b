/** A client id and a secret, in the body or the header (RFC 6749 section 2.3.1). The secret is for comparison and nothing else. */
export interface SecretCredentials {
  readonly clientId: string;
  readonly clientSecret: string;
}

/** A signed assertion instead of a secret (RFC 7521 section 4.2). The assertion is a credential too. */
export interface AssertionCredentials {
  /** The last part of `client_assertion_type`. */
  readonly type: AssertionType;
  /** The compact form of a JWT, as it was sent. */
  readonly assertion: string;
  /** The `client_id` parameter, which need not be there (RFC 7521 section 4.2). */
  readonly clientId?: string | undefined;
}

/** What a client presents to authenticate. */
export type ClientCredentials = SecretCredentials | AssertionCredentials;

/** `urn:ietf:params:oauth:client-assertion-type:` and this. */
export const ASSERTION_TYPES = ['jwt-bearer', 'jwt-spiffe'] as const;

export type AssertionType = (typeof ASSERTION_TYPES)[number];
