import { type AccessTokenClaims, isFor } from './access-token-claims.ts';
import type { ClientRegistration } from './client-registration.ts';

/** Whose tokens are accepted, and when. */
export interface TokenSituation {
  /** Claim `iss`, compared exactly. */
  readonly issuer: string;
  /** In seconds since the epoch, by the clock of the tokens. */
  readonly now: number;
  /** By how many seconds clocks may differ. */
  readonly leewaySeconds: number;
}

/**
 * Why a token is not accepted now: another issuer, on or after the second of `exp`, or before `nbf` (RFC 7519 sections
 * 4.1.1, 4.1.4 and 4.1.5).
 */
export function defectOf({ iss, exp, nbf }: AccessTokenClaims, { issuer, now, leewaySeconds }: TokenSituation) {
  if (iss !== issuer) return 'token_issuer_foreign';
  if (now - leewaySeconds >= exp) return 'token_expired';
  return now + leewaySeconds < nbf ? 'token_not_yet_valid' : undefined;
}

/** A client that asks about a token. */
export interface Introspector {
  readonly clientId: string;
  /** Those of its registration, or of the token that it authenticates with. */
  readonly scopes: readonly string[];
  /** What it serves as a resource server. */
  readonly audiences: readonly string[];
}

/**
 * Whether a client may know about a token: its own, one for itself or for what it serves, or any token if it has the
 * scope for that.
 */
export function mayKnow(claims: AccessTokenClaims, by: Introspector, scopeForAll: string): boolean {
  const isOwn = claims.sub === by.clientId || isFor(claims, by.clientId);
  return isOwn || by.audiences.some((audience) => isFor(claims, audience)) || by.scopes.includes(scopeForAll);
}

/** What is revoked of the tokens of one client, as far as one of them needs. */
export interface RevocationState {
  /** Whether this very token is. */
  readonly isRevoked: boolean;
  /** All tokens that were issued until this second are, itself included; undefined: there is no such second. */
  readonly issuedUntil: number | undefined;
}

/** Whether a token is revoked, alone or with all that its client had. */
export function isRevoked({ iat }: AccessTokenClaims, { isRevoked: isAlone, issuedUntil }: RevocationState): boolean {
  return isAlone || (issuedUntil !== undefined && iat <= issuedUntil);
}

/**
 * Whether the tokens of a client are active, as it is registered now: not if it is disabled or removed, or its row is
 * broken.
 */
export function isActive(registration: ClientRegistration | undefined): registration is ClientRegistration {
  return registration !== undefined && !registration.isDisabled;
}
