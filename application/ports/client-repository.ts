import type { ClientRegistration, RegistrationProblem } from '../../domain/client-registration.ts';

/** What a look-up finds. `broken`: there is a registration with that id, but it breaks an invariant. */
export type ClientLookup =
  | { readonly kind: 'found'; readonly registration: ClientRegistration }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'broken'; readonly problem: RegistrationProblem };

/** The registered clients. Another program manages them; this service only reads. */
export interface ClientRepository {
  /**
   * The registration with exactly this client id: case, accents and spaces count. Reads what is stored now: a new,
   * changed or removed registration takes effect at the next request.
   *
   * Costs one look-up by a unique index. Throws DependencyUnavailable if storage does not answer in time; never
   * returns `unknown` for a client that it could not look up.
   */
  findByClientId(clientId: string): Promise<ClientLookup>;
}
