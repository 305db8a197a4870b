import { claimAt, unmetConditions } from '../../domain/claim-path.ts';
import type { ClientRegistration } from '../../domain/client-registration.ts';
import type { TrustedIssuers } from '../../domain/federated-jwt/trusted-issuers.ts';
import { type Refusal, type RefusalReason, refused } from '../../domain/refusal.ts';
import { failure, type Result, success } from '../../domain/result.ts';
import {
  FEDERATED_CANDIDATES_MAX,
  type FederatedCandidate,
  type FederatedIdentity,
} from '../ports/client-repository.ts';

/** A verified assertion, and the clients that were found for it. */
interface FoundCandidates {
  readonly identity: FederatedIdentity;
  /** All claims of the assertion. */
  readonly payload: Readonly<Record<string, unknown>>;
  readonly candidates: readonly FederatedCandidate[];
}

/**
 * The registration of the only client whose rule the claims match, or why there is none. A rule that is too weak for
 * its issuer counts for nothing, however it came into the table.
 */
export function selectCandidate(
  issuers: TrustedIssuers,
  { identity, payload, candidates }: FoundCandidates,
): Result<ClientRegistration, Refusal> {
  if (candidates.length === 0) return refusedFor('assertion_subject_unknown', `sub is ${shown(identity.subject)}`);
  // A refusal names the client in the log if there is no doubt which one is meant.
  const only = candidates.length === 1 ? candidates[0]?.clientId : undefined;
  const weak = candidates.map((candidate) => weaknessOfRule(issuers, identity, candidate));
  const usable = candidates.filter((_candidate, index) => weak[index] === undefined);
  if (usable.length === 0) return refusedFor('federated_rule_refused', weak[0], only);
  const differences = usable.map(({ claims = {} }) => differencesFrom(claims, payload));
  const [match, another] = usable.filter((_candidate, index) => differences[index] === '');
  if (match === undefined) return refusedFor('assertion_claims_unmatched', differences[0], only);
  // At the limit there may be further candidates that were not found.
  if (another !== undefined || candidates.length >= FEDERATED_CANDIDATES_MAX) return refused('client_ambiguous');
  if (match.lookup.kind === 'broken') return refused('registration_broken', match.clientId);
  const { registration } = match.lookup;
  return registration.isDisabled ? refused('client_disabled', match.clientId) : success(registration);
}

function refusedFor(reason: RefusalReason, detail = '', clientId?: string): Result<never, Refusal> {
  return failure({ ...refused(reason, clientId).problem, detail });
}

/** The conditions that the claims do not meet; empty if they meet all. */
function differencesFrom(conditions: Readonly<Record<string, string>>, payload: unknown): string {
  const unmet = unmetConditions(conditions, payload);
  return unmet
    .map((path) => `${path} is ${shown(claimAt(payload, path))} and must be ${shown(conditions[path])}`)
    .join('; ');
}

/** The most of a claim that a detail shows, in characters. */
const SHOWN_MAX = 200;

/** As JSON, which distinguishes a text from a number. */
function shown(value: unknown): string {
  if (value === undefined) return 'missing';
  const text = JSON.stringify(value);
  return text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text;
}

/** Why the rule of a candidate counts for nothing; undefined if it counts. */
function weaknessOfRule(
  issuers: TrustedIssuers,
  { issuer, subject }: FederatedIdentity,
  { claims }: FederatedCandidate,
): string | undefined {
  return claims === undefined ? 'claims cannot be read' : issuers.problemOf({ issuer, subject, claims });
}
