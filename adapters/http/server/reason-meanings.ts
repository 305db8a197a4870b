import { CHANGING_REGISTRATIONS, MEANINGS } from '../../../application/refusal-meanings.ts';
import type { HttpReason } from './http-reasons.ts';
import type { AnyReason } from './http-refusal.ts';

/** What the reasons of adapters/http mean for operators, as in MEANINGS. */
const HTTP_MEANINGS: Readonly<Record<HttpReason, string>> = {
  request_malformed:
    'The input is not well-formed HTTP/1.1. Look for a client that speaks TLS or HTTP/2 to this port, or for a scanner at this address.',
  host_malformed: 'The request has no Host header, or more than one. Correct the caller, or the proxy in front.',
  host_unknown:
    'The management port was called by a name that MANAGEMENT_ALLOWED_HOSTS does not list. Add the name if it is the one by which you scrape; otherwise a web page may have tried to read the metrics.',
  header_fields_too_large:
    'The header fields are larger than 8 KiB, or more than 100. Look for large cookies or a proxy that adds headers.',
  request_timeout:
    'The request did not arrive completely in time. Look for a slow network, or for somebody who holds connections open.',
  client_disconnected:
    'The caller closed the connection before it had its response. If it happens often, compare the timeout of the caller with the latency on the status page.',
  method_not_allowed:
    'The path exists, but not with this method. The header Allow of the response has those that it has.',
  credentials_in_query:
    'client_id, client_secret, grant_type, client_assertion or client_assertion_type was in the URL, which logs keep. Send all of them in the body, and replace the secret if it was there.',
  authorization_repeated: 'The request has more than one Authorization header. Look for a proxy that adds its own.',
  authorization_malformed: 'The Authorization header cannot be read. Correct it at the caller.',
  authorization_beside_body:
    'The request authenticates twice, with a header and in the body. Switch one of them off at the caller.',
  authorization_method_unsupported:
    'The caller sends its secret in an Authorization header, as OAuth libraries do by default. Set the caller to client_secret_post, or add client_secret_basic to CLIENT_AUTHENTICATION_METHODS.',
  method_unsupported:
    'The caller authenticates in a way that is switched off here. Change the caller, or CLIENT_AUTHENTICATION_METHODS.',
  credentials_repeated: 'The request authenticates in two ways at once. Switch one of them off at the caller.',
  basic_credentials_malformed:
    'The header Authorization: Basic is not base64 of client_id:client_secret, both form-encoded. Correct it at the caller.',
  assertion_incomplete:
    'client_assertion was sent without client_assertion_type, or the other way around. Have the caller send both.',
  assertion_type_unsupported:
    'client_assertion_type is not one of those for JWTs. Have the caller send urn:ietf:params:oauth:client-assertion-type:jwt-bearer, or for a JWT-SVID of SPIFFE, urn:ietf:params:oauth:client-assertion-type:jwt-spiffe.',
  content_encoding_unsupported: 'The body is compressed. Have the caller send it without a Content-Encoding.',
  content_type_unsupported:
    'The body is not declared as a form, often because it is JSON. Have the caller send application/x-www-form-urlencoded.',
  content_type_repeated:
    'The request has the header Content-Type more than once, often since a library sets it too. Have the caller send it once.',
  content_too_large: 'The body is larger than 16 KiB. Look for a wrong file or a very long scope at the caller.',
  form_encoding_malformed:
    'The body is not well-formed percent-encoded UTF-8. Look for a percent sign or an ampersand in the secret that the caller does not encode.',
  parameters_too_many: 'The request has more than 50 parameters. Correct it at the caller.',
  parameter_repeated: 'A parameter appears in the body more than once. Correct it at the caller.',
  audience_repeated:
    'The parameter audience appears in the body more than once. Have the caller send one, or resource more than once.',
  audience_empty: 'The parameter audience has no value. Look for an unset variable in the configuration of the caller.',
  audience_contradictory:
    'The parameters audience and resource name different APIs, and with AUDIENCE_PARAMETER=resource both mean the same. Have the caller send one of them.',
  form_ends_with_line_break:
    'The body ends with a line break, which would belong to its last parameter. Have the caller leave it out, as curl does with --data in place of --data-binary.',
  grant_type_missing: 'The parameter grant_type is missing. Have the caller send grant_type=client_credentials.',
  grant_assertion_missing:
    'A request with the grant for assertions has no parameter assertion. Have the caller send the signed JWT there.',
  token_parameter_missing:
    'The introspection request does not name a token. Have the caller send it in the body, as the parameter `token`.',
  not_acceptable:
    'The Accept header of an introspection request excludes JSON. A signed response (RFC 9701) is not offered: have the caller accept application/json.',
  grant_type_unsupported:
    'The caller asks for another grant than those in GRANT_TYPES, by default client_credentials alone. Change the flow in the configuration of the caller, or the setting.',
  client_id_malformed:
    'The client_id has more than 255 characters or a control character. Look for a line break or a wrong value at the caller.',
  client_id_contradictory:
    'The client_id in the body is not the one in the Authorization header. Have the caller send one of them only.',
  credentials_missing:
    'The request has no client_id or no secret. Look for an unset variable in the configuration of the caller.',
  response_type_unsupported:
    'A client started a login of users, which this service does not have. Set the client to client_credentials.',
  client_owned:
    'A caller of the API wanted to change a client that `clients apply` manages. Have them change its file; `clients show` names the owner.',
  client_protected:
    'A caller of the API without the scope clients:admin wanted to change a client with such scopes, or its owner. Find out why, or give the caller that scope.',
  client_unreadable:
    'What is stored of a client breaks a rule, so that the API cannot change it. `clients show` says which one: mend the row, or remove the client.',
  client_changed:
    'A client was changed between two requests of a caller of the API, or exists already. The caller reads it again.',
  condition_missing:
    'A caller of the API did not say which state of a client it replaces. Have it send If-Match or If-None-Match.',
  document_invalid: 'The document of a client breaks rules, which the response lists. Have the caller correct them.',
  document_malformed:
    'The body of a request to the API is no JSON object, or is not declared as JSON. Correct the caller.',
  document_too_large: 'The body of a request to the API is larger than 64 KiB. Correct the caller.',
  page_malformed:
    'A caller of the API asked for a page with a wrong `after` or `limit`. Have it use the field next of the page before.',
  requests_exhausted:
    'A caller of the API asks for more in a second than ADMIN_REQUESTS_PER_SECOND. Have it list pages in place of single clients, and wait for each response.',
  secrets_too_many:
    'A caller of the API wanted to give a client a third secret. Have it delete the one that is not used any more.',
  secret_missing:
    'A client is locked without a hash behind the lock, so that it cannot be enabled. Have the caller give it a secret first.',
  token_missing:
    'The path needs an access token, and none was sent; unknown paths need one too. Check the path, and send Authorization: Bearer.',
  operator_token_wrong:
    'The management port got a token that is not MANAGEMENT_TOKEN. Have the operator enter the current one, or find out who tries.',
  route_unknown:
    'The path does not exist, and the caller may know: the token is valid, or the path is below /.well-known/. Compare it with the documentation.',
  resource_unknown: 'The token is valid, and the path is right, but nothing has this name. Correct the name.',
  unforeseen: 'The service has a bug. Find the request id in the log, which has the stack, and report it.',
  overloaded:
    'More requests were in progress than one process accepts. Add cores or replicas if this lasts, or limit the flood in front of the service.',
  dependency_unavailable:
    'The database or another part of the service did not answer in time. Look at the checks on the status page; no client has to change anything.',
  slots_exhausted:
    'More requests waited for verification than the cores can verify in time (10 s for secrets, 2 s for assertions), mostly guesses; or more than four secrets of one client from one network waited, where each newer one takes the place of the oldest. Clients whose secret is cached are served. Limit a flood for each address in front of the service; after a restart, wait; otherwise add cores, or give clients generated secrets, whose hashes are cheap.',
};

/** Of all reasons, those of use cases first. */
export const ALL_MEANINGS: Readonly<Record<AnyReason, string>> = { ...MEANINGS, ...HTTP_MEANINGS };

/** What a reason means, and what to do; empty for an unknown one. @param registrations where they are. */
export function meaningOf(reason: string, registrations: 'file' | 'database'): string {
  const { [reason as AnyReason]: meaning = '' } = ALL_MEANINGS;
  const isChange = registrations === 'file' && CHANGING_REGISTRATIONS.has(reason as AnyReason);
  return isChange
    ? `${meaning} Here, registrations are in \`CLIENTS_FILE\`: change it, and restart the service.`
    : meaning;
}
