// The example resource of the service as a server of its own: GET /v1/locations/{code} with a token of the service, whose settings are the
// default ones, and PUBLIC_METADATA=true. With INTROSPECTION_URI, it also asks the service whether the token still counts.
import { createServer } from 'node:http';
import { createRemoteJWKSet, errors, jwtVerify } from 'jose';

const { JWKS_URI, TOKEN_ISSUER, TOKEN_AUDIENCE, INTROSPECTION_URI, CLIENT_ID, CLIENT_SECRET, PORT } = process.env;
if (!JWKS_URI || !TOKEN_ISSUER) throw new Error('JWKS_URI and TOKEN_ISSUER are required');

const keys = createRemoteJWKSet(new URL(JWKS_URI), { timeoutDuration: 2_000, cooldownDuration: 5_000 });
const expected = {
  issuer: TOKEN_ISSUER,
  ...(TOKEN_AUDIENCE && { audience: TOKEN_AUDIENCE }),
  algorithms: ['RS256', 'PS256', 'ES256', 'EdDSA'],
  clockTolerance: 5,
  requiredClaims: ['sub', 'iat', 'nbf', 'exp', 'jti'],
};

// These errors say nothing about the token, and neither does a network error.
const NO_KEY_SET = ['ERR_JOSE_GENERIC', 'ERR_JWKS_INVALID', 'ERR_JWKS_TIMEOUT'];

const LOCATIONS = new Map(
  [
    ['NYC_USA', 'New York City', 'New York', 'US', 'United States of America'],
    ['PAR_FR', 'Paris', 'Île-de-France', 'FR', 'France'],
  ].map(([code, city_name, region_name, country_code, country_name]) => [
    code,
    { code, city_name, region_name, country_code, country_name, enabled: true },
  ]),
);

/** Whether the token is active, as the service says. Rejects if it does not say so. */
async function isActive(token) {
  const body = new URLSearchParams({ token, client_id: CLIENT_ID, client_secret: CLIENT_SECRET });
  const response = await fetch(INTROSPECTION_URI, { method: 'POST', body, signal: AbortSignal.timeout(2_000) });
  if (!response.ok) throw new Error(`introspection responded with ${response.status}`);
  return (await response.json()).active;
}

/** The status of the refusal, with its header fields and its error; undefined for the bearer of a valid token. */
async function refusalOf(authorization = '') {
  const [, token] = /^Bearer +(\S+)$/i.exec(authorization) ?? [];
  if (token === undefined) return [401, { 'WWW-Authenticate': 'Bearer' }, 'unauthorized'];
  try {
    await jwtVerify(token, keys, expected);
    // Only for a token that is valid by itself: a flood of others costs the service nothing.
    if (INTROSPECTION_URI === undefined || (await isActive(token))) return undefined;
    return [401, { 'WWW-Authenticate': 'Bearer error="invalid_token"' }, 'invalid_token'];
  } catch (error) {
    if (!(error instanceof errors.JOSEError) || NO_KEY_SET.includes(error.code))
      return [503, { 'Retry-After': '1' }, 'temporarily_unavailable'];
    return [401, { 'WWW-Authenticate': 'Bearer error="invalid_token"' }, 'invalid_token'];
  }
}

const server = createServer(async (request, response) => {
  const answer = (status, headers, body) =>
    response.writeHead(status, { ...headers, 'Content-Type': 'application/json' }).end(JSON.stringify(body));
  const refusal = await refusalOf(request.headers.authorization);
  if (refusal !== undefined) return answer(refusal[0], refusal[1], { error: refusal[2] });
  const [, code] = /^\/v1\/locations\/([^/?]+)$/.exec(request.url) ?? [];
  const location = request.method === 'GET' ? LOCATIONS.get(code) : undefined;
  return location === undefined ? answer(404, {}, { error: 'not_found' }) : answer(200, {}, location);
});

server.listen(PORT ?? 8082, '127.0.0.1', () => console.log(`listening on port ${server.address().port}`));
