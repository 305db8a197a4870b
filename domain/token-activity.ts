import { type AccessTokenClaims, isFor } from './access-token-claims.ts';
import type { ClientRegistration } from './client-registration.ts';

/** What decides whether a token counts, beside its signature. */
export interface TokenSituation {
  readonly issuer: string;
  /** In seconds since the epoch, by the clock of the tokens. */
  readonly now: number;
  /** By how many seconds clocks may differ. */
  readonly leewaySeconds: number;
}

/** Whether the token is of this issuer, and its time has come and is not over (RFC 7519 sections 4.1.1, 4.1.4 and 4.1.5). */
export function isInTime(claims: AccessTokenClaims, { issuer, now, leewaySeconds }: TokenSituation): boolean {
  return claims.iss === issuer && now - leewaySeconds < claims.exp && now + leewaySeconds >= claims.nbf;
}

/** A client that asks about a token. */
export interface Introspector {
  readonly clientId: string;
  /** That it was authenticated with: of its registration, or of its token. */
  readonly scopes: readonly string[];
  /** What it serves as a resource server. */
  readonly audiences: readonly string[];
}

/** Whether a client may know about a token: its own one, one for itself or what it serves, or each, with the scope for that. */
export function mayKnow(claims: AccessTokenClaims, by: Introspector, scopeForAll: string): boolean {
  const isOwn = claims.sub === by.clientId || isFor(claims, by.clientId);
  return isOwn || by.audiences.some((audience) => isFor(claims, audience)) || by.scopes.includes(scopeForAll);
}

/** What was taken back of the tokens of a client, as far as one of them needs. */
interface TakenBack {
  readonly isRevoked: boolean;
  readonly issuedUntil: number | undefined;
}

/** Whether a token was revoked, alone or with all that its client had until then. */
export function isRevoked({ iat }: AccessTokenClaims, { isRevoked: isAlone, issuedUntil }: TakenBack): boolean {
  return isAlone || (issuedUntil !== undefined && iat <= issuedUntil);
}

/** Whether tokens of a client count, as it is registered now: not once it was disabled or removed, or its row is broken. */
export function countsFor(registration: ClientRegistration | undefined): boolean {
  return registration !== undefined && !registration.isDisabled;
}
