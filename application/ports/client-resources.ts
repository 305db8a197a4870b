import type { ClientRegistration } from '../../domain/client-registration.ts';

/** The resources that registered clients may name in a token request (RFC 8707). Another program manages them. */
export interface ClientResources {
  /**
   * The resources of this registration as they are stored now, in their registered spelling; none if it lists none, or if
   * the storage has no place for them yet. At most DETAILS_MAX.resources. Those of an earlier registration with the same
   * client id are never among them.
   *
   * Costs one look-up by an index, and throws DependencyUnavailable if storage does not answer in time.
   */
  findResources(registration: Pick<ClientRegistration, 'id' | 'clientId'>): Promise<readonly string[]>;
}
