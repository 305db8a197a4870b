import type { ServerResponse } from 'node:http';
import type { IssuedToken, IssueToken, TokenRequest } from '../../../application/issue-token.ts';
import type { Caller } from '../../../application/ports/caller.ts';
import {
  ASSERTION_TYPES,
  type AssertionCredentials,
  type ClientCredentials,
} from '../../../application/ports/client-credentials.ts';
import type { AuthenticationMethod } from '../../../domain/authentication-method.ts';
import { GRANT_TYPE, isClientId } from '../../../domain/client-registration.ts';
import { failure, type Result, success } from '../../../domain/result.ts';
import type { LoadLimit } from '../admission/load-limit.ts';
import { readBasicCredentials } from '../parsing/basic-credentials.ts';
import { type Form, readForm } from '../parsing/form.ts';
import type { Authorization, RequestHead } from '../parsing/request-head.ts';
import { dropHead, type Exchange, sendRefusal } from '../server/exchange.ts';
import type { Handler } from '../server/koa-application.ts';
import { type HttpRefusal, httpRefusal } from '../server/refusals.ts';

type PresentAuthorization = Extract<Authorization, { readonly kind: 'present' }>;

const ASSERTION_PARAMETERS = ['client_assertion_type', 'client_assertion'] as const;
const ASSERTION_TYPE_PREFIX = 'urn:ietf:params:oauth:client-assertion-type:';

export interface TokenEndpointParts {
  readonly issueToken: IssueToken;
  readonly load: LoadLimit;
  /** The methods that are switched on. */
  readonly methods: readonly AuthenticationMethod[];
}

/** POST /oauth2/token: the client credentials grant (RFC 6749 sections 4.4 and 5). Cheap checks come first. */
export function tokenEndpoint({ issueToken, load, methods }: TokenEndpointParts): Handler {
  return async (ctx) => {
    const refused = refuseQuery(ctx.querystring, methods) ?? refuseAuthorization(ctx.state.head, methods);
    if (refused !== undefined) return sendRefusal(ctx, refused);

    const form = await readForm(ctx, load);
    if (!form.ok) return sendRefusal(ctx, httpRefusal(form.problem));

    const { authorization } = ctx.state.head;
    const request = readTokenRequest(form.value, ctx, methods);
    if (!request.ok) return sendRefusal(ctx, request.problem);

    dropHead(ctx);
    const issued = await issueToken.execute(request.value);
    if (!issued.ok) return sendRefusal(ctx, challenged(issued.problem, authorization));

    answer(ctx, request.value, issued.value);
  };
}

/** A query string ends up in logs and histories (RFC 6749 section 2.3.1: never in the request URI). */
function refuseQuery(query: string, methods: readonly AuthenticationMethod[]): HttpRefusal | undefined {
  if (query === '') return undefined;
  const parameters = new URLSearchParams(query);
  const names = [
    'client_id',
    'client_secret',
    'grant_type',
    ...(methods.some(isAssertionMethod) ? ASSERTION_PARAMETERS : []),
  ];
  const found = names.some((name) => parameters.has(name));
  return found ? httpRefusal('credentials_in_query') : undefined;
}

/** Refuses what the header decides. If there is a body, it may contain a secret too, which is a different error: see below. */
function refuseAuthorization(
  { authorization, hasBody }: RequestHead,
  methods: readonly AuthenticationMethod[],
): HttpRefusal | undefined {
  switch (authorization.kind) {
    case 'absent':
      return undefined;
    case 'repeated':
      return httpRefusal('authorization_repeated');
    case 'malformed':
      return httpRefusal('authorization_malformed');
    case 'present':
      return hasBody || isBasic(authorization, methods) ? undefined : refuseMethod(methods, authorization);
  }
}

/** An empty parameter counts as absent (RFC 6749 section 3.2). */
function readTokenRequest(
  { parameters, resources }: Form,
  ctx: Exchange,
  methods: readonly AuthenticationMethod[],
): Result<TokenRequest, HttpRefusal> {
  const parameter = (name: string) => parameters.get(name) || undefined;
  const { authorization } = ctx.state.head;
  const byHeader = authorization.kind === 'present';
  if (byHeader && !isBasic(authorization, methods)) {
    const secret = parameter('client_secret');
    return failure(secret ? httpRefusal('authorization_beside_body') : refuseMethod(methods, authorization));
  }
  const grantType = parameter('grant_type');
  if (grantType === undefined) return failure(httpRefusal('grant_type_missing'));
  if (grantType !== GRANT_TYPE) return failure(httpRefusal('grant_type_unsupported'));

  const credentials = byHeader
    ? readHeaderCredentials(authorization, parameter)
    : readBodyCredentials(parameter, methods);
  if (!credentials.ok) return failure(challenged(credentials.problem, authorization));
  return success({
    credentials: credentials.value,
    scope: parameter('scope'),
    resources: resources.filter((resource) => resource !== ''),
    caller: new ResponseCaller(ctx),
  });
}

