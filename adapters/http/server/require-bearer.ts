import type { AuthorizeRequest } from '../../../application/authorize-request.ts';
import type { Scope } from '../../../domain/scope.ts';
import { type Exchange, sendRefusal } from './exchange.ts';
import { type HttpRefusal, httpRefusal } from './http-refusal.ts';

// RFC 6750 section 2.1: b64token = 1*( ALPHA / DIGIT / "-" / "." / "_" / "~" / "+" / "/" ) *"="
const B64TOKEN = /^[\w.~+/-]+=*$/;

const MALFORMED = 'Bearer error="invalid_request"';

/** Decides about a bearer token. */
export type Authorizer = Pick<AuthorizeRequest, 'execute'>;

/** Whether the request has a valid token with the scope. If not, answers with the refusal (RFC 6750 section 3). */
export async function requireBearer(
  ctx: Exchange,
  authorizeRequest: Authorizer,
  requiredScope?: Scope,
): Promise<boolean> {
  const { authorization } = ctx.state.head;
  if (authorization.kind === 'repeated') return challenge(ctx, httpRefusal('authorization_repeated'), MALFORMED);
  if (authorization.kind === 'malformed') return challenge(ctx, httpRefusal('authorization_malformed'), MALFORMED);
  if (authorization.kind === 'absent' || authorization.scheme.toLowerCase() !== 'bearer') {
    return challenge(ctx, httpRefusal('token_missing'), 'Bearer');
  }
  const token = authorization.credentials;
  if (!B64TOKEN.test(token)) return challenge(ctx, httpRefusal('authorization_malformed'), MALFORMED);

  const bearer = await authorizeRequest.execute({ token, requiredScope });
  if (!bearer.ok) {
    const { code } = bearer.problem;
    const scope = code === 'insufficient_scope' ? `, scope="${requiredScope}"` : '';
    return challenge(ctx, bearer.problem, `Bearer error="${code}"${scope}`);
  }
  ctx.state.clientId = bearer.value.clientId;
  ctx.state.tokenId = bearer.value.tokenId;
  ctx.state.scopes = bearer.value.scopes;
  return true;
}

function challenge(ctx: Exchange, refusal: HttpRefusal, authenticate: string): false {
  sendRefusal(ctx, { ...refusal, headers: { 'WWW-Authenticate': authenticate } });
  return false;
}
