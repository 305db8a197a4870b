/** The folder of documents about a host (RFC 8615). */
export const WELL_KNOWN = '/.well-known/';
const METADATA_NAME = `${WELL_KNOWN}oauth-authorization-server`;
const OPENID_NAME = `${WELL_KNOWN}openid-configuration`;
/** To manage clients, on the management port. */
export const CLIENTS_PATH = '/clients';
export const TOKEN_PATH = '/oauth2/token';
/** What clients are often set to in place of it. The log has these paths, and no others: one may contain a secret. */
export const MISTAKEN_TOKEN_PATHS: readonly string[] = [
  '/oauth2/token/',
  '/oauth2/tokens',
  '/oauth2/v1/token',
  '/oauth/token',
  '/connect/token',
  '/token',
];
export const INTROSPECTION_PATH = '/oauth2/introspect';
export const REVOCATION_PATH = '/oauth2/revoke';
export const KEY_SET_PATH = '/oauth2/jwks';
export const AUTHORIZATION_PATH = '/oauth2/authorize';

/**
 * The route's path. RFC 8414 section 3: the well-known path comes before the path of the issuer. An issuer that is not
 * a URL has no path.
 */
export function metadataPath(issuer: string): string {
  return `${METADATA_NAME}${pathOf(issuer)}`;
}

/**
 * The route's path of the document for OpenID Connect: behind the issuer (OpenID Connect Discovery 1.0 section 4),
 * without the path of the base URL, which every other route has as an alias.
 */
export function openIdPath(issuer: string, baseUrl: string): string {
  const [path, base] = [pathOf(issuer), pathOf(baseUrl)];
  return `${path === base || path.startsWith(`${base}/`) ? path.slice(base.length) : path}${OPENID_NAME}`;
}

/** The document also stands where RFC 8414 section 5 has it, with the well-known path before that of the issuer. */
export function openIdAliases(issuer: string): readonly string[] {
  const path = pathOf(issuer);
  return path === '' ? [] : [`${OPENID_NAME}${path}`];
}

/** The path of a URL as part of a route's path, without a slash at its end; empty if it has none. */
export function pathOf(url: string): string {
  const path = URL.parse(url)?.pathname.replace(/\/$/, '') ?? '';
  // Characters with a meaning in a route's path are escaped.
  return path.startsWith('/') ? path.replace(/[{}()[\]+?!:*\\]/g, '\\$&') : '';
}
