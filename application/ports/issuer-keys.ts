import type { PublicJwk } from '../../domain/public-jwk.ts';

/** The keys of an issuer as they were last fetched. */
export interface IssuerKeySet {
  readonly keys: readonly PublicJwk[];
  /** False if the last attempt to fetch them failed: the issuer may have a newer key. */
  readonly current: boolean;
}

/** The keys of the trusted issuers. They are fetched in the background, never because of a request. */
export interface IssuerKeys {
  /** Never waits. Throws DependencyUnavailable if the set was never fetched, or too long ago. */
  keysOf(issuer: string): IssuerKeySet;
}
