import type { AuthorizeRequest } from '../../../application/authorize-request.ts';
import type { Scope } from '../../../domain/scope.ts';
import { type Exchange, refuse } from './exchange.ts';
import { httpRefusal } from './refusals.ts';

// RFC 6750 section 2.1: b64token = 1*( ALPHA / DIGIT / "-" / "." / "_" / "~" / "+" / "/" ) *"="
const B64TOKEN = /^[\w.~+/-]+=*$/;

/** Whether the request has a valid bearer token that holds the scopes. Where it has not, the refusal is answered (RFC 6750 section 3). */
export async function requireBearer(
  ctx: Exchange,
  authorizeRequest: AuthorizeRequest,
  requiredScope?: Scope,
): Promise<boolean> {
  const { authorization } = ctx.state.head;
  if (authorization.kind === 'repeated') return refuseMalformed(ctx, 'authorization_repeated');
  if (authorization.kind === 'malformed') return refuseMalformed(ctx, 'authorization_malformed');
  if (authorization.kind === 'absent' || authorization.scheme.toLowerCase() !== 'bearer') {
    refuse(ctx, httpRefusal('token_missing', { 'WWW-Authenticate': 'Bearer' }));
    return false;
  }
  const token = authorization.credentials;
  if (!B64TOKEN.test(token)) return refuseMalformed(ctx, 'authorization_malformed');

  const bearer = await authorizeRequest.execute({ token, requiredScope });
  if (!bearer.ok) {
    const scope = bearer.problem.code === 'insufficient_scope' ? `, scope="${requiredScope}"` : '';
    refuse(ctx, {
      ...bearer.problem,
      headers: { 'WWW-Authenticate': `Bearer error="${bearer.problem.code}"${scope}` },
    });
    return false;
  }
  ctx.state.clientId = bearer.value.clientId;
  ctx.state.tokenId = bearer.value.tokenId;
  return true;
}

function refuseMalformed(ctx: Exchange, reason: 'authorization_repeated' | 'authorization_malformed'): false {
  refuse(ctx, httpRefusal(reason, { 'WWW-Authenticate': 'Bearer error="invalid_request"' }));
  return false;
}
