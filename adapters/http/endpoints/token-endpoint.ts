import type { ServerResponse } from 'node:http';
import { copyOf } from '../../../application/copy-of.ts';
import type { IssuedToken, IssueToken, TokenRequest } from '../../../application/issue-token.ts';
import type { Caller, RequestOrigin } from '../../../application/ports/caller.ts';
import type { ClientCredentials } from '../../../application/ports/client-credentials.ts';
import type { AuthenticationMethod } from '../../../domain/authentication-method.ts';
import { isClientId } from '../../../domain/client-registration.ts';
import { GRANT_NAMES, type GrantType } from '../../../domain/grant-type.ts';
import { failure, type Result, success } from '../../../domain/result.ts';
import type { LoadLimit } from '../admission/load-limit.ts';
import { ASSERTION_PARAMETERS, readAssertion } from '../parsing/assertion-parameters.ts';
import { readBasicCredentials } from '../parsing/basic-credentials.ts';
import { type Form, type ReadParameter, readForm } from '../parsing/form.ts';
import type { Authorization, PresentAuthorization, RequestHead } from '../parsing/request-head.ts';
import { dropHead, type Exchange, sendRefusal, signalOfClose } from '../server/exchange.ts';
import type { HttpReason } from '../server/http-reasons.ts';
import { type HttpRefusal, httpRefusal } from '../server/http-refusal.ts';
import type { Handler } from '../server/koa-application.ts';

interface TokenEndpointParts {
  readonly issueToken: IssueToken;
  readonly load: LoadLimit;
  /** The methods that are switched on. */
  readonly methods: readonly AuthenticationMethod[];
  /** When responses have `scope`. RFC 6749 section 5.1 requires it where it differs from what was requested, which never happens here. */
  readonly responseScope?: 'requested' | 'always';
  /** `resource`: the parameter `audience` names a resource. By default it is ignored, as any unknown one. */
  readonly audienceParameter?: 'ignored' | 'resource';
  /** That are switched on. */
  readonly grants?: readonly GrantType[];
}

/** Where a request has its credentials. */
type Way = 'secretInBody' | 'secretInHeader' | 'assertion';

const WAYS: Readonly<Record<AuthenticationMethod, Way>> = {
  client_secret_post: 'secretInBody',
  client_secret_basic: 'secretInHeader',
  private_key_jwt: 'assertion',
  federated_jwt: 'assertion',
};

/** The ways to authenticate that are switched on. */
interface AcceptedWays extends Readonly<Record<Way, boolean>> {
  /** Whether `audience` names a resource. */
  readonly audience: boolean;
  readonly grants: readonly GrantType[];
  readonly methods: readonly AuthenticationMethod[];
}

