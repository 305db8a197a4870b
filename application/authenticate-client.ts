import { ClientAssertion } from '../domain/client-assertion.ts';
import type { ClientRegistration } from '../domain/client-registration.ts';
import { type Refusal, refusedOpenly } from '../domain/refusal.ts';
import type { Result } from '../domain/result.ts';
import type { Caller } from './ports/caller.ts';
import type {
  AssertionCredentials,
  AssertionType,
  ClientAuthentication,
  ClientCredentials,
  SecretCredentials,
} from './ports/client-credentials.ts';

/** An assertion whose parts are read and not verified yet. */
export interface PresentedAssertion {
  readonly assertion: ClientAssertion;
  readonly type: AssertionType;
  /** The `client_id` parameter. */
  readonly clientId?: string | undefined;
}

/** Authentication by an identity of another issuer. */
export interface IdentityAuthentication extends ClientAuthentication<PresentedAssertion> {
  /** Whether the assertion claims to come from an issuer that is trusted here. Costs nothing. */
  isResponsibleFor(presented: PresentedAssertion): boolean;
}

/** How each method authenticates a client; undefined if it is switched off. */
export interface AuthenticationStrategies {
  readonly client_secret_post: ClientAuthentication<SecretCredentials> | undefined;
  readonly client_secret_basic: ClientAuthentication<SecretCredentials> | undefined;
  readonly private_key_jwt: ClientAuthentication<PresentedAssertion> | undefined;
  readonly federated_jwt: IdentityAuthentication | undefined;
}

/**
 * Client authentication by whichever method the credentials are of. A service that accepts only secrets does not need
 * it: there, `AuthenticateBySecret` takes its place.
 */
export class AuthenticateClient implements ClientAuthentication<ClientCredentials> {
  readonly #strategies: Partial<AuthenticationStrategies>;

  constructor(strategies: Partial<AuthenticationStrategies>) {
    this.#strategies = strategies;
  }

  async execute(credentials: ClientCredentials, caller: Caller): Promise<Result<ClientRegistration, Refusal>> {
    if ('assertion' in credentials) return this.#byAssertion(credentials, caller);
    const { client_secret_post, client_secret_basic } = this.#strategies;
    const bySecret = client_secret_post ?? client_secret_basic;
    if (bySecret === undefined) throw new Error('no method for secrets is switched on');
    return bySecret.execute(credentials, caller);
  }

  /** The issuer decides who signed: another one that is trusted here, or the client itself. */
  async #byAssertion(
    { assertion: compact, type, clientId }: AssertionCredentials,
    caller: Caller,
  ): Promise<Result<ClientRegistration, Refusal>> {
    const { private_key_jwt: byKey, federated_jwt: byIdentity } = this.#strategies;
    const assertion = ClientAssertion.parse(compact);
    if (!assertion.ok) return refusedOpenly('assertion_malformed', { assertion_malformed: assertion.problem });
    const presented = { assertion: assertion.value, type, clientId };
    if (byIdentity?.isResponsibleFor(presented)) return byIdentity.execute(presented, caller);
    if (byKey !== undefined && type === 'jwt-bearer') return byKey.execute(presented, caller);
    const trusted = 'an issuer that this server trusts';
    return refusedOpenly('assertion_issuer_untrusted', {
      assertion_issuer_untrusted:
        byKey === undefined
          ? `${trusted}, unless its operator adds private_key_jwt to CLIENT_AUTHENTICATION_METHODS`
          : trusted,
    });
  }
}
