/**
 * Why a request is refused, as a value. Each reason is one case that an operator may want to distinguish. The caller gets
 * the code of the reason, and for some reasons a fixed description; the log has the reason.
 *
 * Codes: RFC 6749 section 5.2, RFC 8628 section 3.5 and RFC 8707 section 2 (token endpoint), RFC 6750 section 3.1 (bearer tokens).
 */
export const CODE_OF_REASON = {
  client_unknown: 'invalid_client',
  registration_broken: 'invalid_client',
  stored_secret_unusable: 'invalid_client',
  presented_secret_unusable: 'invalid_client',
  secret_wrong: 'invalid_client',

  client_disabled: 'invalid_client',
  client_ambiguous: 'invalid_client',
  assertion_malformed: 'invalid_client',
  assertion_type_refused: 'invalid_client',
  assertion_algorithm_refused: 'invalid_client',
  assertion_issuer_untrusted: 'invalid_client',
  assertion_client_contradictory: 'invalid_client',
  assertion_subject_unknown: 'invalid_client',
  assertion_claims_unmatched: 'invalid_client',
  federated_rule_refused: 'invalid_client',
  assertion_key_unknown: 'invalid_client',
  assertion_signature_wrong: 'invalid_client',
  assertion_audience_wrong: 'invalid_client',
  assertion_expired: 'invalid_client',
  assertion_not_yet_valid: 'invalid_client',
  assertion_lifetime_too_long: 'invalid_client',
  assertion_too_old: 'invalid_client',
  assertion_replayed: 'invalid_client',

  attempts_exhausted: 'slow_down',

  scope_malformed: 'invalid_scope',
  scope_not_registered: 'invalid_scope',
  scope_too_long: 'invalid_scope',

  resource_malformed: 'invalid_target',
  resource_not_registered: 'invalid_target',
  resources_too_long: 'invalid_target',

  token_malformed: 'invalid_token',
  token_algorithm_refused: 'invalid_token',
  token_key_unknown: 'invalid_token',
  token_signature_wrong: 'invalid_token',
  token_claims_malformed: 'invalid_token',
  token_issuer_foreign: 'invalid_token',
  token_audience_foreign: 'invalid_token',
  token_expired: 'invalid_token',
  token_not_yet_valid: 'invalid_token',

  scope_insufficient: 'insufficient_scope',
} as const;

export type RefusalReason = keyof typeof CODE_OF_REASON;
export type RefusalCode = (typeof CODE_OF_REASON)[RefusalReason];

export interface Refusal {
  /** For the caller. */
  readonly code: RefusalCode;
  /** For the log. */
  readonly reason: RefusalReason;
  /** The refused client, for the log. Only the id of a registered client, because an unknown id may be a secret in the wrong field. */
  readonly clientId?: string;
}

export function refusal(reason: RefusalReason, clientId?: string): Refusal {
  const code = CODE_OF_REASON[reason];
  return clientId === undefined ? { code, reason } : { code, reason, clientId };
}
