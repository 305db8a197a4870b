import type { Introspection, IntrospectToken } from '../../../application/introspect-token.ts';
import { ResponseCaller } from '../admission/response-caller.ts';
import { readIntrospection } from '../parsing/introspection-request.ts';
import { acceptedWays, type TokenRequestSettings } from '../parsing/token-request.ts';
import { type Exchange, sendRefusal } from '../server/exchange.ts';
import { httpRefusal } from '../server/http-refusal.ts';
import type { Handler, Route } from '../server/koa-application.ts';
import { delayed, readClientRequest } from './client-request.ts';
import { INTROSPECTION_PATH } from './paths.ts';

interface IntrospectionParts extends TokenRequestSettings {
  readonly introspectToken: IntrospectToken;
}

/** Clients authenticate themselves here: the route is public. */
export function introspectionRoute(parts: IntrospectionParts): Route {
  return { path: INTROSPECTION_PATH, access: { kind: 'public' }, methods: { POST: introspectionEndpoint(parts) } };
}

/** POST /oauth2/introspect (RFC 7662 section 2). */
function introspectionEndpoint(parts: IntrospectionParts): Handler {
  const { introspectToken } = parts;
  const accepted = { ...acceptedWays(parts), bearer: true };
  return async (ctx) => {
    if (ctx.accepts('application/json') === false) return sendRefusal(ctx, httpRefusal('not_acceptable'));
    const request = await readClientRequest(ctx, accepted, readIntrospection, ['token']);
    if (request === undefined) return;
    const found = await introspectToken.execute({ ...request.value, caller: new ResponseCaller(ctx) });
    if (!found.ok) return request.refuse(delayed(found.problem));
    answerIntrospection(ctx, found.value);
  };
}

/** RFC 7662 section 2.2: the claims of an active token, with `scope` as a text. */
function answerIntrospection(ctx: Exchange, { clientId, claims, scope }: Introspection): void {
  ctx.state.clientId = clientId;
  ctx.status = 200;
  if (claims === undefined) {
    ctx.body = { active: false };
    return;
  }
  const { scope: _claim, ...others } = claims;
  ctx.body = {
    active: true,
    ...others,
    ...(scope !== undefined && { scope }),
    client_id: claims.sub,
    token_type: 'Bearer',
  };
}
