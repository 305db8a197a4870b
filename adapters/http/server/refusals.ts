import type { RefusalCode, RefusalReason } from '../../../domain/refusal.ts';

/** Header fields of every response (RFC 6749 section 5.1). */
export const RESPONSE_HEADERS = { 'Cache-Control': 'no-store', Pragma: 'no-cache' } as const;

/** How a code is answered. */
export interface Answer {
  readonly status: number;
  /** Header field `Retry-After`, in seconds. */
  readonly retryAfter?: number;
  /** Member `error` of the body. */
  readonly error: string;
}

/** The one table that maps a code to its status and header fields. Sources: RFC 6749 sections 4.1.2.1 and 5.2, RFC 8628 section 3.5, RFC 8707 section 2, RFC 6750 section 3.1, RFC 9110 section 15, RFC 6585 section 4. */
export const ANSWERS = {
  invalid_request: { status: 400, error: 'invalid_request' },
  unsupported_grant_type: { status: 400, error: 'unsupported_grant_type' },
  invalid_scope: { status: 400, error: 'invalid_scope' },
  invalid_target: { status: 400, error: 'invalid_target' },
  unsupported_response_type: { status: 400, error: 'unsupported_response_type' },
  invalid_client: { status: 401, error: 'invalid_client' },
  unauthorized: { status: 401, error: 'unauthorized' },
  invalid_token: { status: 401, error: 'invalid_token' },
  insufficient_scope: { status: 403, error: 'insufficient_scope' },
  not_found: { status: 404, error: 'not_found' },
  method_not_allowed: { status: 405, error: 'invalid_request' },
  request_timeout: { status: 408, error: 'invalid_request' },
  content_too_large: { status: 413, error: 'invalid_request' },
  unsupported_media_type: { status: 415, error: 'invalid_request' },
  slow_down: { status: 429, error: 'slow_down', retryAfter: 1 },
  header_fields_too_large: { status: 431, error: 'invalid_request' },
  server_error: { status: 500, error: 'server_error' },
  temporarily_unavailable: { status: 503, error: 'temporarily_unavailable', retryAfter: 1 },
} satisfies Record<RefusalCode, Answer> & Record<string, Answer>;

/** The code of a refusal: one of the domain's, or one that exists only in HTTP. */
export type AnswerCode = keyof typeof ANSWERS;

/** The reasons of refusals that adapters/http decides, and of those that a fault becomes, with the code of each. */
export const CODE_OF_HTTP_REASON = {
  request_malformed: 'invalid_request',
  host_malformed: 'invalid_request',
  header_fields_too_large: 'header_fields_too_large',
  request_timeout: 'request_timeout',
  client_disconnected: 'invalid_request',
  method_not_allowed: 'method_not_allowed',
  credentials_in_query: 'invalid_request',
  authorization_repeated: 'invalid_request',
  authorization_malformed: 'invalid_request',
  authorization_beside_body: 'invalid_request',
  authorization_method_unsupported: 'invalid_client',
  method_unsupported: 'invalid_client',
  credentials_repeated: 'invalid_request',
  basic_credentials_malformed: 'invalid_request',
  assertion_incomplete: 'invalid_request',
  assertion_type_unsupported: 'invalid_client',
  content_encoding_unsupported: 'unsupported_media_type',
  content_type_unsupported: 'invalid_request',
  content_too_large: 'content_too_large',
  form_encoding_malformed: 'invalid_request',
  parameters_too_many: 'invalid_request',
  parameter_repeated: 'invalid_request',
  grant_type_missing: 'invalid_request',
  grant_type_unsupported: 'unsupported_grant_type',
  client_id_malformed: 'invalid_request',
  client_id_contradictory: 'invalid_request',
  credentials_missing: 'invalid_client',
  response_type_unsupported: 'unsupported_response_type',
  token_missing: 'unauthorized',
  operator_token_wrong: 'unauthorized',
  operator_checks_exhausted: 'slow_down',
  route_unknown: 'not_found',
  resource_unknown: 'not_found',
  unforeseen: 'server_error',
  overloaded: 'temporarily_unavailable',
  dependency_unavailable: 'temporarily_unavailable',
} as const satisfies Record<string, AnswerCode>;

