import type { TokenRequest } from '../../../application/issue-token.ts';
import type { ClientCredentials } from '../../../application/ports/client-credentials.ts';
import type { AuthenticationMethod } from '../../../domain/authentication-method.ts';
import { isClientId } from '../../../domain/client-registration.ts';
import { GRANT_NAMES, type GrantType } from '../../../domain/grant-type.ts';
import { failure, type Result, success } from '../../../domain/result.ts';
import type { HttpReason } from '../server/http-reasons.ts';
import { ASSERTION_PARAMETERS, readAssertion } from './assertion-parameters.ts';
import { readBasicCredentials } from './basic-credentials.ts';
import { copyOf } from './copy-of.ts';
import type { Form, ReadParameter } from './form.ts';
import type { PresentAuthorization, RequestHead } from './request-head.ts';

/** What decides how a token request is read. */
export interface TokenRequestSettings {
  /** The client authentication methods that are switched on. */
  readonly methods: readonly AuthenticationMethod[];
  /** The grants that are switched on. */
  readonly grants: readonly GrantType[];
  /** `resource`: the parameter `audience` names a resource. Otherwise it is ignored, like each unknown one. */
  readonly audienceParameter: 'ignored' | 'resource';
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
export interface AcceptedWays extends Readonly<Record<Way, boolean>> {
  /** Whether `audience` names a resource. */
  readonly audience: boolean;
  /** Whether an access token in the header authenticates too. */
  readonly bearer: boolean;
  readonly grants: readonly GrantType[];
  readonly methods: readonly AuthenticationMethod[];
}

/** What the token endpoint accepts with these settings. */
export function acceptedWays({ methods, audienceParameter, grants }: TokenRequestSettings): AcceptedWays {
  const ways = methods.map((method) => WAYS[method]);
  return {
    methods,
    grants,
    secretInBody: ways.includes('secretInBody'),
    secretInHeader: ways.includes('secretInHeader'),
    assertion: ways.includes('assertion'),
    audience: audienceParameter === 'resource',
    bearer: false,
  };
}

/** A token request as it was sent, without its caller. */
export type SentRequest = Omit<TokenRequest, 'caller'>;

/** An empty parameter is absent (RFC 6749 section 3.2). Two authentication methods are an error (section 2.3). */
export function readTokenRequest(
  { parameters, resources }: Form,
  { authorization }: RequestHead,
  accepted: AcceptedWays,
): Result<SentRequest, HttpReason> {
  const parameter = (name: string) => parameters.get(name) || undefined;
  const inHeader = authorization.kind === 'present' ? authorization : undefined;
  const wrongHeader = refuseHeader(inHeader, parameter, accepted);
  if (wrongHeader !== undefined) return failure(wrongHeader);
  const grantType = parameter('grant_type');
  if (grantType === undefined) return failure('grant_type_missing');
  const grant = accepted.grants.find((name) => GRANT_NAMES[name] === grantType);
  if (grant === undefined) return failure('grant_type_unsupported');

  const presented = readCredentials(inHeader, parameter, accepted);
  const read = grant === 'jwt-bearer' ? readGrant(parameter, inHeader !== undefined, presented) : ofClient(presented);
  if (!read.ok) return read;
  const named = accepted.audience ? withAudience(resources, parameters.get('audience')) : success(resources);
  if (!named.ok) return named;
  return success({
    ...read.value,
    grant,
    scope: parameter('scope'),
    resources: named.value.filter((resource) => resource !== ''),
  });
}

/** The credentials of a client alone, as other endpoints need them. */
export function readClientCredentials(
  { parameters }: Form,
  { authorization }: RequestHead,
  accepted: AcceptedWays,
): Result<ClientCredentials, HttpReason> {
  const parameter = (name: string) => parameters.get(name) || undefined;
  const inHeader = authorization.kind === 'present' ? authorization : undefined;
  const wrongHeader = refuseHeader(inHeader, parameter, accepted);
  return wrongHeader === undefined ? readCredentials(inHeader, parameter, accepted) : failure(wrongHeader);
}

function readCredentials(
  inHeader: PresentAuthorization | undefined,
  parameter: ReadParameter,
  accepted: AcceptedWays,
): Result<ClientCredentials, HttpReason> {
  if (inHeader === undefined) return readBodyCredentials(parameter, accepted);
  return readBasicCredentials(inHeader.credentials, parameter);
}

type Presented = Result<ClientCredentials, HttpReason>;
type ReadCredentials = Result<Pick<TokenRequest, 'credentials' | 'beside'>, HttpReason>;

function ofClient(presented: Presented): ReadCredentials {
  return presented.ok ? success({ credentials: presented.value }) : presented;
}

/** The assertion that is the grant, and what authenticates the client beside it, if anything (RFC 7521 section 4.1). */
function readGrant(parameter: ReadParameter, hasHeader: boolean, presented: Presented): ReadCredentials {
  const assertion = parameter('assertion');
  if (assertion === undefined) return failure('grant_assertion_missing');
  const authenticates = hasHeader || ['client_secret', ...ASSERTION_PARAMETERS].some(parameter);
  if (authenticates && !presented.ok) return presented;
  const clientId = copyOf(parameter('client_id'));
  if (clientId !== undefined && !isClientId(clientId)) return failure('client_id_malformed');
  const credentials = { type: 'jwt-bearer', assertion, clientId: hasHeader ? undefined : clientId } as const;
  return success({ credentials, ...(authenticates && presented.ok && { beside: presented.value }) });
}

/** The resources with that of `audience`, which other providers have in the place of `resource` (RFC 8707). */
function withAudience(
  resources: readonly string[],
  audience: string | undefined,
): Result<readonly string[], HttpReason> {
  if (audience === undefined) return success(resources);
  if (audience === '') return failure('audience_empty');
  const isSame = resources.every((resource) => resource === audience || resource === '');
  return isSame ? success([audience]) : failure('audience_contradictory');
}

/** What a header that is not accepted is refused for: the body may have credentials too, which is a different error. */
function refuseHeader(
  inHeader: PresentAuthorization | undefined,
  parameter: ReadParameter,
  accepted: AcceptedWays,
): HttpReason | undefined {
  if (inHeader === undefined || isAccepted(inHeader, accepted)) return undefined;
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

export function isAccepted(header: PresentAuthorization, { secretInHeader, bearer }: AcceptedWays): boolean {
  return (secretInHeader && header.scheme.toLowerCase() === 'basic') || (bearer && isBearer(header));
}

export function isBearer({ scheme }: PresentAuthorization): boolean {
  return scheme.toLowerCase() === 'bearer';
}

/** A method that is not switched on (RFC 6749 section 5.2): the response says what to do instead, whatever was sent. */
export function unsupported({ secretInBody, secretInHeader }: AcceptedWays): HttpReason {
  return secretInBody && !secretInHeader ? 'authorization_method_unsupported' : 'method_unsupported';
}