/** POST /oauth2/token: the client credentials grant (RFC 6749 sections 4.4 and 5). Cheap checks come first. */
export function tokenEndpoint(parts: TokenEndpointParts): Handler {
  const { issueToken, load, methods, responseScope, audienceParameter, grants = ['client_credentials'] } = parts;
  const ways = methods.map((method) => WAYS[method]);
  const accepted: AcceptedWays = {
    methods,
    secretInBody: ways.includes('secretInBody'),
    secretInHeader: ways.includes('secretInHeader'),
    assertion: ways.includes('assertion'),
    audience: audienceParameter === 'resource',
    grants,
  };
  return async (ctx) => {
    const challenge = challengeOf(ctx.state.head.authorization);
    const refused = refuseQuery(ctx.querystring, accepted) ?? refuseAuthorization(ctx.state.head, accepted);
    if (refused !== undefined) return sendRefusal(ctx, challenged(refused, challenge));

    const form = await readForm(ctx, load);
    if (!form.ok) return sendRefusal(ctx, httpRefusal(form.problem));

    const request = readTokenRequest(form.value, new ResponseCaller(ctx, load), ctx.state.head, accepted);
    if (!request.ok) {
      const refusal = refusalFor(request.problem, accepted);
      return sendRefusal(ctx, challenged(refusal, challenge ?? challengeForNone(request.problem, accepted)));
    }

    dropHead(ctx);
    const issued = await issueToken.execute(request.value);
    if (!issued.ok) return sendRefusal(ctx, challenged(withoutSecret(issued.problem, request.value), challenge));

    answerToken(ctx, issued.value, responseScope === 'always' || request.value.scope !== undefined);
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

/** An empty parameter counts as absent (RFC 6749 section 3.2). Two authentication methods at once are an error (section 2.3). */
function readTokenRequest(
  { parameters, resources }: Form,
  caller: ResponseCaller,
  { authorization }: RequestHead,
  accepted: AcceptedWays,
): Result<TokenRequest, HttpReason> {
  const parameter = (name: string) => parameters.get(name) || undefined;
  const inHeader = authorization.kind === 'present' ? authorization : undefined;
  if (inHeader !== undefined && !isAccepted(inHeader, accepted)) return failure(besideHeader(parameter, accepted));
  const grantType = parameter('grant_type');
  if (grantType === undefined) return failure('grant_type_missing');
  const grant = accepted.grants.find((name) => GRANT_NAMES[name] === grantType);
  if (grant === undefined) return failure('grant_type_unsupported');

  const presented = inHeader
    ? readBasicCredentials(inHeader.credentials, parameter)
    : readBodyCredentials(parameter, accepted);
  const read = grant === 'jwt-bearer' ? readGrant(parameter, inHeader !== undefined, presented) : ofClient(presented);
  if (!read.ok) return read;
  const named = accepted.audience ? withAudience(resources, parameters.get('audience')) : success(resources);
  if (!named.ok) return named;
  return success({
    ...read.value,
    grant,
    scope: parameter('scope'),
    resources: named.value.filter((resource) => resource !== ''),
    caller,
  });
}

type Presented = Result<ClientCredentials, HttpReason>;
type ReadCredentials = Result<Pick<TokenRequest, 'credentials' | 'beside'>, HttpReason>;

function ofClient(presented: Presented): ReadCredentials {
  return presented.ok ? success({ credentials: presented.value }) : presented;
}

/** The assertion that is the grant, and beside it what authenticates the client, if it sends that too (RFC 7521 section 4.1). */
function readGrant(parameter: ReadParameter, hasHeader: boolean, presented: Presented): ReadCredentials {
  const assertion = parameter('assertion');
  if (assertion === undefined) return failure('grant_assertion_missing');
  const authenticates = hasHeader || ['client_secret', ...ASSERTION_PARAMETERS].some(parameter);
  if (authenticates && !presented.ok) return presented;
  const clientId = copyOf(parameter('client_id'));
  if (clientId !== undefined && !isClientId(clientId)) return failure('client_id_malformed');
  const credentials = {
    type: 'jwt-bearer',
    assertion,
    isGrant: true,
    clientId: hasHeader ? undefined : clientId,
  } as const;
  return success({ credentials, ...(authenticates && presented.ok && { beside: presented.value }) });
}

/** The resources with that of the parameter `audience`, which other providers have in the place of `resource` (RFC 8707). */
function withAudience(
  resources: readonly string[],
  audience: string | undefined,
): Result<readonly string[], HttpReason> {
  if (audience === undefined) return success(resources);
  if (audience === '') return failure('audience_empty');
  const isSame = resources.every((resource) => resource === audience || resource === '');
  return isSame ? success([audience]) : failure('audience_contradictory');
}

/** Beside a header that is not accepted: whether the body has credentials too, which is a different error. */
function besideHeader(parameter: ReadParameter, accepted: AcceptedWays): HttpReason {
  if (accepted.assertion && ASSERTION_PARAMETERS.some(parameter)) return 'credentials_repeated';
  if (parameter('client_secret') === undefined) return unsupported(accepted);
  return accepted.secretInBody ? 'authorization_beside_body' : 'credentials_repeated';
}

/** `client_secret_post`, or an assertion if a method for assertions is switched on. */
function readBodyCredentials(parameter: ReadParameter, accepted: AcceptedWays): Result<ClientCredentials, HttpReason> {
  // Counts and caches keep the id.
  const clientId = copyOf(parameter('client_id'));
  const clientSecret = parameter('client_secret');
  if (clientId !== undefined && !isClientId(clientId)) return failure('client_id_malformed');
  if (accepted.assertion && ASSERTION_PARAMETERS.some(parameter)) return readAssertion(parameter, clientId);
  if (clientId === undefined || clientSecret === undefined) {
    return failure(ASSERTION_PARAMETERS.some(parameter) ? 'method_unsupported' : 'credentials_missing');
  }
  return accepted.secretInBody ? success({ clientId, clientSecret }) : failure(unsupported(accepted));
}

function isAccepted({ scheme }: PresentAuthorization, { secretInHeader }: AcceptedWays): boolean {
  return secretInHeader && scheme.toLowerCase() === 'basic';
}

/** A method that is not switched on (RFC 6749 section 5.2): the response says what to do instead, whatever was sent. */
function unsupported({ secretInBody }: AcceptedWays): HttpReason {
  return secretInBody ? 'authorization_method_unsupported' : 'method_unsupported';
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

/** A client that sends its credential, or any JWT, as a scope or a resource too does not get it back: descriptions end in the logs of clients. */
function withoutSecret(refusal: HttpRefusal, { credentials, scope = '', resources }: TokenRequest): HttpRefusal {
  if (refusal.shown === undefined) return refusal;
  const credential = 'assertion' in credentials ? credentials.assertion : credentials.clientSecret;
  const isSecret = [scope, ...resources].some((text) => text.includes(credential)) || refusal.shown.includes('eyJ');
  return isSecret ? { ...refusal, shown: '?' } : refusal;
}

function challenged(refusal: HttpRefusal, challenge: string | undefined): HttpRefusal {
  if (refusal.code !== 'invalid_client' || challenge === undefined) return refusal;
  return { ...refusal, headers: { 'WWW-Authenticate': challenge } };
}

/**
 * The client behind a response. Its abort signal is made on first use, because most requests never wait. This is a class,
 * because each object literal with a getter has its own hidden class, which doubles the time of garbage collection.
 */
class ResponseCaller implements Caller, RequestOrigin {
  readonly requestId: string;
  readonly remoteAddress: string;
  readonly network: string;
  readonly #request: Exchange['state'];
  readonly #load: LoadLimit;
  readonly #response: ServerResponse;
  #disconnected: AbortSignal | undefined;

  constructor({ res, state }: Exchange, load: LoadLimit) {
    this.requestId = state.requestId;
    this.remoteAddress = state.clientAddress;
    this.network = networkOf(state.clientAddress);
    this.#request = state;
    this.#load = load;
    this.#response = res;
  }

  get disconnected(): AbortSignal {
    this.#disconnected ??= signalOfClose(this.#response);
    return this.#disconnected;
  }

  waitUncounted<Outcome>(wait: () => Promise<Outcome>, isMoreWork: (outcome: Outcome) => boolean): Promise<Outcome> {
    return this.#load.waitUncounted(this.#request, wait, isMoreWork);
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
