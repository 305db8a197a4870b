import type { TokenAlgorithm } from '../../domain/token-key.ts';

/**
 * A published key, and since when and until when it is in its state, in seconds: since the epoch, unless the method says otherwise. A
 * key may be `signing` from a moment that has not come. `null`: no time is known or set.
 */
export interface KeyPeriod {
  readonly kid: string;
  readonly alg: TokenAlgorithm;
  /** `trusted`: a key of another replica, of which only the end is known. */
  readonly state: 'published' | 'signing' | 'retired' | 'trusted';
  readonly from: number | null;
  readonly until: number | null;
}
