import { hasExpired } from '../../domain/client-details.ts';
import type { ClientRegistration } from '../../domain/client-registration.ts';
import {
  CLIENT_SKEW_SECONDS,
  type KeyAssertionPolicy,
  keyAssertionExpectations,
  refusalOfKeyAssertion,
} from '../../domain/private-key-jwt/key-assertion-rules.ts';
import { type Refusal, refused, refusedOpenly } from '../../domain/refusal.ts';
import { type Result, success } from '../../domain/result.ts';
import type { PresentedAssertion } from '../authenticate-client.ts';
import type { Caller } from '../ports/caller.ts';
import type { ClientAuthentication } from '../ports/client-credentials.ts';
import type { ClientRepository } from '../ports/client-repository.ts';
import type { Clock } from '../ports/clock.ts';
import { REASON_OF_VERDICT, type VerifyAssertion } from '../verify-assertion.ts';
import type { UseAssertion } from './use-assertion.ts';

/** Seconds beyond its end that a used assertion is kept: the clock of a replica may be set back by so much. */
const KEPT_LONGER_SECONDS = 60;

interface AuthenticateByKeyParts extends KeyAssertionPolicy {
  readonly clients: Pick<ClientRepository, 'findKeys' | 'findByClientId'>;
  readonly verifyAssertion: VerifyAssertion;
  readonly useAssertion: UseAssertion;
  readonly clock: Clock;
}

/** A client authenticates with an assertion of its own key (`private_key_jwt`), or gets a token for it. */
export class AuthenticateByKey implements ClientAuthentication<PresentedAssertion> {
  readonly #parts: AuthenticateByKeyParts;

  constructor(parts: AuthenticateByKeyParts) {
    this.#parts = parts;
  }

  /**
   * What the assertion itself shows is refused first, without a look-up, and openly. A caller without a key of the
   * client is refused after the same work, with or without a registration: one look-up and one verification, for an
   * unknown client with the keys of another one. A verified assertion costs a second look-up. Only a verified assertion
   * of an enabled client is recorded as used, so nobody else can fill the store.
   */
  async execute(
    { assertion, clientId }: PresentedAssertion,
    caller: Caller,
  ): Promise<Result<ClientRegistration, Refusal>> {
    const { clients, verifyAssertion, useAssertion, clock, use, audiences, maxLifetimeSeconds } = this.#parts;
    const { sub, exp, jti: assertionId } = assertion.claims;
    const now = clock.now();
    const reason = refusalOfKeyAssertion(assertion, { now, use, audiences, maxLifetimeSeconds, clientId });
    if (reason !== undefined) return refusedOpenly(reason, keyAssertionExpectations(this.#parts, assertion));

    const found = await clients.findKeys(sub, assertion.header.kid);
    const current = found.keys.filter((key) => !hasExpired(key, now));
    const isRegistered = async () => found.isRegistered;
    const verdict = await verifyAssertion.execute(assertion, current, { clientId: sub, caller, isRegistered });
    if (!found.isRegistered) return refused('client_unknown');
    if (verdict !== 'verified') return refused(REASON_OF_VERDICT[verdict], sub);
    // Read only now: a stranger makes the service read no more than the keys.
    const lookup = await clients.findByClientId(sub);
    if (lookup.kind === 'unknown') return refused('client_unknown');
    if (lookup.kind === 'broken') return refused('registration_broken', sub);
    if (lookup.registration.isDisabled) return refused('client_disabled', sub);

    if (assertionId === undefined) return success(lookup.registration);
    const keptSeconds = Math.ceil(exp) + CLIENT_SKEW_SECONDS + KEPT_LONGER_SECONDS - now;
    const outcome = await useAssertion.execute({ clientId: sub, assertionId, keptSeconds });
    return outcome === 'first' ? success(lookup.registration) : refused('assertion_replayed', sub);
  }
}
