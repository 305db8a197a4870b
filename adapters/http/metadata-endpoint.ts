import { CLIENT_AUTHENTICATION_METHOD, GRANT_TYPE } from '../../domain/client-registration.ts';
import { KEY_SET_PATH } from './key-set-endpoint.ts';
import type { Handler } from './route.ts';

export const METADATA_PATH = '/.well-known/oauth-authorization-server';
export const TOKEN_PATH = '/oauth2/token';

/** GET /.well-known/oauth-authorization-server: authorization server metadata (RFC 8414 section 2). */
export function metadataEndpoint(issuer: string, baseUrl: string): Handler {
  const metadata = {
    issuer,
    token_endpoint: `${baseUrl}${TOKEN_PATH}`,
    jwks_uri: `${baseUrl}${KEY_SET_PATH}`,
    grant_types_supported: [GRANT_TYPE],
    token_endpoint_auth_methods_supported: [CLIENT_AUTHENTICATION_METHOD],
    // Required by RFC 8414; empty, since there is no authorization endpoint.
    response_types_supported: [],
  };
  return async (ctx) => {
    ctx.status = 200;
    ctx.body = metadata;
  };
}
