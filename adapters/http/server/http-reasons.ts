import type { ReasonRow } from '../../../domain/refusal.ts';

/** The reasons of refusals that adapters/http decides, and of those that a fault becomes. Sources of the codes: see RESPONSES. */
export const HTTP_REASONS = {
  request_malformed: {
    code: 'invalid_request',
    description: 'the request is not well-formed HTTP/1.1',
    meaning:
      'The input is not well-formed HTTP/1.1. Look for a client that speaks TLS or HTTP/2 to this port, or for a scanner at this address.',
  },
  host_malformed: {
    code: 'invalid_request',
    description: 'HTTP/1.1 asks for exactly one Host header',
    meaning: 'The request has no Host header, or more than one. Correct the caller, or the proxy in front.',
  },
  host_unknown: {
    code: 'misdirected_request',
    description: 'the Host header must be an IP address, localhost, or a name that MANAGEMENT_ALLOWED_HOSTS lists',
    meaning:
      'The management port was called by a name that MANAGEMENT_ALLOWED_HOSTS does not list. Add it if it is the name by which you scrape; otherwise a web page may have tried to read the metrics.',
  },
  header_fields_too_large: {
    code: 'header_fields_too_large',
    description: 'the header fields are larger than 8 KiB, or more than 100',
    meaning:
      'The header fields are larger than 8 KiB, or more than 100. Look for large cookies or a proxy that adds headers.',
  },
  request_timeout: {
    code: 'request_timeout',
    description: 'the request did not arrive in time',
    meaning:
      'The request did not arrive completely in time. Look for a slow network, or for somebody who keeps connections open.',
  },
  client_disconnected: {
    code: 'invalid_request',
    meaning:
      'The caller closed the connection before it had its response. If it happens often, compare the timeout of the caller with the latency on the status page.',
  },
  method_not_allowed: {
    code: 'method_not_allowed',
    description: 'the Allow header names the methods that this path answers',
    meaning: 'The path exists, but not with this method. The token endpoint answers POST, all other paths answer GET.',
  },
  credentials_in_query: {
    code: 'invalid_request',
    description: 'send client_id, client_secret and grant_type in the body, never in the query string',
    meaning:
      'client_id, client_secret, grant_type, client_assertion or client_assertion_type was in the URL, which logs keep. Send all of them in the body, and replace the secret if it was there.',
  },
  authorization_repeated: {
    code: 'invalid_request',
    description: 'more than one Authorization header',
    meaning: 'The request has more than one Authorization header. Look for a proxy that adds its own.',
  },
  authorization_malformed: {
    code: 'invalid_request',
    description: 'the Authorization header is malformed',
    meaning: 'The Authorization header cannot be read. Correct it at the caller.',
  },
  authorization_beside_body: {
    code: 'invalid_request',
    description: 'send the credentials in one way only: as client_id and client_secret in the body',
    meaning: 'The request authenticates twice, with a header and in the body. Switch one of them off at the caller.',
  },
  authorization_method_unsupported: {
    code: 'invalid_client',
    description:
      'send client_id and client_secret in the body, without an Authorization header, or have the operator add client_secret_basic to CLIENT_AUTHENTICATION_METHODS',
    meaning:
      'The caller sends its secret in an Authorization header, as OAuth libraries do by default. Set it to client_secret_post, or add client_secret_basic to CLIENT_AUTHENTICATION_METHODS.',
  },
  method_unsupported: {
    code: 'invalid_client',
    description:
      'this server accepts no other client authentication than …, unless its operator adds it to CLIENT_AUTHENTICATION_METHODS',
    meaning:
      'The caller authenticates in a way that is switched off here. Change the caller, or CLIENT_AUTHENTICATION_METHODS.',
  },
  credentials_repeated: {
    code: 'invalid_request',
    description: 'authenticate in one way only',
    meaning: 'The request authenticates in two ways at once. Switch one of them off at the caller.',
  },
  basic_credentials_malformed: {
    code: 'invalid_request',
    description:
      'the credentials of the Authorization header must be base64 of client_id:client_secret, both form-encoded',
    meaning:
      'The header Authorization: Basic is not base64 of client_id:client_secret, both form-encoded. Correct it at the caller.',
  },
  assertion_incomplete: {
    code: 'invalid_request',
    description: 'client_assertion and client_assertion_type belong together',
    meaning:
      'client_assertion stood without client_assertion_type, or the other way around. Have the caller send both.',
  },
  assertion_type_unsupported: {
    code: 'invalid_client',
    description:
      'client_assertion_type must be urn:ietf:params:oauth:client-assertion-type:jwt-bearer (or :jwt-spiffe)',
    meaning:
      'client_assertion_type is not one of those for JWTs. Have the caller send urn:ietf:params:oauth:client-assertion-type:jwt-bearer, or for a JWT-SVID of SPIFFE, urn:ietf:params:oauth:client-assertion-type:jwt-spiffe.',
  },
  content_encoding_unsupported: {
    code: 'unsupported_media_type',
    description: 'send the body without a Content-Encoding',
    meaning: 'The body is compressed. Have the caller send it without a Content-Encoding.',
  },
  content_type_unsupported: {
    code: 'invalid_request',
    description: 'the Content-Type must be application/x-www-form-urlencoded, in UTF-8',
    meaning:
      'The body is not declared as a form, often because it is JSON. Have the caller send application/x-www-form-urlencoded.',
  },
  content_too_large: {
    code: 'content_too_large',
    description: 'the body is larger than 16 KiB',
    meaning: 'The body is larger than 16 KiB. Look for a wrong file or a very long scope at the caller.',
  },
  form_encoding_malformed: {
    code: 'invalid_request',
    description: 'the body is not well-formed: percent-encoding of UTF-8 is asked for',
    meaning:
      'The body is not well-formed percent-encoded UTF-8. Look for a percent sign or an ampersand in the secret that the caller does not encode.',
  },
  parameters_too_many: {
    code: 'invalid_request',
    description: 'more than 50 parameters',
    meaning: 'The request has more than 50 parameters. Correct it at the caller.',
  },
  parameter_repeated: {
    code: 'invalid_request',
    description: 'a parameter stands in the body more than once',
    meaning: 'A parameter appears in the body more than once. Correct it at the caller.',
  },
  grant_type_missing: {
    code: 'invalid_request',
    description: 'grant_type is missing',
    meaning: 'The parameter grant_type is missing. Have the caller send grant_type=client_credentials.',
  },
  grant_type_unsupported: {
    code: 'unsupported_grant_type',
    description: 'grant_type must be client_credentials',
    meaning:
      'The caller asks for another grant than client_credentials, the only one here. Change the flow in its configuration.',
  },
  client_id_malformed: {
    code: 'invalid_request',
    description: 'client_id has more than 255 characters or a control character',
    meaning:
      'The client_id has more than 255 characters or a control character. Look for a line break or a wrong value at the caller.',
  },
  client_id_contradictory: {
    code: 'invalid_request',
    description: 'client_id in the body is not the one in the Authorization header',
    meaning:
      'The client_id in the body is not the one in the Authorization header. Have the caller send one of them only.',
  },
  credentials_missing: {
    code: 'invalid_client',
    meaning:
      'The request has no client_id or no secret. Look for an unset variable in the configuration of the caller.',
  },
  response_type_unsupported: {
    code: 'unsupported_response_type',
    description: 'this server has no authorization of users: send client_credentials requests to its token endpoint',
    meaning:
      'A client started a login of users, which this service does not have. Set the client to client_credentials.',
  },
  token_missing: {
    code: 'unauthorized',
    meaning:
      'The path needs an access token, and none was sent; unknown paths need one too. Check the path, and send Authorization: Bearer.',
  },
  operator_token_wrong: {
    code: 'unauthorized',
    meaning:
      'The management port got a token that is not MANAGEMENT_TOKEN. Have the operator enter the current one, or find out who tries.',
  },
  route_unknown: {
    code: 'not_found',
    meaning:
      'The path does not exist, and the caller may know: the token is valid, or the path is below /.well-known/. Compare it with the documentation.',
  },
  resource_unknown: {
    code: 'not_found',
    meaning: 'The token is valid, and the path is right, but nothing has this name. Correct the name.',
  },
  unforeseen: {
    code: 'server_error',
    meaning:
      'The service failed in a way that it should not. Find the request id in the log, which has the stack, and report it.',
  },
  overloaded: {
    code: 'temporarily_unavailable',
    meaning:
      'More requests were in progress than one process accepts. Add cores or replicas if this lasts, or limit the flood in front of the service.',
  },
  dependency_unavailable: {
    code: 'temporarily_unavailable',
    meaning:
      'The database or another part of the service did not answer in time. Look at the checks on the status page; no client has to change anything.',
  },
  slots_exhausted: {
    code: 'temporarily_unavailable',
    meaning:
      'More waited for verification than the cores can verify in time, 10 s for secrets and 2 s for assertions: mostly guesses, which get this response in place of 401. Clients whose secret is cached are served. In a flood, limit it for each address in front of the service; after a restart, wait; otherwise add cores, or give clients generated secrets, whose hashes are cheap.',
  },
} as const satisfies Record<string, ReasonRow>;

export type HttpReason = keyof typeof HTTP_REASONS;

/** Whether adapters/http decided a refusal for this reason, and no use case. */
export function isHttpReason(reason: string): reason is HttpReason {
  return Object.hasOwn(HTTP_REASONS, reason);
}
