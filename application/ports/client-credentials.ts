import type { ClientRegistration } from '../../domain/client-registration.ts';
import type { Refusal } from '../../domain/refusal.ts';
import type { Result } from '../../domain/result.ts';
import type { Caller } from './caller.ts';

/** A client id and a secret, in the body or the header (RFC 6749 section 2.3.1). The secret is only compared. */
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

/** A way to authenticate a client: one for each kind of credentials, and one for all. */
export interface ClientAuthentication<Credentials> {
  /**
   * The registration that the credentials authenticate, or a refusal. All refusals of one kind of credentials do the
   * same work and are answered alike, whether or not a client is registered. Throws DependencyUnavailable if storage is
   * out of reach or there is no capacity.
   */
  execute(credentials: Credentials, caller: Caller): Promise<Result<ClientRegistration, Refusal>>;
}
