import type { IssuedToken, IssueToken, TokenRequest } from '../../../application/issue-token.ts';
import { isClientId } from '../../../domain/client-id.ts';
import { GRANT_TYPE } from '../../../domain/client-registration.ts';
import { failure, type Result, success } from '../../../domain/result.ts';
import type { LoadLimit } from '../admission/load-limit.ts';
import { hasBody, readForm } from '../parsing/form-body.ts';
import { type Authorization, readAuthorization } from '../parsing/header-fields.ts';
import { type Exchange, refuse } from '../server/exchange.ts';
import { type HttpRefusal, httpRefusal } from '../server/refusals.ts';
import { ResponseCaller } from '../server/response-caller.ts';
import type { Handler } from '../server/route.ts';

/** POST /oauth2/token: the client credentials grant (RFC 6749 sections 4.4 and 5). */
export function tokenEndpoint(issueToken: IssueToken, load: LoadLimit): Handler {
  return async (ctx) => {
    const request = await readTokenRequest(ctx, load);
    if (!request.ok) return refuse(ctx, request.problem);

    const issued = await issueToken.execute(request.value);
    if (!issued.ok) return refuse(ctx, issued.problem);

    answer(ctx, request.value, issued.value);
  };
}

/** The request, or why it is refused: what costs least is looked at first, and nothing here costs a hash or a query. */
async function readTokenRequest(ctx: Exchange, load: LoadLimit): Promise<Result<TokenRequest, HttpRefusal>> {
  if (hasCredentialsInQuery(ctx.querystring)) return failure(httpRefusal('credentials_in_query'));

  const authorization = readAuthorization(ctx.req);
  if (authorization.kind === 'repeated') return failure(httpRefusal('authorization_repeated'));
  if (authorization.kind === 'malformed') return failure(httpRefusal('authorization_malformed'));

  const alone = hasBody(ctx.req) ? undefined : refuseAuthorization(authorization, undefined);
  if (alone !== undefined) return failure(alone);

  const form = await readForm(ctx, load);
  if (!form.ok) return form;
  const parameter = (name: string) => form.value.get(name) || undefined;

  const refused =
    refuseAuthorization(authorization, parameter('client_secret')) ?? refuseGrantType(parameter('grant_type'));
  if (refused !== undefined) return failure(refused);

  const clientId = parameter('client_id');
  const clientSecret = parameter('client_secret');
  if (clientId !== undefined && !isClientId(clientId)) return failure(httpRefusal('client_id_malformed'));
  if (clientId === undefined || clientSecret === undefined) return failure(httpRefusal('credentials_missing'));
  return success({
    clientId,
    clientSecret,
    scope: parameter('scope'),
    caller: new ResponseCaller(ctx.res),
  });
}

/** A query string ends up in logs and histories (RFC 6749 section 2.3.1: never in the request URI). */
function hasCredentialsInQuery(query: string): boolean {
  const parameters = new URLSearchParams(query);
  return ['client_id', 'client_secret', 'grant_type'].some((name) => parameters.has(name));
}

function refuseGrantType(grantType: string | undefined): HttpRefusal | undefined {
  if (grantType === undefined) return httpRefusal('grant_type_missing');
  return grantType === GRANT_TYPE ? undefined : httpRefusal('grant_type_unsupported');
}

/** No client is registered for a method that uses the header; two methods at once are malformed (RFC 6749 sections 2.3 and 5.2). */
function refuseAuthorization(authorization: Authorization, bodySecret: string | undefined): HttpRefusal | undefined {
  if (authorization.kind !== 'present') return undefined;
  if (bodySecret !== undefined) return httpRefusal('authorization_beside_body');
  const challenge = `${authorization.scheme} realm="token endpoint"`;
  return httpRefusal('authorization_method_unsupported', { 'WWW-Authenticate': challenge });
}

/** RFC 6749 section 5.1; `scope` is said again where the client asked for one. */
function answer(ctx: Exchange, request: TokenRequest, issued: IssuedToken): void {
  ctx.state.clientId = issued.claims.sub;
  ctx.state.tokenId = issued.claims.jti;
  ctx.status = 200;
  ctx.body = {
    access_token: issued.accessToken,
    token_type: 'Bearer',
    expires_in: issued.expiresInSeconds,
    ...(request.scope !== undefined && { scope: issued.scope }),
  };
}
