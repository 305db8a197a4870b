import { unmetConditions } from '../../domain/claim-path.ts';
import type { ClientRegistration } from '../../domain/client-registration.ts';
import type { TrustedIssuers } from '../../domain/federated-jwt/trusted-issuers.ts';
import { type Refusal, refused } from '../../domain/refusal.ts';
import { type Result, success } from '../../domain/result.ts';
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
 * The registration of the only client whose rule the claims match, or why there is none. A rule that is too weak for its
 * issuer counts for nothing, however it came into the table.
 */
export function selectCandidate(
  issuers: TrustedIssuers,
  { identity, payload, candidates }: FoundCandidates,
): Result<ClientRegistration, Refusal> {
  if (candidates.length === 0) return refused('assertion_subject_unknown');
  // A refusal names the client in the log if there is no doubt which one is meant.
  const only = candidates.length === 1 ? candidates[0]?.clientId : undefined;
  const usable = candidates.filter((candidate) => weaknessOfRule(issuers, identity, candidate) === undefined);
  if (usable.length === 0) return refused('federated_rule_refused', only);
  const [match, another] = usable.filter(({ claims = {} }) => unmetConditions(claims, payload).length === 0);
  if (match === undefined) return refused('assertion_claims_unmatched', only);
  // At the limit there may be further candidates that were not found.
  if (another !== undefined || candidates.length >= FEDERATED_CANDIDATES_MAX) return refused('client_ambiguous');
  if (match.lookup.kind === 'broken') return refused('registration_broken', match.clientId);
  const { registration } = match.lookup;
  return registration.isDisabled ? refused('client_disabled', match.clientId) : success(registration);
}

/** Why the rule of a candidate counts for nothing; undefined if it counts. */
export function weaknessOfRule(
  issuers: TrustedIssuers,
  { issuer, subject }: FederatedIdentity,
  { claims }: FederatedCandidate,
): string | undefined {
  return claims === undefined ? 'claims cannot be read' : issuers.problemOf({ issuer, subject, claims });
}
