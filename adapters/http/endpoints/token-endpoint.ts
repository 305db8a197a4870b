import type { IssuedToken, IssueToken } from '../../../application/issue-token.ts';
import { ResponseCaller } from '../admission/response-caller.ts';
import {
  acceptedWays,
  readTokenRequest,
  type SentRequest,
  type TokenRequestSettings,
} from '../parsing/token-request.ts';
import type { Exchange } from '../server/exchange.ts';
import type { HttpRefusal } from '../server/http-refusal.ts';
import type { Handler } from '../server/koa-application.ts';
import { readClientRequest } from './client-request.ts';

export interface TokenEndpointParts extends TokenRequestSettings {
  readonly issueToken: IssueToken;
  /**
   * When responses have `scope`. RFC 6749 section 5.1 requires it where it differs from what was requested, which never
   * happens here.
   */
  readonly responseScope?: 'requested' | 'always';
}

/** POST /oauth2/token (RFC 6749 sections 3.2 and 5). Cheap checks come first. */
export function tokenEndpoint(parts: TokenEndpointParts): Handler {
  const { issueToken, responseScope } = parts;
  const accepted = acceptedWays(parts);
  return async (ctx) => {
    const request = await readClientRequest(ctx, accepted, readTokenRequest);
    if (request === undefined) return;
    const issued = await issueToken.execute({ ...request.value, caller: new ResponseCaller(ctx) });
    if (!issued.ok) return request.refuse(withoutSecret(issued.problem, request.value));

    answerToken(ctx, issued.value, responseScope === 'always' || issued.value.isScopeRequested);
  };
}

/**
 * A client that sends a credential, or any JWT, as a scope or a resource too does not get it back: descriptions end in
 * the logs of clients.
 */
function withoutSecret(refusal: HttpRefusal, { credentials, beside, scope = '', resources }: SentRequest): HttpRefusal {
  const { shown } = refusal;
  if (shown === undefined) return refusal;
  const secrets = [credentials, ...(beside === undefined ? [] : [beside])].map((sent) =>
    'assertion' in sent ? sent.assertion : sent.clientSecret,
  );
  const hasSecret = (text: string) => secrets.some((secret) => text.includes(secret));
  return shown.includes('eyJ') || [shown, scope, ...resources].some(hasSecret) ? { ...refusal, shown: '?' } : refusal;
}

/** RFC 6749 section 5.1. */
function answerToken(ctx: Exchange, issued: IssuedToken, hasScope: boolean): void {
  ctx.state.clientId = issued.claims.sub;
  ctx.state.tokenId = issued.claims.jti;
  ctx.status = 200;
  ctx.body = {
    access_token: issued.accessToken,
    token_type: 'Bearer',
    expires_in: issued.expiresInSeconds,
    ...(hasScope && { scope: issued.scope }),
  };
}
