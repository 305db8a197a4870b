import type { ReasonRow } from '../../../domain/refusal.ts';

/** Those of the API for managing clients. */
export const ADMIN_API_REASONS = {
  client_owned: {
    code: 'conflict',
    description: "clients apply manages this client for '…': change its file",
  },
  client_protected: {
    code: 'insufficient_scope',
    description: 'the scope clients:admin is needed for a client with a scope of this API, and for owner',
  },
  client_unreadable: { code: 'conflict', description: 'what is stored of this client breaks a rule: delete it' },
  client_changed: {
    code: 'precondition_failed',
    description: 'the client is not in the state of If-Match or If-None-Match: read it again',
  },
  condition_missing: {
    code: 'precondition_required',
    description: 'send If-Match with the ETag of the client, or If-None-Match: * to create it',
  },
  document_invalid: { code: 'invalid_client_metadata', description: 'errors has what to correct' },
  document_malformed: {
    code: 'invalid_request',
    description:
      'the body must be a JSON object in UTF-8 that names no field twice, and the Content-Type application/json',
  },
  document_too_large: { code: 'content_too_large', description: 'the body is larger than 64 KiB' },
  page_malformed: { code: 'invalid_request', description: 'after is an id, and limit a number from 1 to 500' },
  requests_exhausted: {
    code: 'slow_down',
    description: 'this client asks for more in a second than it may: try again later',
  },
  secrets_too_many: { code: 'conflict', description: 'the client has two valid secrets: delete one first' },
  secret_missing: { code: 'conflict', description: 'the client is locked and has no secret: put a document with one' },
} as const satisfies Record<string, ReasonRow>;

/** The reasons of refusals that adapters/http decides, and of faults. Sources of the codes: see RESPONSES. */
export const HTTP_REASONS = {
  request_malformed: { code: 'invalid_request', description: 'the request is not well-formed HTTP/1.1' },
  host_malformed: { code: 'invalid_request', description: 'HTTP/1.1 asks for exactly one Host header' },
  host_unknown: {
    code: 'misdirected_request',
    description: 'the Host header must be an IP address, localhost, or a name that MANAGEMENT_ALLOWED_HOSTS lists',
  },
  header_fields_too_large: {
    code: 'header_fields_too_large',
    description: 'the header fields are larger than 8 KiB, or more than 100',
  },
  request_timeout: { code: 'request_timeout', description: 'the request did not arrive in time' },
  client_disconnected: { code: 'invalid_request' },
  method_not_allowed: {
    code: 'method_not_allowed',
    description: 'the Allow header names the methods that this path answers',
  },
  credentials_in_query: {
    code: 'invalid_request',
    description: 'send all parameters in the body, never in the query string',
  },
  authorization_repeated: { code: 'invalid_request', description: 'more than one Authorization header' },
  authorization_malformed: { code: 'invalid_request', description: 'the Authorization header is malformed' },
  authorization_beside_body: {
    code: 'invalid_request',
    description: 'send the credentials in one way only: as client_id and client_secret in the body',
  },
  authorization_method_unsupported: {
    code: 'invalid_client',
    description:
      'send client_id and client_secret in the body, without an Authorization header, or have the operator add client_secret_basic to CLIENT_AUTHENTICATION_METHODS',
  },
  method_unsupported: {
    code: 'invalid_client',
    description:
      'this server accepts no other client authentication than …, unless its operator adds it to CLIENT_AUTHENTICATION_METHODS',
  },
  credentials_repeated: { code: 'invalid_request', description: 'authenticate in one way only' },
  basic_credentials_malformed: {
    code: 'invalid_request',
    description:
      'the credentials of the Authorization header must be base64 of client_id:client_secret, both form-encoded',
  },
  assertion_incomplete: {
    code: 'invalid_request',
    description: 'client_assertion and client_assertion_type belong together',
  },
  assertion_type_unsupported: {
    code: 'invalid_client',
    description:
      'client_assertion_type must be urn:ietf:params:oauth:client-assertion-type:jwt-bearer (or :jwt-spiffe)',
  },
  content_encoding_unsupported: {
    code: 'unsupported_media_type',
    description: 'send the body without a Content-Encoding',
  },
  content_type_unsupported: {
    code: 'invalid_request',
    description: 'the Content-Type must be application/x-www-form-urlencoded, in UTF-8',
  },
  content_type_repeated: { code: 'invalid_request', description: 'there is more than one Content-Type header' },
  content_too_large: { code: 'content_too_large', description: 'the body is larger than 16 KiB' },
  form_encoding_malformed: {
    code: 'invalid_request',
    description: 'the body is not well-formed: percent-encoding of UTF-8 is asked for',
  },
  parameters_too_many: { code: 'invalid_request', description: 'more than 50 parameters' },
  parameter_repeated: { code: 'invalid_request', description: 'a parameter is in the body more than once' },
  audience_repeated: { code: 'invalid_request', description: 'audience is in the body more than once' },
  audience_empty: { code: 'invalid_request', description: 'audience is empty' },
  audience_contradictory: { code: 'invalid_target', description: 'audience and resource are different' },
  form_ends_with_line_break: { code: 'invalid_request', description: 'the body ends with a line break' },
  grant_type_missing: { code: 'invalid_request', description: 'grant_type is missing' },
  grant_type_unsupported: { code: 'unsupported_grant_type', description: 'grant_type must be …' },
  token_parameter_missing: { code: 'invalid_request', description: 'token is missing' },
  not_acceptable: { code: 'not_acceptable', description: 'the response is JSON, which the Accept header excludes' },
  grant_assertion_missing: { code: 'invalid_request', description: 'assertion is missing' },
  client_id_malformed: {
    code: 'invalid_request',
    description: 'client_id has more than 255 characters or a control character',
  },
  client_id_contradictory: {
    code: 'invalid_request',
    description: 'client_id in the body is not the one in the Authorization header',
  },
  credentials_missing: { code: 'invalid_client' },
  response_type_unsupported: {
    code: 'unsupported_response_type',
    description: 'this server has no authorization of users: send client_credentials requests to its token endpoint',
  },
  token_missing: { code: 'unauthorized' },
  operator_token_wrong: { code: 'unauthorized' },
  route_unknown: { code: 'not_found' },
  resource_unknown: { code: 'not_found' },
  unforeseen: { code: 'server_error' },
  overloaded: { code: 'temporarily_unavailable' },
  dependency_unavailable: { code: 'temporarily_unavailable' },
  slots_exhausted: { code: 'temporarily_unavailable' },
  ...ADMIN_API_REASONS,
} as const satisfies Record<string, ReasonRow>;

export type HttpReason = keyof typeof HTTP_REASONS;

/** Whether adapters/http decided a refusal for this reason, and no use case. */
export function isHttpReason(reason: string): reason is HttpReason {
  return Object.hasOwn(HTTP_REASONS, reason);
}