type Parameter = (name: string) => string | undefined;

/** `client_secret_basic`. The body may repeat the client id, and must not use another method (RFC 6749 section 2.3). */
function readHeaderCredentials(
  { credentials: encoded }: PresentAuthorization,
  parameter: Parameter,
): Result<ClientCredentials, HttpRefusal> {
  if (ASSERTION_PARAMETERS.some(parameter) || parameter('client_secret')) {
    return failure(httpRefusal('credentials_repeated'));
  }
  const credentials = readBasicCredentials(encoded);
  if (credentials === undefined) return failure(httpRefusal('basic_credentials_malformed'));
  const { clientId, clientSecret } = credentials;
  if (clientId === '' || clientSecret === '') return failure(httpRefusal('credentials_missing'));
  if (!isClientId(clientId)) return failure(httpRefusal('client_id_malformed'));
  const repeated = parameter('client_id');
  return repeated === undefined || repeated === clientId
    ? success(credentials)
    : failure(httpRefusal('client_id_contradictory'));
}

/** `client_secret_post`, or an assertion (RFC 7521 section 4.2) if a method for assertions is switched on. */
function readBodyCredentials(
  parameter: Parameter,
  methods: readonly AuthenticationMethod[],
): Result<ClientCredentials, HttpRefusal> {
  const clientId = copyOf(parameter('client_id'));
  const clientSecret = parameter('client_secret');
  if (clientId !== undefined && !isClientId(clientId)) return failure(httpRefusal('client_id_malformed'));

  if (methods.some(isAssertionMethod) && ASSERTION_PARAMETERS.some(parameter)) {
    if (clientSecret !== undefined) return failure(httpRefusal('credentials_repeated'));
    return readAssertion(parameter, clientId);
  }
  if (clientId === undefined || clientSecret === undefined) return failure(httpRefusal('credentials_missing'));
  return methods.includes('client_secret_post') ? success({ clientId, clientSecret }) : failure(refuseMethod(methods));
}

function readAssertion(parameter: Parameter, clientId: string | undefined): Result<AssertionCredentials, HttpRefusal> {
  const [type, assertion] = ASSERTION_PARAMETERS.map(parameter);
  if (type === undefined || assertion === undefined) return failure(httpRefusal('assertion_incomplete'));
  const known = ASSERTION_TYPES.find((name) => type === ASSERTION_TYPE_PREFIX + name);
  if (known === undefined) return failure(httpRefusal('assertion_type_unsupported'));
  return success({ type: known, assertion, clientId });
}

function isAssertionMethod(method: AuthenticationMethod): boolean {
  return method === 'private_key_jwt' || method === 'federated_jwt';
}

function isBasic({ scheme }: PresentAuthorization, methods: readonly AuthenticationMethod[]): boolean {
  return scheme.toLowerCase() === 'basic' && methods.includes('client_secret_basic');
}

/** A method that is not switched on (RFC 6749 section 5.2): says which one to use instead, whatever was sent. */
function refuseMethod(methods: readonly AuthenticationMethod[], authorization?: PresentAuthorization): HttpRefusal {
  const reason = methods.includes('client_secret_post') ? 'authorization_method_unsupported' : 'method_unsupported';
  return httpRefusal(reason, authorization && { 'WWW-Authenticate': challengeOf(authorization) });
}

/** A 401 to a client that authenticated in the header names its scheme (RFC 6749 section 5.2). */
function challenged(refusal: HttpRefusal, authorization: Authorization): HttpRefusal {
  if (refusal.code !== 'invalid_client' || authorization.kind !== 'present') return refusal;
  return { ...refusal, headers: { ...refusal.headers, 'WWW-Authenticate': challengeOf(authorization) } };
}

function challengeOf({ scheme }: PresentAuthorization): string {
  return `${scheme} realm="token endpoint"`;
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
