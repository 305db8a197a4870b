import type { AccessTokenClaims } from './access-token-claims.ts';

/** The value of a claim: a JSON value (RFC 8259 section 3). */
export type ClaimValue =
  | string
  | number
  | boolean
  | null
  | readonly ClaimValue[]
  | { readonly [name: string]: ClaimValue };

/** Claims of the tokens of one client, such as a tenant. They are at the root of the payload. */
export type ClientClaims = { readonly [name: string]: ClaimValue };

/** Of most clients, whose claims need no check. */
export const NO_CLAIMS: ClientClaims = Object.freeze({});

/** The most bytes of a client's claims as compact JSON: resource servers limit the header field of a token. */
export const CLIENT_CLAIMS_BYTES_MAX = 1_024;

/** The most levels of objects and arrays, the object of the claims included. */
export const CLIENT_CLAIMS_DEPTH_MAX = 3;

/** Those that the service sets. */
const OWN_CLAIMS = {
  iss: true,
  sub: true,
  aud: true,
  exp: true,
  nbf: true,
  iat: true,
  jti: true,
  client_id: true,
  scope: true,
} satisfies Record<keyof AccessTokenClaims, true>;

/**
 * Claims that the service or a standard gives a meaning (RFC 7519 section 4.1, RFC 7662, RFC 7800, RFC 8417, RFC 8693
 * section 4, RFC 9068 section 2, RFC 9396, RFC 9493, OpenID Connect): a client's own value could grant it what nobody
 * decided. RFC 9068 leaves `groups`, `roles` and `entitlements` to the deployment.
 */
export const RESERVED_CLAIMS: ReadonlySet<string> = new Set([
  ...Object.keys(OWN_CLAIMS),
  ...'scp cnf act may_act azp typ sid nonce auth_time token_type amr acr authorization_details username active sub_id events'.split(
    ' ',
  ),
]);

/** The most digits that every double carries from text to text. */
const DIGITS_MAX = 15;

/** The rule that these claims break, if they break one. It quotes no value, and no name but a reserved one. */
export function ruleOfClaims(claims: unknown): string | undefined {
  if (claims === NO_CLAIMS) return undefined;
  if (typeof claims !== 'object' || claims === null || Array.isArray(claims)) return 'must be an object';
  const reserved = Object.keys(claims)
    .map(folded)
    .find((name) => RESERVED_CLAIMS.has(name));
  if (reserved !== undefined) return `must not set ${reserved}, which the service or a standard sets`;
  const rule = ruleOfValue(claims, CLIENT_CLAIMS_DEPTH_MAX);
  if (rule !== undefined) return rule;
  const bytes = new TextEncoder().encode(JSON.stringify(claims)).length;
  return bytes > CLIENT_CLAIMS_BYTES_MAX
    ? `must have at most ${CLIENT_CLAIMS_BYTES_MAX} bytes as JSON; these have ${bytes}`
    : undefined;
}

/**
 * Some readers, such as encoding/json of Go, take a name in another case for the same one, and the last of them counts.
 * For Java, the capital I with a dot is another i.
 */
function folded(name: string): string {
  return name.toUpperCase().toLowerCase().replaceAll('i\u0307', 'i');
}

/** @param levels how many levels of objects and arrays may still begin. */
function ruleOfValue(value: unknown, levels: number): string | undefined {
  if (typeof value === 'number') return isExact(value) ? undefined : INEXACT;
  if (typeof value === 'string') return isPlain(value) ? undefined : UNPRINTABLE;
  if (typeof value !== 'object' || value === null) return undefined;
  if (levels === 0) return `must have at most ${CLIENT_CLAIMS_DEPTH_MAX} levels of objects and arrays`;
  const names = Object.keys(value).map(folded);
  if (new Set(names).size < names.length) return 'must have no two names that differ only in case';
  for (const [name, inner] of Object.entries(value)) {
    const rule = name === '__proto__' || !isPlain(name) ? UNPRINTABLE : ruleOfValue(inner, levels - 1);
    if (rule !== undefined) return rule;
  }
  return undefined;
}

const INEXACT = `must have numbers that every reader gets exactly: integers below 2^53, or up to ${DIGITS_MAX} digits; write others as text`;
const UNPRINTABLE = 'must have names and texts without control characters, and no __proto__';

/** RFC 8259 section 6: others are rounded, differently by each reader. */
function isExact(value: number): boolean {
  if (Number.isInteger(value)) return Number.isSafeInteger(value) && !Object.is(value, -0);
  const digits = String(value)
    .replace(/e.*$/, '')
    .replace(/^-?0?\.?0*|\./g, '');
  return Number.isFinite(value) && digits.length <= DIGITS_MAX;
}

function isPlain(text: string): boolean {
  return text.isWellFormed() && !/\p{Cc}/u.test(text);
}
