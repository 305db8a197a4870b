import { createServer } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import * as mcp from '@modelcontextprotocol/server';
import { createRemoteJWKSet, errors, jwtVerify } from 'jose';

const ISSUER = 'https://auth.example.com';
const RESOURCE = 'https://mcp.example.com/mcp';

const keys = createRemoteJWKSet(new URL(`${ISSUER}/oauth2/jwks`), { timeoutDuration: 2_000, cooldownDuration: 5_000 });
const expected = { issuer: ISSUER, audience: RESOURCE, typ: 'at+jwt', algorithms: ['RS256'], clockTolerance: 5 };

// These errors say nothing about the token.
const NO_KEY_SET = ['ERR_JOSE_GENERIC', 'ERR_JWKS_INVALID', 'ERR_JWKS_TIMEOUT'];

async function verifyAccessToken(token) {
  try {
    const { payload } = await jwtVerify(token, keys, expected);
    return { token, clientId: payload.sub, scopes: payload.scope.split(' '), expiresAt: payload.exp };
  } catch (error) {
    if (!(error instanceof errors.JOSEError) || NO_KEY_SET.includes(error.code)) throw error;
    throw new mcp.OAuthError(mcp.OAuthErrorCode.InvalidToken, 'the token is not valid here');
  }
}

const resourceMetadataUrl = mcp.getOAuthProtectedResourceMetadataUrl(new URL(RESOURCE));
const resourceMetadata = { resource: RESOURCE, authorization_servers: [ISSUER], bearer_methods_supported: ['header'] };
const requireToken = mcp.requireBearerAuth({ verifier: { verifyAccessToken }, resourceMetadataUrl });

const tools = mcp.createMcpHandler(() => {
  const server = new mcp.McpServer({ name: 'things', version: '1.0.0' });
  server.registerTool('whoami', { description: 'Names the caller' }, async (context) => {
    return { content: [{ type: 'text', text: context.http.authInfo.clientId }] };
  });
  return server;
});

async function answer(request) {
  if (request.url === resourceMetadataUrl) return Response.json(resourceMetadata);
  if (request.url !== RESOURCE) return new Response(null, { status: 404 });
  const authInfo = await requireToken(request);
  return authInfo instanceof Response ? authInfo : tools.fetch(request, { authInfo });
}

export const server = createServer(async (incoming, outgoing) => {
  const { method, headers } = incoming;
  const body = method === 'POST' ? { body: Readable.toWeb(incoming), duplex: 'half' } : {};
  const response = await answer(new Request(new URL(incoming.url, RESOURCE), { method, headers, ...body }));
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  await pipeline(response.body ?? [], outgoing).catch(() => outgoing.destroy());
});
