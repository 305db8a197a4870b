import type { AccessTokenClaims } from '../../domain/access-token-claims.ts';

/** The claims of a valid token. Its 300 seconds begin at the time of a new FixedClock. */
export const CLAIMS: AccessTokenClaims & { readonly aud: string } = {
  iss: 'http://issuer.test',
  sub: 'a-client',
  aud: 'a-client',
  iat: 1_800_000_000,
  nbf: 1_800_000_000,
  exp: 1_800_000_300,
  jti: '7d9f0ab6-1c1a-4a0e-9a40-2f8f5d1c2b3a',
};
