import type { ClientRegistration, RegistrationProblem } from '../../domain/client-registration.ts';
import type { StoredSecret } from '../../domain/stored-secret.ts';

/** What a look-up finds. `broken`: there is a registration with that id, but it breaks an invariant. */
export type ClientLookup =
  | { readonly kind: 'found'; readonly registration: ClientRegistration }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'broken'; readonly problem: RegistrationProblem };

/**
 * The registered clients. Another program manages them; this service only reads. Each method reads what is stored now: a
 * new, changed or removed registration takes effect at the next request.
 *
 * Each method finds exactly this client id: case, accents and spaces count. It costs one look-up by a unique index, and
 * throws DependencyUnavailable if storage does not answer in time. A client that could not be looked up is never `unknown`.
 *
 * A secret id, which stands in front of a presented secret, selects the client's secret of this id. Without an id, and if
 * no secret of this id is valid now, the client's secret without an id is selected. All of them take the same time.
 */
export interface ClientRepository {
  /** The whole registration, with the secret that the id selects. */
  findByClientId(clientId: string, secretId?: string): Promise<ClientLookup>;

  /**
   * Only the stored secret that the id selects, or undefined for an unknown client id; of a client id with several rows, one that nothing can
   * match. Takes the same time for an unknown id, and for a long registration as for a short one.
   */
  findSecret(clientId: string, secretId?: string): Promise<StoredSecret | undefined>;
}
