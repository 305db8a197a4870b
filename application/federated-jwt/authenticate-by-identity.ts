import type { ClientRegistration } from '../../domain/client-registration.ts';
import { identityExpectations, refusalOfIdentity } from '../../domain/federated-jwt/identity-assertion-rules.ts';
import type { TrustedIssuers } from '../../domain/federated-jwt/trusted-issuers.ts';
import { type Refusal, refused, refusedOpenly } from '../../domain/refusal.ts';
import type { Result } from '../../domain/result.ts';
import type { IdentityAuthentication, PresentedAssertion } from '../authenticate-client.ts';
import type { Caller } from '../ports/caller.ts';
import type { ClientRepository } from '../ports/client-repository.ts';
import type { Clock } from '../ports/clock.ts';
import { DependencyUnavailable } from '../ports/dependency-unavailable.ts';
import type { IssuerKeys } from '../ports/issuer-keys.ts';
import { REASON_OF_VERDICT, type VerifyAssertion } from '../verify-assertion.ts';
import { selectCandidate } from './select-candidate.ts';

/** No rule has this subject. */
const NO_SUBJECT = '';

interface AuthenticateByIdentityParts {
  readonly issuers: TrustedIssuers;
  readonly issuerKeys: IssuerKeys;
  readonly verifyAssertion: VerifyAssertion;
  readonly clients: Pick<ClientRepository, 'findBySubject'>;
  readonly clock: Clock;
  /** The greatest age of an assertion. */
  readonly maxAgeSeconds: number;
}

/**
 * Client authentication by the identity that a platform gave a workload (RFC 7523 section 2.2, with the key of an
 * issuer that the operator trusts): `federated_jwt`. The client keeps no secret.
 */
export class AuthenticateByIdentity implements IdentityAuthentication {
  readonly #parts: AuthenticateByIdentityParts;

  constructor(parts: AuthenticateByIdentityParts) {
    this.#parts = parts;
  }

  isResponsibleFor({ type, assertion }: PresentedAssertion): boolean {
    return this.#parts.issuers.find(type, assertion.claims) !== undefined;
  }

  /**
   * The registration whose rule the assertion matches, or a refusal. Throws what the ports throw.
   *
   * What the assertion itself shows is refused first, without a look-up, and openly. Every other refusal costs one
   * verification and one look-up. An assertion that is not verified is looked up under a subject that no rule has: its
   * time tells a forger nothing about rules.
   */
  async execute(presented: PresentedAssertion, caller: Caller): Promise<Result<ClientRegistration, Refusal>> {
    const { issuers, issuerKeys, verifyAssertion, clients, clock, maxAgeSeconds } = this.#parts;
    const { assertion, type, clientId } = presented;
    const issuer = issuers.find(type, assertion.claims);
    if (issuer === undefined) return refused('assertion_issuer_untrusted');
    const reason = refusalOfIdentity(assertion, issuer, { now: clock.now(), maxAgeSeconds });
    if (reason !== undefined) return refusedOpenly(reason, identityExpectations(issuer, maxAgeSeconds));

    const { keys, current } = issuerKeys.keysOf(issuer.issuer);
    const claimed = { issuer: issuer.issuer, subject: assertion.claims.sub, clientId };
    const verdict = await verifyAssertion.execute(assertion, keys, {
      clientId: `${claimed.issuer} ${claimed.subject}`,
      caller,
      isRegistered: async () => (await clients.findBySubject(claimed)).length > 0,
    });
    const identity = verdict === 'verified' ? claimed : { ...claimed, subject: NO_SUBJECT };
    const candidates = await clients.findBySubject(identity);
    if (verdict === 'key_unknown' && !current) {
      throw new DependencyUnavailable(
        `key set of ${issuer.issuer}`,
        new Error('the key may be newer than the key set'),
      );
    }
    return verdict === 'verified'
      ? selectCandidate(issuers, { identity, payload: assertion.readPayload(), candidates })
      : refused(REASON_OF_VERDICT[verdict]);
  }
}
