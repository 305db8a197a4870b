import type { ClientKey, FederatedSubject } from '../../domain/client-details.ts';
import type { ClientRegistration, RegistrationProblem } from '../../domain/client-registration.ts';
import type { StoredSecret } from '../../domain/stored-secret.ts';

/** What a look-up finds. `broken`: there is a registration with that id, but it breaks an invariant. */
export type ClientLookup =
  | { readonly kind: 'found'; readonly registration: ClientRegistration }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'broken'; readonly problem: RegistrationProblem };

/** What a stranger makes a repository read: of the client, or of another one in the place of an unknown client. */
interface ReadForStranger {
  readonly isRegistered: boolean;
}

/** The stored secret to compare with. What matches that of another client is refused all the same. */
export interface ClientSecret extends ReadForStranger {
  readonly secret: StoredSecret;
}

/** Keys, expired ones too. What verifies by the key of another client is refused all the same. */
export interface ClientKeys extends ReadForStranger {
  readonly keys: readonly ClientKey[];
}

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
 * The registered clients. Another program manages them; this service only reads. Each method reads what is stored now:
 * a new, changed or removed registration takes effect at the next request.
 *
 * Each method finds exactly this client id: case, accents and spaces count. It costs one look-up by indexes, and throws
 * DependencyUnavailable if storage does not answer in time. A client that could not be looked up is never `unknown`.
 *
 * A secret id, which stands in front of a presented secret, selects the client's secret of this id. Without an id, and
 * if no secret of this id is valid now, the client's secret without an id is selected.
 */
export interface ClientRepository {
  /**
   * The whole registration, with the secret that the id selects. For a client that has authenticated, now or earlier by
   * this secret.
   */
  findByClientId(clientId: string, secretId?: string): Promise<ClientLookup>;

  /**
   * Only the secret that the id selects. An unknown client id goes the whole way of a registered one, with the row of
   * another client that its hash picks: read, parsed, and used by the caller.
   */
  findSecret(clientId: string, secretId?: string): Promise<ClientSecret>;

  /** The keys, or with a `kid` those of that name, for `private_key_jwt`. Otherwise as `findSecret`. */
  findKeys(clientId: string, kid?: string): Promise<ClientKeys>;

  /**
   * The clients with a rule for exactly this issuer and subject, compared byte by byte, in the order of their ids; of
   * more than FEDERATED_CANDIDATES_MAX, the first ones. Costs one look-up by an index, with or without a rule.
   */
  findBySubject(identity: FederatedIdentity): Promise<readonly FederatedCandidate[]>;
}
