import type { AccessTokenClaims } from '../../domain/access-token-claims.ts';

/** Signs access tokens. */
export interface TokenSigner {
  /**
   * A compact JWS (RFC 7515 section 7.1) over exactly these claims, with the header members `alg` (RS256) and `kid`.
   * Costs one RSA-2048 signature, 0.3 ms of a core.
   */
  sign(claims: AccessTokenClaims): Promise<string>;
}
