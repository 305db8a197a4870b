import type { AccessTokenClaims } from '../../domain/access-token-claims.ts';

/** Signs access tokens. */
export interface TokenSigner {
  /**
   * A compact JWS (RFC 7515 section 7.1) over exactly these claims, with the header fields `alg` and `kid` of the
   * signing key. Costs one signature: 0.3 ms of a core by RS256.
   */
  sign(claims: AccessTokenClaims): Promise<string>;
}
