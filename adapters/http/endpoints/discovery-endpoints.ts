import { createHash } from 'node:crypto';
import type { KeyProvider } from '../../../application/ports/key-provider.ts';
import type { AuthenticationMethod } from '../../../domain/authentication-method.ts';
import { GRANT_NAMES, type GrantType } from '../../../domain/grant-type.ts';
import { ALGORITHM_NAMES } from '../../../domain/public-jwk.ts';
import type { TokenAlgorithm } from '../../../domain/token-key.ts';
import { type Exchange, sendRefusal } from '../server/exchange.ts';
import { httpRefusal } from '../server/http-refusal.ts';
import type { Handler } from '../server/koa-application.ts';
import { AUTHORIZATION_PATH, INTROSPECTION_PATH, KEY_SET_PATH, REVOCATION_PATH, TOKEN_PATH } from './paths.ts';

/** Which caches may store a response: all, or only the client's (RFC 9111 section 5.2.2). */
type Cacheability = 'public' | 'private';

/** The document changes only with the settings. */
const MAX_AGE_SECONDS = 3_600;

export interface MetadataOptions {
  readonly issuer: string;
  /** Without a trailing slash. */
  readonly baseUrl: string;
  /** That new tokens are signed with. */
  readonly algorithm: TokenAlgorithm;
  /** The scopes to publish, which need not be all of them (RFC 8414 section 2). */
  readonly scopes?: readonly string[] | undefined;
  /** The client authentication methods that are switched on. */
  readonly methods: readonly AuthenticationMethod[];
  readonly cacheability: Cacheability;
  /** The grants that are switched on. */
  readonly grants: readonly GrantType[];
  /** Whether there are an introspection and a revocation endpoint. */
  readonly revocation?: boolean;
  /** The clients for which documents have more than the service can do. */
  readonly compatibility?: readonly MetadataCompatibility[] | undefined;
}

/**
 * `mcp`: the SDKs of the Model Context Protocol use no metadata without an authorization endpoint and PKCE. `oidc`:
 * clients of OpenID Connect look for a document of its own (decision 0311).
 */
export const METADATA_COMPATIBILITIES = ['mcp', 'oidc'] as const;

type MetadataCompatibility = (typeof METADATA_COMPATIBILITIES)[number];

/** How clients authenticate at an endpoint (RFC 8414 section 2). */
function authenticationAt(
  endpoint: string,
  names: readonly string[],
  methods: readonly AuthenticationMethod[],
): object {
  const more = Object.assign({}, ...methods.map((method) => METADATA_OF_METHOD[method]));
  const fields = { auth_methods_supported: names, ...more };
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [`${endpoint}_${name}`, value]));
}

/** What the metadata has for a method. RFC 8414 requires the algorithms of assertions that a client signs. */
const METADATA_OF_METHOD: Readonly<Record<AuthenticationMethod, object>> = {
  client_secret_post: {},
  client_secret_basic: {},
  private_key_jwt: { auth_signing_alg_values_supported: ALGORITHM_NAMES },
  federated_jwt: {},
};

/**
 * GET /.well-known/oauth-authorization-server: authorization server metadata (RFC 8414 section 2). The document for
 * OpenID Connect has in addition what Discovery 1.0 section 3 requires: no ID token is ever issued, and its endpoint
 * refuses.
 */
export function metadataEndpoint(options: MetadataOptions, document: 'oauth' | 'openid'): Handler {
  const { issuer, baseUrl, algorithm, scopes, methods, grants, cacheability, revocation, compatibility = [] } = options;
  const authorization_endpoint = `${baseUrl}${AUTHORIZATION_PATH}`;
  const metadata = {
    issuer,
    token_endpoint: `${baseUrl}${TOKEN_PATH}`,
    jwks_uri: `${baseUrl}${KEY_SET_PATH}`,
    ...(scopes !== undefined && { scopes_supported: scopes }),
    grant_types_supported: grants.map((grant) => GRANT_NAMES[grant]),
    ...authenticationAt('token_endpoint', methods, methods),
    ...(revocation && {
      revocation_endpoint: `${baseUrl}${REVOCATION_PATH}`,
      ...authenticationAt('revocation_endpoint', methods, methods),
      introspection_endpoint: `${baseUrl}${INTROSPECTION_PATH}`,
      ...authenticationAt('introspection_endpoint', [...methods, 'Bearer'], methods),
    }),
    // Required by RFC 8414; empty because there is no authorization endpoint.
    response_types_supported: [],
    ...(document === 'openid' && {
      authorization_endpoint,
      // The `sub` of a client is the same for every resource server.
      subject_types_supported: ['public'],
      // Discovery 1.0 requires RS256 among them. Verifiers take the algorithms of access tokens from here.
      id_token_signing_alg_values_supported: [...new Set(['RS256', algorithm])],
    }),
    ...(compatibility.includes('mcp') && {
      authorization_endpoint,
      response_types_supported: ['code'],
      code_challenge_methods_supported: ['S256'],
    }),
  };
  return async (ctx) => answerCacheable(ctx, metadata, cacheability, MAX_AGE_SECONDS);
}

/**
 * The authorization endpoint that the metadata names for compatibility: refuses every request, and never redirects,
 * since no client has registered a redirect URI (RFC 6749 section 4.1.2.1).
 */
export async function authorizationEndpoint(ctx: Exchange): Promise<void> {
  sendRefusal(ctx, httpRefusal('response_type_unsupported'));
}

/** GET /oauth2/jwks: the JSON Web Key Set (RFC 7517 section 5), cacheable for as long as no new key can be missed. */
export function keySetEndpoint(keys: KeyProvider, cacheability: Cacheability): Handler {
  return async (ctx) => {
    answerCacheable(ctx, { keys: await keys.publicKeys() }, cacheability, keys.maxAgeSeconds());
  };
}

/**
 * Answers with a JSON document that caches may store, and a strong validator; a client that has the same document gets
 * 304 (RFC 9110 section 13.1.2).
 */
function answerCacheable(ctx: Exchange, document: object, cacheability: Cacheability, maxAgeSeconds: number): void {
  const body = JSON.stringify(document);
  ctx.remove('Pragma');
  ctx.set({
    'Cache-Control': `${cacheability}, max-age=${maxAgeSeconds}`,
    ETag: `"${createHash('sha256').update(body).digest('base64url')}"`,
  });
  ctx.status = 200;
  if (ctx.fresh) {
    ctx.status = 304;
    return;
  }
  ctx.type = 'application/json';
  ctx.body = body;
}
