import type { IssuedToken, IssueToken } from '../../../application/issue-token.ts';
import { GRANT_NAMES } from '../../../domain/grant-type.ts';
import type { LoadLimit } from '../admission/load-limit.ts';
import { ResponseCaller } from '../admission/response-caller.ts';
import { ASSERTION_PARAMETERS } from '../parsing/assertion-parameters.ts';
import { readForm } from '../parsing/form.ts';
import type { Authorization, RequestHead } from '../parsing/request-head.ts';
import {
  type AcceptedWays,
  acceptedWays,
  isAccepted,
  readTokenRequest,
  type SentRequest,
  type TokenRequestSettings,
  unsupported,
} from '../parsing/token-request.ts';
import { dropHead, type Exchange, sendRefusal } from '../server/exchange.ts';
import type { HttpReason } from '../server/http-reasons.ts';
import { type HttpRefusal, httpRefusal } from '../server/http-refusal.ts';
import type { Handler } from '../server/koa-application.ts';

export interface TokenEndpointParts extends TokenRequestSettings {
  readonly issueToken: IssueToken;
  readonly load: LoadLimit;
  /** When responses have `scope`. RFC 6749 section 5.1 requires it where it differs from what was requested, which never happens here. */
  readonly responseScope?: 'requested' | 'always';
}

/** POST /oauth2/token (RFC 6749 sections 3.2 and 5). Cheap checks come first. */
export function tokenEndpoint(parts: TokenEndpointParts): Handler {
  const { issueToken, load, responseScope } = parts;
  const accepted = acceptedWays(parts);
  return async (ctx) => {
    const challenge = challengeOf(ctx.state.head.authorization);
    const refused = refuseQuery(ctx.querystring, accepted) ?? refuseAuthorization(ctx.state.head, accepted);
    if (refused !== undefined) return sendRefusal(ctx, challenged(refused, challenge));

    const form = await readForm(ctx, load);
    if (!form.ok) return sendRefusal(ctx, httpRefusal(form.problem));

    const request = readTokenRequest(form.value, ctx.state.head, accepted);
    if (!request.ok) {
      const refusal = refusalFor(request.problem, accepted);
      return sendRefusal(ctx, challenged(refusal, challenge ?? challengeForNone(request.problem, accepted)));
    }

    dropHead(ctx);
    const issued = await issueToken.execute({ ...request.value, caller: new ResponseCaller(ctx, load) });
    if (!issued.ok) return sendRefusal(ctx, challenged(withoutSecret(issued.problem, request.value), challenge));

    answerToken(ctx, issued.value, responseScope === 'always' || issued.value.isScopeRequested);
  };
}

/** A query string ends up in logs and histories (RFC 6749 section 2.3.1: never in the request URI). */
function refuseQuery(query: string, { assertion, grants }: AcceptedWays): HttpRefusal | undefined {
  if (query === '') return undefined;
  const parameters = new URLSearchParams(query);
  const ofGrant = grants.includes('jwt-bearer') ? ['assertion'] : [];
  const names = ['client_id', 'client_secret', 'grant_type', ...(assertion ? ASSERTION_PARAMETERS : []), ...ofGrant];
  return names.some((name) => parameters.has(name)) ? httpRefusal('credentials_in_query') : undefined;
}

/** Refuses what the header decides. If there is a body, it may contain a secret too, which is a different error: see below. */
function refuseAuthorization({ authorization, hasBody }: RequestHead, accepted: AcceptedWays): HttpRefusal | undefined {
  switch (authorization.kind) {
    case 'absent':
      return undefined;
    case 'repeated':
      return httpRefusal('authorization_repeated');
    case 'malformed':
      return httpRefusal('authorization_malformed');
    case 'present':
      return hasBody || isAccepted(authorization, accepted) ? undefined : refusalFor(unsupported(accepted), accepted);
  }
}

/** The refusal, which names the methods or grants that are switched on where another one was tried. */
function refusalFor(reason: HttpReason, { methods, grants }: AcceptedWays): HttpRefusal {
  const refusal = httpRefusal(reason);
  if (reason === 'grant_type_unsupported')
    return { ...refusal, shown: grants.map((name) => GRANT_NAMES[name]).join(' or ') };
  return reason === 'method_unsupported' ? { ...refusal, shown: methods.join(', ') } : refusal;
}

/** What a 401 tells a client that tried to authenticate in the header: its own scheme (RFC 6749 section 5.2). */
function challengeOf(authorization: Authorization): string | undefined {
  return authorization.kind === 'present' ? `${authorization.scheme} realm="token endpoint"` : undefined;
}

/** Some clients send credentials in the header only when they are asked for them (RFC 9110 section 15.5.2), such as `curl --anyauth`. */
function challengeForNone(reason: HttpReason, { secretInHeader }: AcceptedWays): string | undefined {
  return reason === 'credentials_missing' && secretInHeader ? 'Basic realm="token endpoint"' : undefined;
}

/** A client that sends a credential, or any JWT, as a scope or a resource too does not get it back: descriptions end in the logs of clients. */
function withoutSecret(refusal: HttpRefusal, { credentials, beside, scope = '', resources }: SentRequest): HttpRefusal {
  const { shown } = refusal;
  if (shown === undefined) return refusal;
  const secrets = [credentials, ...(beside === undefined ? [] : [beside])].map((sent) =>
    'assertion' in sent ? sent.assertion : sent.clientSecret,
  );
  const hasSecret = (text: string) => secrets.some((secret) => text.includes(secret));
  return shown.includes('eyJ') || [shown, scope, ...resources].some(hasSecret) ? { ...refusal, shown: '?' } : refusal;
}

function challenged(refusal: HttpRefusal, challenge: string | undefined): HttpRefusal {
  if (refusal.code !== 'invalid_client' || challenge === undefined) return refusal;
  return { ...refusal, headers: { 'WWW-Authenticate': challenge } };
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
