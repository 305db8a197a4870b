import { claimAt, unmetConditions } from '../../domain/claim-path.ts';
import { ClientAssertion } from '../../domain/client-assertion.ts';
import { refusalOfIdentity } from '../../domain/federated-jwt/identity-assertion-rules.ts';
import type { TrustedIssuer, TrustedIssuers } from '../../domain/federated-jwt/trusted-issuers.ts';
import type { PublicJwk } from '../../domain/public-jwk.ts';
import type { RefusalReason } from '../../domain/refusal.ts';
import type { AssertionVerdict, AssertionVerifier } from '../ports/assertion-verifier.ts';
import type { AssertionCredentials } from '../ports/client-credentials.ts';
import type { ClientRepository, FederatedCandidate, FederatedIdentity } from '../ports/client-repository.ts';
import type { Clock } from '../ports/clock.ts';
import { REASON_OF_VERDICT } from '../verify-assertion.ts';
import { selectCandidate, weaknessOfRule } from './select-candidate.ts';

/** A condition that the assertion does not meet. */
interface UnmetCondition {
  readonly path: string;
  readonly expected: string;
  /** Undefined if there is no such claim. */
  readonly found: unknown;
}

/** A rule for the subject of the assertion. */
export interface ExplainedRule {
  readonly clientId: string;
  /** Why the rule or its client counts for nothing. */
  readonly problem?: string;
  readonly unmet: readonly UnmetCondition[];
}

type ExplainedSignature = AssertionVerdict | { readonly unavailable: string };

/** What the service would say to an assertion now, and why. */
export interface AssertionExplanation {
  /** The reason of the refusal; undefined if the assertion is accepted. The signature counts only if it could be verified. */
  readonly reason?: RefusalReason;
  /** What is wrong with a malformed assertion. */
  readonly fault?: string;
  /** The client that gets the token. */
  readonly clientId?: string;
  /** Absent for a malformed assertion. */
  readonly assertion?: ClientAssertion;
  /** Absent if it is not trusted, and so is what follows. */
  readonly issuer?: TrustedIssuer;
  readonly signature?: ExplainedSignature;
  readonly rules: readonly ExplainedRule[];
  /** In seconds since the epoch. */
  readonly at: number;
}

interface ExplainAssertionParts {
  readonly issuers: TrustedIssuers;
  /** Fetches the keys of an issuer now. Throws with the reason why it cannot. */
  readonly fetchKeys: (issuer: string) => Promise<readonly PublicJwk[]>;
  readonly verifier: AssertionVerifier;
  readonly clients: Pick<ClientRepository, 'findBySubject'>;
  readonly clock: Clock;
  readonly maxAgeSeconds: number;
}

/** Explains to an operator why an assertion does or does not authenticate a client. Everything is checked, also after a refusal. */
export class ExplainAssertion {
  readonly #parts: ExplainAssertionParts;

  constructor(parts: ExplainAssertionParts) {
    this.#parts = parts;
  }

  /** The checks of AuthenticateByIdentity, in its order. Throws DependencyUnavailable without the rules. */
  async execute({ assertion: compact, type, clientId }: AssertionCredentials): Promise<AssertionExplanation> {
    const { issuers, clients, clock, maxAgeSeconds } = this.#parts;
    const at = clock.now();
    const parsed = ClientAssertion.parse(compact);
    if (!parsed.ok) return { reason: 'assertion_malformed', fault: parsed.problem, rules: [], at };
    const assertion = parsed.value;
    const issuer = issuers.find(type, assertion.claims);
    if (issuer === undefined) return { reason: 'assertion_issuer_untrusted', assertion, rules: [], at };

    const signature = await this.#verify(assertion, issuer.issuer);
    const identity = { issuer: issuer.issuer, subject: assertion.claims.sub, clientId };
    const candidates = await clients.findBySubject(identity);
    const selected = selectCandidate(issuers, { identity, payload: assertion.readPayload(), candidates });
    const reason =
      refusalOfIdentity(assertion, issuer, { now: at, maxAgeSeconds }) ??
      (typeof signature === 'object' || signature === 'verified' ? undefined : REASON_OF_VERDICT[signature]) ??
      (selected.ok ? undefined : selected.problem.reason);
    return {
      ...(reason !== undefined && { reason }),
      ...(selected.ok && { clientId: selected.value.clientId }),
      assertion,
      issuer,
      signature,
      rules: candidates.map((candidate) => this.#explain(candidate, identity, assertion)),
      at,
    };
  }

  async #verify(assertion: ClientAssertion, issuer: string): Promise<ExplainedSignature> {
    const { fetchKeys, verifier } = this.#parts;
    try {
      return await verifier.verify(assertion, await fetchKeys(issuer));
    } catch (fault) {
      return { unavailable: String((fault as { readonly message?: unknown }).message) };
    }
  }

  #explain(candidate: FederatedCandidate, identity: FederatedIdentity, assertion: ClientAssertion): ExplainedRule {
    const { clientId, lookup, claims = {} } = candidate;
    const payload = assertion.readPayload();
    const broken = lookup.kind === 'broken' ? `the registration is broken: ${lookup.problem.field}` : undefined;
    const problem = weaknessOfRule(this.#parts.issuers, identity, candidate) ?? broken;
    const unmet = unmetConditions(claims, payload).map((path) => {
      return { path, expected: claims[path] ?? '', found: claimAt(payload, path) };
    });
    return { clientId, ...(problem !== undefined && { problem }), unmet };
  }
}
