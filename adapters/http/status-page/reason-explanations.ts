import type { RefusalReason } from '../../../domain/refusal.ts';
import type { HttpReason } from '../server/refusals.ts';

/** For each reason of a refusal: what it means, and what to do. For operators; callers get less. The status page and docs/troubleshooting.md show it. */
export const REASON_EXPLANATIONS: Readonly<Record<HttpReason | RefusalReason, string>> = {
  client_unknown:
    'No client is registered under the id that was sent. Compare the id in the configuration of the caller with `npm run clients -- list`.',
  secret_wrong:
    'The client is registered, but the secret is not its own. Correct the secret at the caller, or give the client a new one with `npm run clients -- rotate`.',
  presented_secret_unusable:
    'The secret that was sent is longer than 72 bytes or contains a NUL, so it cannot be right. Look for a wrong value or a whole file in the configuration of the caller.',
  stored_secret_unusable:
    'The client is disabled, or its stored secret cannot be compared: not BCrypt, a cost outside the limits, or {noop} in the table. Enable it, or give it a new secret with `npm run clients -- rotate`. If its secrets have ids, `npm run doctor` says whether the service may read client_secrets.',
  registration_broken:
    'The credentials are right, but the row of the client breaks a rule, such as an empty name or a malformed scope. Find `registration_broken` in the log, which names the field, and correct the row.',
  client_disabled:
    'The client is registered and disabled. Enable it with `npm run clients -- enable` if it should get tokens.',
  client_ambiguous:
    'Several clients have a rule that matches this assertion. Have the caller send client_id, or make the rules narrower.',
  attempts_exhausted:
    'Too many attempts with a wrong secret for this client id from this address in the last minute. Find the caller that has a wrong secret at this address; right secrets work again within 5 s after it stops.',

  assertion_malformed:
    'The assertion is not a JWT in its compact form with all required claims, each once. Have the caller sign it with a maintained library.',
  assertion_type_refused:
    'The header of the assertion has a typ that is not accepted. Have the caller send typ JWT, or none.',
  assertion_algorithm_refused:
    'The assertion is signed with an algorithm that is not accepted here or not listed for its issuer. Use one that the metadata or the file of issuers lists.',
  assertion_issuer_untrusted:
    'The issuer of the assertion is neither the client itself nor a trusted issuer. Compare iss with the client id and with CLIENT_ASSERTION_ISSUERS_FILE, character by character.',
  assertion_client_contradictory:
    'The client_id of the request is not the client that the assertion authenticates. Correct client_id, or leave it out.',
  assertion_subject_unknown:
    'The issuer is trusted, but no client has a rule for this subject. Add one with `npm run clients -- subjects add`, after `npm run clients -- explain` has shown the subject.',
  assertion_claims_unmatched:
    'A client has a rule for this subject, but the assertion does not meet its conditions. `npm run clients -- explain` names the claim that differs.',
  federated_rule_refused:
    'The rule of this client does not demand enough to be safe, so it does not count. Replace it with one that `npm run clients` accepts.',
  assertion_key_unknown:
    'The assertion names a key that is not registered for this client, or not in the key set of its issuer. Register the new public key, or correct kid.',
  assertion_signature_wrong:
    'The signature does not match the registered public key. Register the public key that belongs to the private key which the caller signs with.',
  assertion_audience_wrong:
    'The assertion was made for another audience. Have the caller set aud to the issuer of this service, and to nothing else.',
  assertion_expired:
    'The assertion expired before it arrived. Have the caller sign one right before each request, and compare its clock with the time here.',
  assertion_not_yet_valid:
    'The assertion is from the future: nbf or iat is more than 30 s ahead. Correct the clock of the caller, or of this machine.',
  assertion_lifetime_too_long:
    'The assertion is valid for longer than is accepted. Have the caller set exp at most 300 s ahead; for a federated one, the limit is CLIENT_ASSERTION_MAX_AGE_SECONDS.',
  assertion_too_old:
    'The assertion was issued too long ago. Have the caller fetch a new one, or raise CLIENT_ASSERTION_MAX_AGE_SECONDS.',
  assertion_replayed:
    'This assertion was used before. Have the caller sign a new one, with a new jti, for each request and each retry; if it already does, somebody else has a copy.',

  scope_malformed:
    'The parameter scope is not a list of scope tokens with single spaces between. Correct it at the caller.',
  scope_not_registered:
    'The client asks for a scope that it is not registered for. Correct the request, or add the scope to its registration.',
  scope_too_long:
    'A token with all of these scopes would be longer than 12 KiB. Have the caller ask for fewer of them.',
  resource_malformed: 'The parameter resource is not an absolute URI without a fragment. Correct it at the caller.',
  resource_not_registered:
    'The client asks for a resource that it is not registered for. Correct the request, or add it with `npm run clients -- resources add`. With PostgreSQL, the service reads resources only after `npm run migrate`, its grants and a restart.',
  resources_too_long:
    'A token with these scopes and resources would be longer than 12 KiB. Have the caller ask for fewer of them.',

  token_missing:
    'The path needs an access token, and none was sent; unknown paths need one too. Check the path, and send Authorization: Bearer.',
  token_malformed:
    'What was sent as a token is not a JWT of this service. Look for a truncated token, quotes, or a token of another kind.',
  token_algorithm_refused:
    'The token is not signed with RS256, so this service did not issue it. Find out where the caller gets it.',
  token_key_unknown:
    'The token names a key that this replica does not trust: revoked, long retired, of another issuer, or of a replica that shares no key directory. Get a new token, and compare its kid with the keys on the status page.',
  token_signature_wrong:
    'The signature of the token is wrong: it was changed or forged. Find out who sends it from this address.',
  token_claims_malformed:
    'A claim of the token is missing or has the wrong type, so this version of the service did not issue it. Get a new token.',
  token_issuer_foreign:
    'The token is of another issuer. Compare its iss with TOKEN_ISSUER: a renamed service refuses its older tokens.',
  token_audience_foreign:
    'The token is meant for another audience than this service. Have the caller ask for a token for this service, and compare aud with TOKEN_AUDIENCE.',
  token_expired: 'The token has expired. Have the caller get a new one when expires_in is over.',
  token_not_yet_valid:
    'The token is from the future. Compare the clocks of the replicas, whose offsets the status page shows.',
  scope_insufficient: 'The token lacks the scope that this path needs. Have the client ask for it, and register it.',

  request_malformed:
    'The input is not well-formed HTTP/1.1. Look for a client that speaks TLS or HTTP/2 to this port, or for a scanner at this address.',
  host_malformed: 'The request has no Host header, or more than one. Correct the caller, or the proxy in front.',
  header_fields_too_large:
    'The header fields are larger than 16 KiB. Look for large cookies or for a proxy that adds headers.',
  request_timeout:
    'The request did not arrive completely in time. Look for a slow network, or for somebody who keeps connections open.',
  client_disconnected:
    'The caller closed the connection before it had its answer. If it happens often, compare the timeout of the caller with the latency on the status page.',
  method_not_allowed:
    'The path exists, but not with this method. The token endpoint answers POST, all other paths answer GET.',
  credentials_in_query:
    'client_id, client_secret, grant_type, client_assertion or client_assertion_type was in the URL, which logs keep. Send all of them in the body, and replace the secret if it was there.',
  authorization_repeated: 'The request has more than one Authorization header. Look for a proxy that adds its own.',
  authorization_malformed: 'The Authorization header cannot be read. Correct it at the caller.',
  authorization_beside_body:
    'The request authenticates twice, with a header and in the body. Switch one of them off at the caller.',
  authorization_method_unsupported:
    'The caller sends its secret in an Authorization header, as OAuth libraries do by default. Set it to client_secret_post, or add client_secret_basic to CLIENT_AUTHENTICATION_METHODS.',
  method_unsupported:
    'The caller authenticates in a way that is switched off here. Change the caller, or CLIENT_AUTHENTICATION_METHODS.',
  credentials_repeated: 'The request authenticates in two ways at once. Switch one of them off at the caller.',
  basic_credentials_malformed:
    'The header Authorization: Basic is not base64 of client_id:client_secret, both form-encoded. Correct it at the caller.',
  assertion_incomplete:
    'client_assertion stood without client_assertion_type, or the other way around. Have the caller send both.',
  assertion_type_unsupported:
    'client_assertion_type is not one of those for JWTs. Have the caller send urn:ietf:params:oauth:client-assertion-type:jwt-bearer, or for a JWT-SVID of SPIFFE, urn:ietf:params:oauth:client-assertion-type:jwt-spiffe.',
  content_encoding_unsupported: 'The body is compressed. Have the caller send it without a Content-Encoding.',
  content_type_unsupported:
    'The body is not declared as a form, often because it is JSON. Have the caller send application/x-www-form-urlencoded.',
  content_too_large: 'The body is larger than 16 KiB. Look for a wrong file or a very long scope at the caller.',
  form_encoding_malformed:
    'The body is not well-formed percent-encoded UTF-8. Look for a percent sign or an ampersand in the secret that the caller does not encode.',
  parameters_too_many: 'The request has more than 50 parameters. Correct it at the caller.',
  parameter_repeated: 'A parameter appears in the body more than once. Correct it at the caller.',
  grant_type_missing: 'The parameter grant_type is missing. Have the caller send grant_type=client_credentials.',
  grant_type_unsupported:
    'The caller asks for another grant than client_credentials, the only one here. Change the flow in its configuration.',
  client_id_malformed:
    'The client_id has more than 255 characters or a control character. Look for a line break or a wrong value at the caller.',
  client_id_contradictory:
    'The client_id in the body is not the one in the Authorization header. Have the caller send one of them only.',
  credentials_missing:
    'The request has no client_id or no secret. Look for an unset variable in the configuration of the caller.',
  response_type_unsupported:
    'A client started a login of users, which this service does not have. Set the client to client_credentials.',
  operator_token_wrong:
    'The management port got a token that is not MANAGEMENT_TOKEN. Have the operator enter the current one, or find out who tries.',
  operator_checks_exhausted:
    'The management port got more wrong tokens than it checks. Find out who tries from this address, and keep the port from them.',
  route_unknown: 'The token is valid, but the path does not exist. Compare the path with the documentation.',
  resource_unknown: 'The token is valid, and the path is right, but nothing has this name. Correct the name.',
  unforeseen:
    'The service failed in a way that it should not. Find the request id in the log, which has the stack, and report it.',
  overloaded:
    'More requests were in progress than one process accepts. Add cores or replicas if this lasts, or limit the flood in front of the service.',
  dependency_unavailable:
    'The database did not answer in time, or too many secrets waited for verification. Look at the checks and at the verification queue on the status page; no client has to change anything.',
};
