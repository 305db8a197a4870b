import type { TokenAlgorithm } from '../../domain/token-key.ts';

/**
 * A published key, and since when and until when it is in its state, in seconds: since the epoch, unless the method says otherwise.
 * Undefined: not known, or for ever.
 */
export interface KeyPeriod {
  readonly kid: string;
  readonly alg: TokenAlgorithm;
  /** `trusted`: a key of another replica, of which only the end is known. */
  readonly state: 'published' | 'signing' | 'retired' | 'trusted';
  readonly from: number | undefined;
  readonly until: number | undefined;
}
