import { type Failure, failure } from './result.ts';

/** What is fixed about a reason: the only place that has it. */
export interface ReasonRow<Code extends string = string> {
  /** For the caller. */
  readonly code: Code;
  /**
   * `error_description` (RFC 6749 section 5.2): what the developer of a client has to fix. `…` is the value in the settings that was
   * expected, the fault, or the scope or resource that was asked for: nothing else of the request is reflected. Credentials that were
   * checked get none, since any detail would help an attacker.
   */
  readonly description?: string;
  /** For operators: what it means, and what to do. The status page, `clients explain` and docs/reasons.md show it. Code is in backticks. */
  readonly meaning: string;
  /** Its command changes a registration: where these are in a file, the file is to be changed instead. */
  readonly changes?: 'registration';
}

/**
 * Why a request is refused. Each reason is one case that an operator may want to distinguish. The caller gets its code, and
 * for some reasons a description; the log has the reason. What adapters/http refuses before a use case, such as
 * `invalid_request`, is in its http-reasons.ts.
 *
 * Codes: RFC 6749 section 5.2, RFC 8628 section 3.5 and RFC 8707 section 2 (token endpoint), RFC 6750 section 3.1 (bearer tokens).
 */
export const REASONS = {
  client_unknown: {
    code: 'invalid_client',
    meaning:
      'No client is registered under the id that was sent. Compare the id in the configuration of the caller with `npm run clients -- list`.',
    changes: 'registration',
  },
  registration_broken: {
    code: 'invalid_client',
    meaning:
      'The credentials are right, but the row of the client breaks a rule, such as an empty name or a malformed scope. Find `registration_broken` in the log, which names the field, and correct the row.',
  },
  stored_secret_unusable: {
    code: 'invalid_client',
    meaning:
      'The client is disabled, or its stored secret cannot be compared: not BCrypt, a cost outside the limits, or {noop} in the table. Enable it, or give it a new secret with `npm run clients -- rotate`.',
    changes: 'registration',
  },
  presented_secret_unusable: {
    code: 'invalid_client',
    meaning:
      'The secret that was sent is longer than 72 bytes or contains a NUL, so it cannot be right. Look for a wrong value or a whole file in the configuration of the caller.',
  },
  secret_wrong: {
    code: 'invalid_client',
    meaning:
      'The client is registered, but the secret is not its own. Correct the secret at the caller, or give the client a new one with `npm run clients -- rotate`.',
    changes: 'registration',
  },
  client_disabled: {
    code: 'invalid_client',
    meaning:
      'The client is registered and disabled. Enable it with `npm run clients -- enable` if it should get tokens.',
    changes: 'registration',
  },
  client_ambiguous: {
    code: 'invalid_client',
    meaning:
      'Several clients have a rule that matches this assertion. Have the caller send client_id, or make the rules narrower.',
  },
  assertion_malformed: {
    code: 'invalid_client',
    description: 'client_assertion is malformed: …',
    meaning:
      'The assertion is not a JWT in its compact form with all required claims, each once; the response names the fault. Have the caller sign it with a maintained library.',
  },
  assertion_type_refused: {
    code: 'invalid_client',
    description: 'typ in the header of the assertion has to be JWT, or absent',
    meaning: 'The header of the assertion has a typ that is not accepted. Have the caller send typ JWT, or none.',
  },
  assertion_algorithm_refused: {
    code: 'invalid_client',
    description: 'alg in the header of the assertion has to be one of …',
    meaning:
      'The assertion is signed with an algorithm that is not accepted here or not listed for its issuer. Use one that the metadata or the file of issuers lists.',
  },
  assertion_issuer_untrusted: {
    code: 'invalid_client',
    description: 'iss of the assertion has to be …',
    meaning:
      'The issuer of the assertion is neither the client itself nor a trusted issuer. Compare iss with the client id and with CLIENT_ASSERTION_ISSUERS_FILE, character by character.',
  },
  assertion_client_contradictory: {
    code: 'invalid_client',
    description: 'client_id has to be sub of the assertion, or absent',
    meaning:
      'The client_id of the request is not the client that the assertion authenticates. Correct client_id, or leave it out.',
  },
  assertion_subject_unknown: {
    code: 'invalid_client',
    meaning:
      'The issuer is trusted, but no client has a rule for this subject. Add one with `npm run clients -- update <client-id> --add-subject`, after `npm run clients -- explain` has shown the subject.',
    changes: 'registration',
  },
  assertion_claims_unmatched: {
    code: 'invalid_client',
    meaning:
      'A client has a rule for this subject, but the assertion does not meet its conditions. `npm run clients -- explain` names the claim that differs.',
  },
  federated_rule_refused: {
    code: 'invalid_client',
    meaning:
      'The rule of this client does not demand enough to be safe, so it does not count. Replace it with one that `npm run clients` accepts.',
    changes: 'registration',
  },
  assertion_key_unknown: {
    code: 'invalid_client',
    meaning:
      'The assertion names a key that is not registered for this client, or not in the key set of its issuer. Register the new public key, or correct kid.',
  },
  assertion_signature_wrong: {
    code: 'invalid_client',
    meaning:
      'The signature does not match the registered public key. Register the public key that belongs to the private key which the caller signs with.',
  },
  assertion_audience_wrong: {
    code: 'invalid_client',
    description: 'aud of the assertion has to be … and nothing else',
    meaning:
      'The assertion was made for another audience. Have the caller set aud to the issuer of this service, or for an identity of a platform to the audience in CLIENT_ASSERTION_ISSUERS_FILE, and to nothing else.',
  },
  assertion_expired: {
    code: 'invalid_client',
    description:
      'exp of the assertion is over: sign one right before each request, by a clock that agrees with the header Date of this response',
    meaning:
      'The assertion expired before it arrived. Have the caller sign one right before each request, and compare its clock with the time here.',
  },
  assertion_not_yet_valid: {
    code: 'invalid_client',
    description: 'nbf or iat of the assertion is in the future: correct the clock by the header Date of this response',
    meaning:
      'The assertion is from the future: nbf or iat is more than 30 s ahead. Correct the clock of the caller, or of this machine.',
  },
  assertion_lifetime_too_long: {
    code: 'invalid_client',
    description: 'exp of the assertion has to be no more than … seconds ahead',
    meaning:
      'The assertion is valid for longer than is accepted. Have the caller set exp earlier, or raise CLIENT_ASSERTION_MAX_LIFETIME_SECONDS; for a federated one without iat, CLIENT_ASSERTION_MAX_AGE_SECONDS.',
  },
  assertion_too_old: {
    code: 'invalid_client',
    description: 'iat of the assertion has to be no more than … seconds ago: get a new one from its issuer',
    meaning:
      'The assertion was issued too long ago. Have the caller fetch a new one, or raise CLIENT_ASSERTION_MAX_AGE_SECONDS.',
  },
  assertion_replayed: {
    code: 'invalid_client',
    meaning:
      'This assertion was used before. Have the caller sign a new one, with a new jti, for each request and each retry; if it already does, somebody else has a copy.',
  },
  attempts_exhausted: {
    code: 'slow_down',
    description: 'too many failed attempts for this client_id from this address: try again later',
    meaning:
      'Too many attempts with a wrong secret for this client id from this address in the last minute. Find the caller that has a wrong secret at this address; right secrets work again within 5 s after it stops.',
  },
  scope_malformed: {
    code: 'invalid_scope',
    description: "scope must be scope tokens with single spaces between: '…' is none",
    meaning: 'The parameter scope is not a list of scope tokens with single spaces between. Correct it at the caller.',
  },
  scope_not_registered: {
    code: 'invalid_scope',
    description: "the client is not registered for the scope '…'; scopes are separated by single spaces",
    meaning:
      'The client asks for a scope that it is not registered for. Correct the request, or add the scope to its registration.',
  },
  scope_too_long: {
    code: 'invalid_scope',
    description: 'a token with these scopes is longer than 7 KiB: ask for fewer of them with the parameter scope',
    meaning: 'A token with all of these scopes would be longer than 7 KiB. Have the caller ask for fewer of them.',
  },
  resource_malformed: {
    code: 'invalid_target',
    description: "resource must be an absolute URI without a fragment: '…' is none",
    meaning: 'The parameter resource is not an absolute URI without a fragment. Correct it at the caller.',
  },
  resource_not_registered: {
    code: 'invalid_target',
    description: "the client is not registered for the resource '…'",
    meaning:
      'The client asks for a resource that it is not registered for. Correct the request, or add it with `npm run clients -- update <client-id> --add-resource`.',
    changes: 'registration',
  },
  resources_differ: {
    code: 'invalid_target',
    description: 'the resources of this request have different scopes: request a token for each of them',
    meaning:
      'The client asks for one token for resources that have different lists of scopes. Have it ask for one token for each.',
  },
  resources_too_long: {
    code: 'invalid_target',
    description: 'a token with these scopes and resources is longer than 7 KiB: ask for fewer of them',
    meaning:
      'A token with these scopes and resources would be longer than 7 KiB. Have the caller ask for fewer of them.',
  },
  token_malformed: {
    code: 'invalid_token',
    meaning:
      'What was sent as a token is not a JWT of this service. Look for a truncated token, quotes, or a token of another kind.',
  },
  token_algorithm_refused: {
    code: 'invalid_token',
    meaning:
      'The token does not name the algorithm of its key, so this service did not issue it. Find out where the caller gets it.',
  },
  token_key_unknown: {
    code: 'invalid_token',
    meaning:
      'The token names a key that this replica does not trust: revoked, long retired, of another issuer, or of a replica that does not share its keys. Get a new token, and compare its kid with the keys on the status page.',
  },
  token_signature_wrong: {
    code: 'invalid_token',
    meaning: 'The signature of the token is wrong: it was changed or forged. Find out who sends it from this address.',
  },
  token_claims_malformed: {
    code: 'invalid_token',
    meaning:
      'A claim of the token is missing or has the wrong type, so this version of the service did not issue it. Get a new token.',
  },
  token_issuer_foreign: {
    code: 'invalid_token',
    meaning:
      'The token is of another issuer. Compare its iss with TOKEN_ISSUER: a renamed service refuses its older tokens.',
  },
  token_audience_foreign: {
    code: 'invalid_token',
    meaning:
      'The token is meant for another audience than this service. Have the caller ask for a token for this service, and compare aud with TOKEN_AUDIENCE.',
  },
  token_expired: {
    code: 'invalid_token',
    meaning: 'The token has expired. Have the caller get a new one when expires_in is over.',
  },
  token_not_yet_valid: {
    code: 'invalid_token',
    meaning:
      'The token is from the future. Compare the clocks of the replicas: each has its offset in `auth_clock_offset_seconds`.',
  },
  scope_insufficient: {
    code: 'insufficient_scope',
    meaning: 'The token lacks the scope that this path needs. Have the client ask for it, and register it.',
  },
} as const satisfies Record<string, ReasonRow>;

export type RefusalReason = keyof typeof REASONS;
export type RefusalCode = (typeof REASONS)[RefusalReason]['code'];

export interface Refusal {
  /** For the caller. */
  readonly code: RefusalCode;
  /** For the log. */
  readonly reason: RefusalReason;
  /** The refused client, for the log. Only the id of a registered client, because an unknown id may be a secret in the wrong field. */
  readonly clientId?: string;
  /** What the description shows for `…`, never of a registration. It may be as long as a request. */
  readonly shown?: string;
}

export function refused(reason: RefusalReason, clientId?: string, shown?: string): Failure<Refusal> {
  const { code } = REASONS[reason];
  return failure({ code, reason, ...(clientId !== undefined && { clientId }), ...(shown !== undefined && { shown }) });
}

/** What was expected, for each reason whose description shows it. */
export type Expectations = Readonly<Partial<Record<RefusalReason, string>>>;

/** A refusal for what the request itself shows: it depends on no registration, and its description names the fix. */
export function refusedOpenly(reason: RefusalReason, { [reason]: shown }: Expectations = {}): Failure<Refusal> {
  return refused(reason, undefined, shown);
}
