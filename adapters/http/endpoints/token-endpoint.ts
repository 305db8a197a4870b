import type { ServerResponse } from 'node:http';
import type { IssuedToken, IssueToken, TokenRequest } from '../../../application/issue-token.ts';
import type { Caller } from '../../../application/ports/caller.ts';
import { GRANT_TYPE, isClientId } from '../../../domain/client-registration.ts';
import { failure, type Result, success } from '../../../domain/result.ts';
import type { LoadLimit } from '../admission/load-limit.ts';
import { type Form, readForm } from '../parsing/form.ts';
import type { RequestHead } from '../parsing/request-head.ts';
import { dropHead, type Exchange, sendRefusal } from '../server/exchange.ts';
import type { Handler } from '../server/koa-application.ts';
import { type HttpRefusal, httpRefusal } from '../server/refusals.ts';

/** POST /oauth2/token: the client credentials grant (RFC 6749 sections 4.4 and 5). Cheap checks come first. */
export function tokenEndpoint(issueToken: IssueToken, load: LoadLimit): Handler {
  return async (ctx) => {
    const refused = refuseQuery(ctx.querystring) ?? refuseAuthorization(ctx.state.head);
    if (refused !== undefined) return sendRefusal(ctx, refused);

    const form = await readForm(ctx, load);
    if (!form.ok) return sendRefusal(ctx, httpRefusal(form.problem));

    const request = readTokenRequest(form.value, ctx);
    if (!request.ok) return sendRefusal(ctx, request.problem);

    dropHead(ctx);
    const issued = await issueToken.execute(request.value);
    if (!issued.ok) return sendRefusal(ctx, issued.problem);

    answer(ctx, request.value, issued.value);
  };
}

/** A query string ends up in logs and histories (RFC 6749 section 2.3.1: never in the request URI). */
function refuseQuery(query: string): HttpRefusal | undefined {
  if (query === '') return undefined;
  const parameters = new URLSearchParams(query);
  const found = ['client_id', 'client_secret', 'grant_type'].some((name) => parameters.has(name));
  return found ? httpRefusal('credentials_in_query') : undefined;
}

/** Refuses what the header decides. If there is a body, it may contain a secret too, which is a different error: see below. */
function refuseAuthorization({ authorization, hasBody }: RequestHead): HttpRefusal | undefined {
  switch (authorization.kind) {
    case 'absent':
      return undefined;
    case 'repeated':
      return httpRefusal('authorization_repeated');
    case 'malformed':
      return httpRefusal('authorization_malformed');
    case 'present':
      return hasBody ? undefined : refuseMethod(authorization.scheme);
  }
}

/** The service supports no client authentication in the header (RFC 6749 section 5.2). */
function refuseMethod(scheme: string): HttpRefusal {
  return httpRefusal('authorization_method_unsupported', { 'WWW-Authenticate': `${scheme} realm="token endpoint"` });
}

/** An empty parameter counts as absent (RFC 6749 section 3.2). Two authentication methods at once are an error (section 2.3). */
function readTokenRequest(form: Form, ctx: Exchange): Result<TokenRequest, HttpRefusal> {
  const parameter = (name: string) => form.get(name) || undefined;
  const grantType = parameter('grant_type');
  const clientId = copyOf(parameter('client_id'));
  const clientSecret = parameter('client_secret');
  const { authorization } = ctx.state.head;

  if (authorization.kind === 'present') {
    return failure(clientSecret ? httpRefusal('authorization_beside_body') : refuseMethod(authorization.scheme));
  }
  if (grantType === undefined) return failure(httpRefusal('grant_type_missing'));
  if (grantType !== GRANT_TYPE) return failure(httpRefusal('grant_type_unsupported'));
  if (clientId !== undefined && !isClientId(clientId)) return failure(httpRefusal('client_id_malformed'));
  if (clientId === undefined || clientSecret === undefined) return failure(httpRefusal('credentials_missing'));
  return success({ clientId, clientSecret, scope: parameter('scope'), caller: new ResponseCaller(ctx) });
}

/**
 * The client behind a response. Its abort signal is made on first use, because most requests never wait. This is a class,
 * because each object literal with a getter has a hidden class of its own, which doubles the time of garbage collection.
 */
class ResponseCaller implements Caller {
  readonly address: string;
  readonly #response: ServerResponse;
  #disconnected: AbortSignal | undefined;

  constructor({ res, state }: Exchange) {
    this.address = networkOf(state.clientAddress);
    this.#response = res;
  }

  get disconnected(): AbortSignal {
    this.#disconnected ??= signalOfClose(this.#response);
    return this.#disconnected;
  }
}

/**
 * What attempts are counted for: an IPv4 address, or the /64 network of an IPv6 address, such as `2001:db8:1:2::/64`. A host
 * can use every address of its /64 network (RFC 4291 section 2.5.4), so a count for each address would limit nothing.
 */
function networkOf(address: string): string {
  if (!address.includes(':')) return address;
  const [left = [], right = []] = address
    .split('::')
    .map((groups) => groups.split(':').filter((group) => group !== ''));
  const zeros = address.includes('::') ? 8 - left.length - right.length : 0;
  return `${[...left, ...Array<string>(zeros).fill('0'), ...right].slice(0, 4).join(':')}::/64`;
}

function signalOfClose(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  if (response.destroyed) controller.abort();
  else response.once('close', () => controller.abort());
  return controller.signal;
}

/** A part of a text keeps the whole text in memory: here the body, with the secret. Counts and caches keep the id. */
function copyOf(text: string | undefined): string | undefined {
  return text === undefined ? undefined : Buffer.from(text).toString();
}

/** RFC 6749 section 5.1; `scope` is part of the response where the client asked for one. */
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
