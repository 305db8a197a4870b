import type { ClientKey } from '../../domain/client-details.ts';

export interface FoundKeys {
  /** The `id` of the registration that the keys belong to; undefined for an unknown client id. */
  readonly registrationId: string | undefined;
  /** Expired ones too. None of a client id with several rows. */
  readonly keys: readonly ClientKey[];
}

/** The keys of registered clients, for `private_key_jwt`. Read at every look-up, as in ClientRepository. */
export interface ClientKeys {
  /**
   * Only the keys of exactly this client id. One look-up, which takes the same time for an unknown id, and for a long
   * registration as for a short one. Throws DependencyUnavailable if storage does not answer in time.
   */
  findKeys(clientId: string): Promise<FoundKeys>;
}
