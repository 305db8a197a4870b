import type { ClientAssertion } from '../../domain/client-assertion.ts';
import type { PublicJwk } from '../../domain/public-jwk.ts';

/** `key_unknown`: none of the keys has the header's `kid` and algorithm. */
export type AssertionVerdict = 'verified' | 'key_unknown' | 'signature_wrong';

/** Verifies signatures of assertions by RS256, PS256, ES256, ES384 and EdDSA. */
export interface AssertionVerifier {
  /**
   * What verifying this assertion costs at most: log2 of its work, in tenths of a millisecond of a core. It depends on
   * no key. Undefined if no key can have made the signature, which `verify` then finds out at once.
   */
  cost(assertion: ClientAssertion): number | undefined;

  /**
   * Whether one of these keys signed the assertion: the one with the `kid` of its header, or without `kid` any of its
   * algorithm. Without such a key it verifies against its own key, which takes the same time. Never throws for what a
   * caller sent.
   */
  verify(assertion: ClientAssertion, keys: readonly PublicJwk[]): Promise<AssertionVerdict>;
}
