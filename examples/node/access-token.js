import { createRemoteJWKSet, errors, jwtVerify } from 'jose';

const { ISSUER, AUDIENCE } = process.env;
if (!ISSUER || !AUDIENCE) throw new Error('ISSUER and AUDIENCE are required');

const keys = createRemoteJWKSet(new URL(`${ISSUER}/oauth2/jwks`), {
  timeoutDuration: 2_000,
  cooldownDuration: 5_000,
  cacheMaxAge: 600_000,
});

const EXPECTED = {
  issuer: ISSUER,
  audience: AUDIENCE,
  typ: 'at+jwt',
  algorithms: ['RS256'],
  clockTolerance: 5,
  requiredClaims: ['sub', 'iat', 'nbf', 'exp', 'jti', 'client_id'],
};

// These errors say nothing about the token, and neither does a network error.
const NO_KEY_SET = ['ERR_JOSE_GENERIC', 'ERR_JWKS_INVALID', 'ERR_JWKS_TIMEOUT'];

const refused = (status, headers) => ({ status, headers });

/** Takes the Authorization header. Returns the claims of an authorized bearer, or the status and headers of the refusal. */
export async function authorize(authorization, scope) {
  const token = /^Bearer +([\w.~+/-]+=*)$/i.exec(authorization ?? '')?.[1];
  if (token === undefined) return refused(401, { 'WWW-Authenticate': 'Bearer' });
  try {
    const { payload } = await jwtVerify(token, keys, EXPECTED);
    const held = typeof payload.scope === 'string' ? payload.scope.split(' ') : [];
    if (held.includes(scope)) return { claims: payload };
    return refused(403, { 'WWW-Authenticate': `Bearer error="insufficient_scope", scope="${scope}"` });
  } catch (error) {
    if (!(error instanceof errors.JOSEError) || NO_KEY_SET.includes(error.code))
      return refused(503, { 'Retry-After': '1' });
    return refused(401, { 'WWW-Authenticate': 'Bearer error="invalid_token"' });
  }
}
