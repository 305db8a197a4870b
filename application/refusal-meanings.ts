import type { RefusalReason } from '../domain/refusal.ts';

/**
 * What each reason means for operators, and what to do. The status page, `clients explain` and docs/reasons.md show it.
 * Code is in backticks.
 */
export const MEANINGS: Readonly<Record<RefusalReason, string>> = {
  client_unknown:
    'No client is registered under the id that was sent. Compare the id at the caller with `npm run clients -- list`.',
  registration_broken:
    'The credentials are right, but the row of the client breaks a rule. Find `registration_broken` in the log, which names the field, and correct the row.',
  stored_secret_unusable:
    'The client is disabled, has no secret, or none with the id that was sent, or its secret has expired; or what is stored cannot be compared: not BCrypt, a cost outside the limits, or {noop} in the table. `npm run clients -- show` says which. Enable it, or give it a new secret with `npm run clients -- rotate`.',
  presented_secret_unusable:
    'The secret that was sent is longer than 72 bytes or contains a NUL, so it cannot be right. Look for a wrong value at the caller, such as a whole file.',
  secret_wrong:
    'The client is registered, but the secret is wrong or has expired, perhaps one from before a rotation. Correct the secret at the caller, or give the client a new one with `npm run clients -- rotate`.',
  client_disabled: 'The client is disabled. Enable it with `npm run clients -- enable` if it should get tokens.',
  client_ambiguous:
    'Several clients have a rule that matches this assertion. Have the caller send client_id, or make the rules narrower.',
  assertion_malformed:
    'The assertion is not a JWT in its compact form with all required claims, each once; the response names the fault. Have the caller sign it with a maintained library.',
  assertion_type_refused:
    'The header of the assertion has a typ that is not accepted. Have the caller send typ JWT, or none.',
  assertion_algorithm_refused:
    'The assertion is signed with an algorithm that is not accepted here or not listed for its issuer. Use one that the metadata or the file of issuers lists.',
  assertion_issuer_untrusted:
    'The issuer of the assertion is neither the client itself nor a trusted issuer. Compare iss with the client id and with CLIENT_ASSERTION_ISSUERS_FILE, character by character.',
  assertion_client_contradictory:
    'The client_id of the request is not the client that the assertion authenticates. Correct client_id, or leave it out.',
  assertion_subject_unknown:
    'The issuer is trusted, but no client has a rule for this subject. The detail has the subject; `npm run clients -- update <client-id> --add-subject` adds a rule. That of a repository at GitHub has two spellings, with and without ids.',
  assertion_claims_unmatched:
    'A client has a rule for this subject, but the assertion does not meet its conditions. The detail names the claims that differ; a condition is met by a text only, not by a number or a boolean.',
  federated_rule_refused:
    'The rule of this client is not strict enough to be safe. Replace it with one that `npm run clients` accepts.',
  assertion_key_unknown:
    'The assertion names a key that is not registered for this client, or not in the key set of its issuer. Register the new public key, or correct kid.',
  assertion_signature_wrong:
    'The signature does not match the registered public key. Register the public key of the private key that the caller signs with.',
  assertion_audience_wrong:
    'The assertion was made for another audience. Have the caller set aud to the issuer of this service, or for an identity of a platform to the audience in CLIENT_ASSERTION_ISSUERS_FILE, and to nothing else.',
  assertion_expired:
    'The assertion expired before it arrived. Have the caller sign one right before each request, and compare its clock with the time here.',
  assertion_not_yet_valid:
    'The assertion is from the future: nbf or iat is more than 30 s ahead. Correct the clock of the caller, or of this machine.',
  assertion_lifetime_too_long:
    'The assertion is valid for longer than is accepted. Have the caller set exp earlier, or raise CLIENT_ASSERTION_MAX_LIFETIME_SECONDS; for a federated one without iat, CLIENT_ASSERTION_MAX_AGE_SECONDS.',
  assertion_too_old:
    'The assertion was issued too long ago. Have the caller fetch a new one, or raise CLIENT_ASSERTION_MAX_AGE_SECONDS.',
  assertion_replayed:
    'This assertion was used before. Have the caller sign a new one, with a new jti, for each request and each retry; if it already does, somebody else has a copy.',
  grant_not_registered:
    'The client may get tokens by another grant only: its field grant_types. Change the flow at the caller, or the registration with `npm run clients -- update <client-id> --grant-types`.',
  grant_refused:
    'The assertion is right, but its client may not use this grant (its field grant_types), or the request authenticates as another client beside it. Change the registration, or have the caller leave its client authentication out.',
  introspections_exhausted:
    'This client asked about, or revoked, more tokens in a second than INTROSPECTIONS_PER_SECOND allows. Have it keep answers for a few seconds, or raise the setting.',
  attempts_exhausted:
    'Too many attempts with a wrong secret for this client id came from this address in the last minute. Find the caller with the wrong secret; right secrets work again within 5 s after it stops.',
  scope_malformed:
    'The parameter scope is not a list of scope tokens with single spaces between. Correct it at the caller.',
  scope_not_registered:
    'The client asks for a scope that it is not registered for. Correct the request, or add the scope to its registration.',
  scope_not_of_resource:
    'The client asks for a scope that its registration does not give it at this resource. Correct the request, or change the scopes of the resource in the registration.',
  scope_too_long: 'A token with all of these scopes would be longer than 7 KiB. Have the caller ask for fewer of them.',
  resource_malformed: 'The parameter resource is not an absolute URI without a fragment. Correct it at the caller.',
  resource_not_registered:
    'The client asks for a resource that it is not registered for. Correct the request, or add it with `npm run clients -- update <client-id> --add-resource`.',
  resources_differ:
    'The client asks for one token for resources that have different lists of scopes. Have the client ask for one token for each.',
  resources_too_long:
    'A token with these scopes and resources would be longer than 7 KiB. Have the caller ask for fewer of them.',
  token_malformed:
    'The token is not a JWT of this service. Look for a truncated token, quotes, or a token of another kind.',
  token_algorithm_refused:
    'The token does not name the algorithm of its key, so this service did not issue it. Find out where the caller gets it.',
  token_key_unknown:
    'The token names a key that this replica does not trust: revoked, long retired, of another issuer, or of a replica that does not share its keys. Get a new token, and compare its kid with the keys on the status page.',
  token_signature_wrong:
    'The signature of the token is wrong: it was changed or forged. Find out who sends it from this address.',
  token_claims_malformed:
    'A claim of the token is missing or has the wrong type, so this version of the service did not issue it. Get a new token.',
  token_issuer_foreign:
    'The token is of another issuer. Compare its iss with TOKEN_ISSUER: a renamed service refuses its older tokens.',
  token_audience_foreign:
    'The token is meant for another audience than this service. Have the caller ask for a token for this service, and compare aud with TOKEN_AUDIENCE.',
  token_expired: 'The token has expired. Have the caller get a new one when expires_in is over.',
  token_revoked: 'The token was revoked before its end. Its client gets another one, unless it was disabled.',
  token_client_inactive:
    'A caller of introspection, or of the API for managing clients, sent a token of a client that was disabled or removed. Give the caller another client.',
  token_not_yet_valid:
    'The token is from the future. Compare the clocks of the replicas: each has its offset in `auth_clock_offset_seconds`.',
  scope_insufficient: 'The token lacks the scope that this path needs. Have the client ask for it, and register it.',
};

/** Where the advice changes a registration: if these are in a file, the file is to be changed instead. */
export const CHANGING_REGISTRATIONS: ReadonlySet<string> = new Set<RefusalReason>([
  'client_unknown',
  'registration_broken',
  'stored_secret_unusable',
  'secret_wrong',
  'client_disabled',
  'client_ambiguous',
  'assertion_key_unknown',
  'assertion_signature_wrong',
  'assertion_subject_unknown',
  'federated_rule_refused',
  'grant_not_registered',
  'grant_refused',
  'scope_not_registered',
  'scope_not_of_resource',
  'resource_not_registered',
  'scope_insufficient',
]);
