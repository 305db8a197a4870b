/** What a client presents (RFC 6749 section 2.3.1). The secret is for comparison and nothing else. */
export interface ClientCredentials {
  readonly clientId: string;
  readonly clientSecret: string;
}
