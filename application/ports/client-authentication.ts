import type { ClientRegistration } from '../../domain/client-registration.ts';
import type { Refusal } from '../../domain/refusal.ts';
import type { Result } from '../../domain/result.ts';
import type { Caller } from './caller.ts';

/** A way to authenticate a client: one for each kind of credentials, and one for all. */
export interface ClientAuthentication<Credentials> {
  /**
   * The registration that the credentials authenticate, or a refusal. All refusals of one kind of credentials do the same
   * work and are answered alike, whether or not a client is registered. Throws DependencyUnavailable if storage is out of
   * reach or there is no capacity.
   */
  execute(credentials: Credentials, caller: Caller): Promise<Result<ClientRegistration, Refusal>>;
}
