import Provider from 'oidc-provider';
import { registeredClients, serveOnAllCores } from './all-cores.mjs';

// oidc-provider for the client credentials grant: in-memory adapter, plain secrets compared in constant time (its
// default), JWT access tokens (without a resource server they would be opaque and unsigned).
await serveOnAllCores(async (key) => {
  const provider = new Provider(process.env['BASE_URL'], {
    clients: registeredClients().map(({ id, secret }) => ({
      client_id: id,
      client_secret: secret,
      token_endpoint_auth_method: 'client_secret_post',
      grant_types: ['client_credentials'],
      id_token_signed_response_alg: process.env['ALG'] ?? 'RS256',
      response_types: [],
      redirect_uris: [],
    })),
    jwks: { keys: [key] },
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: false },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => 'urn:bench:resource',
        getResourceServerInfo: () => ({
          scope: 'read write',
          audience: 'urn:bench:resource',
          accessTokenTTL: 300,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: process.env['ALG'] ?? 'RS256' } },
        }),
      },
    },
  });
  return provider.callback();
});
