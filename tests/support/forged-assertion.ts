import { randomBytes, randomUUID } from 'node:crypto';

export const JWT_BEARER = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/** Who an assertion claims to come from, and whom it is for. */
export interface ClaimedOrigin {
  readonly iss: string;
  readonly sub: string;
  readonly aud: string;
}

/**
 * The body of a token request with an assertion that nobody signed, a different one each time. ES384 without a key id costs
 * a verifier most. Everything else about it is right, so that only the signature tells.
 *
 * @param more further claims, as JSON fields.
 */
export function forgedRequestBody(origin: ClaimedOrigin, more = ''): string {
  const now = Math.floor(Date.now() / 1_000);
  const claims = JSON.stringify({ ...origin, iat: now, exp: now + 200, jti: randomUUID() });
  const payload = more === '' ? claims : `${claims.slice(0, -1)},${more}}`;
  const parts = [JSON.stringify({ alg: 'ES384' }), payload].map((part) => Buffer.from(part).toString('base64url'));
  const assertion = [...parts, randomBytes(96).toString('base64url')].join('.');
  const type = encodeURIComponent(JWT_BEARER);
  return `grant_type=client_credentials&client_assertion_type=${type}&client_assertion=${assertion}`;
}
