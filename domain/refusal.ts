import { type Failure, failure } from './result.ts';

/** What is fixed about a reason: the only place that has it. */
export interface ReasonRow<Code extends string = string> {
  /** For the caller. */
  readonly code: Code;
  /**
   * `error_description` (RFC 6749 section 5.2): what the developer of a client has to fix. `…` is the value in the
   * settings that was expected, the fault, or the scope or resource that was asked for: nothing else of the request is
   * reflected. Credentials that were checked get none, since any detail would help an attacker.
   */
  readonly description?: string;
}

/**
 * Why a request is refused. Each reason is one case that an operator may want to distinguish. The caller gets its code,
 * and for some reasons a description; the log has the reason. What adapters/http refuses before a use case, such as
 * `invalid_request`, is in its http-reasons.ts.
 *
 * Codes: RFC 6749 section 5.2, RFC 8628 section 3.5 and RFC 8707 section 2 (token endpoint), RFC 6750 section 3.1
 * (bearer tokens).
 */
export const REASONS = {
  client_unknown: { code: 'invalid_client' },
  registration_broken: { code: 'invalid_client' },
  stored_secret_unusable: { code: 'invalid_client' },
  presented_secret_unusable: { code: 'invalid_client' },
  secret_wrong: { code: 'invalid_client' },
  client_disabled: { code: 'invalid_client' },
  client_ambiguous: { code: 'invalid_client' },
  assertion_malformed: { code: 'invalid_client', description: 'the assertion is malformed: …' },
  assertion_type_refused: {
    code: 'invalid_client',
    description: 'typ in the header of the assertion has to be JWT, or absent',
  },
  assertion_algorithm_refused: {
    code: 'invalid_client',
    description: 'alg in the header of the assertion has to be one of …',
  },
  assertion_issuer_untrusted: { code: 'invalid_client', description: 'iss of the assertion has to be …' },
  assertion_client_contradictory: {
    code: 'invalid_client',
    description: 'client_id has to be sub of the assertion, or absent',
  },
  assertion_subject_unknown: { code: 'invalid_client' },
  assertion_claims_unmatched: { code: 'invalid_client' },
  federated_rule_refused: { code: 'invalid_client' },
  assertion_key_unknown: { code: 'invalid_client' },
  assertion_signature_wrong: { code: 'invalid_client' },
  assertion_audience_wrong: {
    code: 'invalid_client',
    description: 'aud of the assertion has to be … and nothing else',
  },
  assertion_expired: {
    code: 'invalid_client',
    description:
      'exp of the assertion is over: sign one right before each request, by a clock that agrees with the header Date of this response',
  },
  assertion_not_yet_valid: {
    code: 'invalid_client',
    description: 'nbf or iat of the assertion is in the future: correct the clock by the header Date of this response',
  },
  assertion_lifetime_too_long: {
    code: 'invalid_client',
    description: 'exp of the assertion has to be no more than … seconds ahead',
  },
  assertion_too_old: {
    code: 'invalid_client',
    description: 'iat of the assertion has to be no more than … seconds ago: get a new one from its issuer',
  },
  assertion_replayed: { code: 'invalid_client' },
  grant_not_registered: {
    code: 'unauthorized_client',
    description: 'the client is not registered for this grant_type',
  },
  grant_refused: { code: 'invalid_grant' },
  attempts_exhausted: {
    code: 'slow_down',
    description: 'too many failed attempts for this client_id from this address: try again later',
  },
  introspections_exhausted: {
    code: 'slow_down',
    description: 'this client asks about, or revokes, more tokens in a second than it may: try again later',
  },
  scope_malformed: {
    code: 'invalid_scope',
    description: "scope must be scope tokens with single spaces between: '…' is none",
  },
  scope_not_registered: {
    code: 'invalid_scope',
    description: "the client is not registered for the scope '…'; scopes are separated by single spaces",
  },
  scope_not_of_resource: {
    code: 'invalid_scope',
    description: "the client is not registered for the scope '…' at the resource of this request",
  },
  scope_too_long: {
    code: 'invalid_scope',
    description: 'a token with these scopes is longer than 7 KiB: ask for fewer of them with the parameter scope',
  },
  resource_malformed: {
    code: 'invalid_target',
    description: "resource must be an absolute URI without a fragment: '…' is none",
  },
  resource_not_registered: { code: 'invalid_target', description: "the client is not registered for the resource '…'" },
  resources_differ: {
    code: 'invalid_target',
    description: 'the resources of this request have different scopes: request a token for each of them',
  },
  resources_too_long: {
    code: 'invalid_target',
    description: 'a token with these scopes and resources is longer than 7 KiB: ask for fewer of them',
  },
  token_malformed: { code: 'invalid_token' },
  token_algorithm_refused: { code: 'invalid_token' },
  token_key_unknown: { code: 'invalid_token' },
  token_signature_wrong: { code: 'invalid_token' },
  token_claims_malformed: { code: 'invalid_token' },
  token_issuer_foreign: { code: 'invalid_token' },
  token_audience_foreign: { code: 'invalid_token' },
  token_expired: { code: 'invalid_token' },
  token_not_yet_valid: { code: 'invalid_token' },
  token_revoked: { code: 'invalid_token' },
  token_client_inactive: { code: 'invalid_token' },
  scope_insufficient: { code: 'insufficient_scope' },
} as const satisfies Record<string, ReasonRow>;

export type RefusalReason = keyof typeof REASONS;
export type RefusalCode = (typeof REASONS)[RefusalReason]['code'];

export interface Refusal {
  /** For the caller. */
  readonly code: RefusalCode;
  /** For the log. */
  readonly reason: RefusalReason;
  /** The refused client, for the log, if it is registered: an unknown id may be a secret in the wrong field. */
  readonly clientId?: string;
  /** What the description shows for `…`, never of a registration. It may be as long as a request. */
  readonly shown?: string;
  /** What an operator compares, for the log: a registration, and what a trusted issuer has signed. Never a secret. */
  readonly detail?: string;
}

export function refused(reason: RefusalReason, clientId?: string, shown?: string): Failure<Refusal> {
  const { code } = REASONS[reason];
  return failure({ code, reason, ...(clientId !== undefined && { clientId }), ...(shown !== undefined && { shown }) });
}

/**
 * The same where the assertion is the grant (RFC 7523 section 3.1): what would be `invalid_client` is `invalid_grant`.
 * All that depends on what is registered looks alike.
 */
export function refusedGrant({ problem }: Failure<Refusal>): Failure<Refusal> {
  return problem.code === 'invalid_client' ? failure({ ...problem, code: 'invalid_grant' }) : failure(problem);
}

/** What was expected, for each reason whose description shows it. */
export type Expectations = Readonly<Partial<Record<RefusalReason, string>>>;

/** A refusal for what the request itself shows: it depends on no registration, and its description names the fix. */
export function refusedOpenly(reason: RefusalReason, { [reason]: shown }: Expectations = {}): Failure<Refusal> {
  return refused(reason, undefined, shown);
}
