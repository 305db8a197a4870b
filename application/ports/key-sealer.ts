import type { KeyPlan } from '../../domain/key-chain.ts';
import type { TokenAlgorithm } from '../../domain/token-key.ts';
import type { KeyPair } from './key-provider.ts';

/** A pair that is in no ring yet. */
export interface NewKey {
  readonly kid: string;
  /** The pair and its plan as one text, which only the holder of a secret can read. Throws without a secret. */
  seal(plan: KeyPlan): Promise<string>;
}

export type OpenedSeal =
  | { readonly state: 'opened'; readonly plan: KeyPlan; readonly pair: KeyPair }
  /** As far as can be seen it needs a secret or a version that this replica lacks. In words for an operator. */
  | { readonly state: 'locked'; readonly reason: string }
  /** No secret opens it. */
  | { readonly state: 'damaged' };

/** Makes the keys of the ring. Their private halves leave this service only sealed. */
export interface KeySealer {
  /** A new pair. May take half a second, off the event loop. */
  make(algorithm: TokenAlgorithm): Promise<NewKey>;

  /** Why no key could be sealed now, such as a file that is missing; never with a secret. */
  problem(): string | undefined;

  /** What is sealed, which nobody without a secret can have written or changed. */
  open(sealed: string): Promise<OpenedSeal>;
}
