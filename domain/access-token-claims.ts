/**
 * The claims of an access token (RFC 7519 section 4.1). Times are whole seconds since the epoch.
 * `scope` is present only if the deployment enables it: an array of strings, or one space-delimited string in tokens of
 * RFC 9068.
 */
export interface AccessTokenClaims {
  readonly iss: string;
  /** The client's id. */
  readonly sub: string;
  /**
   * The client's id too, unless the deployment sets an audience or the request names resources (RFC 8707); several are
   * an array.
   */
  readonly aud: string | readonly string[];
  readonly iat: number;
  readonly nbf: number;
  /** The first second in which the token is no longer valid. */
  readonly exp: number;
  /** A UUID, different for every token. */
  readonly jti: string;
  readonly scope?: readonly string[] | string;
  /** The client's id again (RFC 8693 section 4.3), in tokens of RFC 9068. */
  readonly client_id?: string;
}

/**
 * The length of an access token in its compact form, in characters. A longer one is neither issued nor accepted: a
 * server limits the header fields of a request, this one to 8 KiB.
 */
export const TOKEN_LENGTH_MAX = 7 * 1024;

/**
 * The media type of an access token, header field `typ`: `at+jwt` of RFC 9068 section 2.1, or that of any JWT (RFC 7519
 * section 5.1).
 */
export type TokenType = 'at+jwt' | 'JWT';

/** Whether a payload has each claim that is required, of its type, with times in whole seconds and in order. */
export function isAccessTokenClaims(payload: unknown): payload is AccessTokenClaims {
  if (typeof payload !== 'object' || payload === null) return false;
  const claims = payload as Partial<Record<keyof AccessTokenClaims, unknown>>;
  return (
    isText(claims.iss) &&
    isText(claims.sub) &&
    isAudience(claims.aud) &&
    isText(claims.jti) &&
    isSecond(claims.iat) &&
    isSecond(claims.nbf) &&
    isSecond(claims.exp) &&
    claims.nbf < claims.exp &&
    (claims.client_id === undefined || isText(claims.client_id)) &&
    (claims.scope === undefined || isText(claims.scope) || isTexts(claims.scope))
  );
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(isText);
}

/** A text, or at least two different ones: the form in which tokens are issued. */
function isAudience(value: unknown): value is AccessTokenClaims['aud'] {
  return isText(value) || (isTexts(value) && value.length > 1 && new Set(value).size === value.length);
}

function isSecond(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** The scopes in a token; empty if it has no `scope` claim. */
export function scopesOf({ scope = [] }: AccessTokenClaims): readonly string[] {
  return typeof scope === 'string' ? scope.split(' ') : scope;
}

/** Whether the token is for this audience (RFC 7519 section 4.1.3). */
export function isFor({ aud }: AccessTokenClaims, audience: string): boolean {
  return typeof aud === 'string' ? aud === audience : aud.includes(audience);
}
