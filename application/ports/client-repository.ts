import type { ClientKey, FederatedSubject } from '../../domain/client-details.ts';
import type { ClientRegistration, RegistrationProblem } from '../../domain/client-registration.ts';
import type { StoredSecret } from '../../domain/stored-secret.ts';

/** What a look-up finds. `broken`: there is a registration with that id, but it breaks an invariant. */
export type ClientLookup =
  | { readonly kind: 'found'; readonly registration: ClientRegistration }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'broken'; readonly problem: RegistrationProblem };

/** A client with its keys, expired ones too; none of an unknown one. */
export type ClientWithKeys = { readonly keys: readonly ClientKey[] } & (
  | { readonly isRegistered: false; readonly lookup: ClientLookup & { readonly kind: 'unknown' } }
  /** What is registered is read at each access: only once an assertion is verified, since a long registration takes longer. */
  | { readonly isRegistered: true; readonly lookup: Exclude<ClientLookup, { readonly kind: 'unknown' }> }
);

/** `findBySubject` returns no more candidates than this. */
export const FEDERATED_CANDIDATES_MAX = 20;

/** Who signed an identity, and whose it is. With a client id, only that client is found. */
export type FederatedIdentity = Pick<FederatedSubject, 'issuer' | 'subject'> & {
  readonly clientId?: string | undefined;
};

/** A client with a rule for an identity. */
export interface FederatedCandidate {
  readonly clientId: string;
  readonly lookup: Exclude<ClientLookup, { kind: 'unknown' }>;
  /** The conditions of the rule; undefined if they cannot be read. */
  readonly claims: FederatedSubject['claims'] | undefined;
}

/**
 * The registered clients. Another program manages them; this service only reads. Each method reads what is stored now: a
 * new, changed or removed registration takes effect at the next request.
 *
 * Each method finds exactly this client id: case, accents and spaces count. It costs one look-up by a unique index, and
 * throws DependencyUnavailable if storage does not answer in time. A client that could not be looked up is never `unknown`.
 *
 * A secret id, which stands in front of a presented secret, selects the client's secret of this id. Without an id, and if
 * no secret of this id is valid now, the client's secret without an id is selected.
 */
export interface ClientRepository {
  /** The whole registration, with the secret that the id selects. For a client that has authenticated, or whose secret is cached. */
  findByClientId(clientId: string, secretId?: string): Promise<ClientLookup>;

  /**
   * Only the stored secret that the id selects, or undefined for an unknown client id. Takes the same time for an unknown id, and for a
   * long registration as for a short one; details are read only for a secret id.
   */
  findSecret(clientId: string, secretId?: string): Promise<StoredSecret | undefined>;

  /**
   * The registration and its keys, or with a `kid` those of that name, in one look-up, for `private_key_jwt`. An unknown id costs about
   * as much (decision 0306): a key is read in its place.
   */
  findWithKeys(clientId: string, kid?: string): Promise<ClientWithKeys>;

  /**
   * The clients with a rule for exactly this issuer and subject, compared byte by byte, in the order of their ids; of more than
   * FEDERATED_CANDIDATES_MAX, the first ones. Costs one look-up by an index, with or without a rule.
   */
  findBySubject(identity: FederatedIdentity): Promise<readonly FederatedCandidate[]>;
}