export type HttpReason = keyof typeof CODE_OF_HTTP_REASON;

/** Whether adapters/http decided a refusal for this reason, and no use case. */
export function isHttpReason(reason: string): reason is HttpReason {
  return Object.hasOwn(CODE_OF_HTTP_REASON, reason);
}

/**
 * `error_description` (RFC 6749 section 5.2): what the developer of a client has to fix. The texts are fixed: nothing of
 * the request is reflected. Credentials that were checked get none, since any detail would help an attacker.
 */
export const DESCRIPTIONS: Readonly<Partial<Record<HttpReason | RefusalReason, string>>> = {
  request_malformed: 'the request is not well-formed HTTP/1.1',
  host_malformed: 'HTTP/1.1 asks for exactly one Host header',
  header_fields_too_large: 'the header fields are larger than 16 KiB',
  request_timeout: 'the request did not arrive in time',
  method_not_allowed: 'the Allow header names the methods that this path answers',
  credentials_in_query: 'send client_id, client_secret and grant_type in the body, never in the query string',
  authorization_repeated: 'more than one Authorization header',
  authorization_malformed: 'the Authorization header is malformed',
  authorization_method_unsupported: 'send client_id and client_secret in the body, without an Authorization header',
  method_unsupported:
    'this server does not accept this way of client authentication: token_endpoint_auth_methods_supported in its metadata lists what it accepts',
  credentials_repeated: 'authenticate in one way only',
  basic_credentials_malformed:
    'the credentials of the Authorization header must be base64 of client_id:client_secret, both form-encoded',
  assertion_type_unsupported:
    'client_assertion_type must be urn:ietf:params:oauth:client-assertion-type:jwt-bearer (or :jwt-spiffe)',
  assertion_incomplete: 'client_assertion and client_assertion_type belong together',
  client_id_contradictory: 'client_id in the body is not the one in the Authorization header',
  authorization_beside_body: 'send the credentials in one way only: as client_id and client_secret in the body',
  content_encoding_unsupported: 'send the body without a Content-Encoding',
  content_type_unsupported: 'the Content-Type must be application/x-www-form-urlencoded, in UTF-8',
  content_too_large: 'the body is larger than 16 KiB',
  form_encoding_malformed: 'the body is not well-formed: percent-encoding of UTF-8 is asked for',
  parameters_too_many: 'more than 50 parameters',
  parameter_repeated: 'a parameter stands in the body more than once',
  grant_type_missing: 'grant_type is missing',
  grant_type_unsupported: 'grant_type must be client_credentials',
  response_type_unsupported:
    'this server has no authorization of users: send client_credentials requests to its token endpoint',
  client_id_malformed: 'client_id has more than 255 characters or a control character',
  attempts_exhausted: 'too many failed attempts for this client_id from this address: try again later',
  operator_checks_exhausted: 'too many wrong tokens: try again later',
  resource_malformed: 'resource must be an absolute URI without a fragment',
  resource_not_registered: 'the client is not registered for a resource that it asks for',
  resources_too_long: 'a token with these scopes and resources is longer than 12 KiB: ask for fewer of them',
  scope_malformed: 'scope must be scope tokens with single spaces between',
  scope_too_long: 'a token with these scopes is longer than 12 KiB: ask for fewer of them with the parameter scope',
  scope_not_registered: 'the client is not registered for a scope that it asks for',
};

/** A refusal as it is answered and logged. */
export interface HttpRefusal {
  readonly code: AnswerCode;
  readonly reason: HttpReason | RefusalReason;
  readonly clientId?: string;
  /** Header fields beyond those of every answer, such as `Allow`. */
  readonly headers?: Readonly<Record<string, string>>;
}

export function httpRefusal(reason: HttpReason, headers?: Readonly<Record<string, string>>): HttpRefusal {
  return { code: CODE_OF_HTTP_REASON[reason], reason, ...(headers && { headers }) };
}

/** The JSON body of a refusal. */
export function refusalBody({ code, reason }: HttpRefusal): { error: string; error_description?: string } {
  const description = DESCRIPTIONS[reason];
  return { error: ANSWERS[code].error, ...(description !== undefined && { error_description: description }) };
}
