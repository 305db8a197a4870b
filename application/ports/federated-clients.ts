import type { FederatedSubject } from '../../domain/client-details.ts';
import type { ClientLookup } from './client-repository.ts';

/** A look-up returns no more candidates than this. */
export const FEDERATED_CANDIDATES_MAX = 20;

/** Who signed an identity, and whose it is. With a client id, only that client is found. */
export type FederatedIdentity = Pick<FederatedSubject, 'issuer' | 'subject'> & {
  readonly clientId?: string | undefined;
};

/** A client with a rule for the identity. */
export interface FederatedCandidate {
  readonly clientId: string;
  readonly lookup: Exclude<ClientLookup, { kind: 'unknown' }>;
  /** The conditions of the rule; undefined if they cannot be read. */
  readonly claims: FederatedSubject['claims'] | undefined;
}

/** The rules that map identities of other issuers to clients. */
export interface FederatedClients {
  /**
   * The clients with a rule for exactly this issuer and subject, compared byte by byte, in the order of their ids; of more than
   * `FEDERATED_CANDIDATES_MAX`, the first ones. Reads what is stored now. Costs one look-up, with or without a rule. Throws
   * DependencyUnavailable if storage does not answer in time.
   */
  findBySubject(identity: FederatedIdentity): Promise<readonly FederatedCandidate[]>;
}
