import type { ClientRegistration, RegistrationProblem } from '../../domain/client-registration.ts';

/** What a look-up finds. `broken`: there is a registration of that id, but it breaks an invariant. */
export type ClientLookup =
  | { readonly kind: 'found'; readonly registration: ClientRegistration }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'broken'; readonly problem: RegistrationProblem };

/** The registered clients, which somebody else manages: this service only reads. */
export interface ClientRepository {
  /**
   * The registration of exactly this client id: case, accents and spaces count. Reads what is stored now, so that a
   * new, changed or removed registration takes effect at the next request.
   *
   * Costs one look-up by a unique index. Throws DependencyUnavailable where storage does not answer in time; never
   * answers `unknown` for a client that it could not look up.
   */
  findByClientId(clientId: string): Promise<ClientLookup>;
}
