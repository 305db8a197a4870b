import { randomBytes, randomUUID } from 'node:crypto';
import { GRANT_NAMES } from '../../domain/grant-type.ts';

export const JWT_BEARER = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/** Where a request has an assertion: it authenticates the client, or is the grant itself. */
export type AssertionUse = 'client' | 'grant';

/** The parameters of a token request with an assertion. */
export function assertionFields(assertion: string, use: AssertionUse = 'client'): Readonly<Record<string, string>> {
  return use === 'grant'
    ? { grant_type: GRANT_NAMES['jwt-bearer'], assertion }
    : { grant_type: GRANT_NAMES.client_credentials, client_assertion_type: JWT_BEARER, client_assertion: assertion };
}

/** Who an assertion claims to come from, and whom it is for. */
export interface ClaimedOrigin {
  readonly iss: string;
  readonly sub: string;
  readonly aud: string;
}

/**
 * The body of a token request with an assertion that nobody signed, a different one each time. ES384 without a key id
 * costs a verifier most. Everything else about it is right, so that only the signature tells.
 *
 * @param more further claims, as JSON fields.
 */
export function forgedRequestBody(origin: ClaimedOrigin, more = '', use: AssertionUse = 'client'): string {
  const now = Math.floor(Date.now() / 1_000);
  const claims = JSON.stringify({ ...origin, iat: now, exp: now + 200, jti: randomUUID() });
  const payload = more === '' ? claims : `${claims.slice(0, -1)},${more}}`;
  const parts = [JSON.stringify({ alg: 'ES384' }), payload].map((part) => Buffer.from(part).toString('base64url'));
  const assertion = [...parts, randomBytes(96).toString('base64url')].join('.');
  return new URLSearchParams(assertionFields(assertion, use)).toString();
}
