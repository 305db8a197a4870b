import type { ClientAssertion } from '../domain/client-assertion.ts';
import type { PublicJwk } from '../domain/public-jwk.ts';
import type { RefusalReason } from '../domain/refusal.ts';
import type { AssertionVerdict, AssertionVerifier } from './ports/assertion-verifier.ts';
import type { Caller } from './ports/caller.ts';
import type { SlotRequest, VerificationSlots } from './ports/verification-slots.ts';

/** The refusal of an assertion that is not verified. */
export const REASON_OF_VERDICT = {
  key_unknown: 'assertion_key_unknown',
  signature_wrong: 'assertion_signature_wrong',
} as const satisfies Record<Exclude<AssertionVerdict, 'verified'>, RefusalReason>;

/** Whose assertion is verified: the client that it names. */
interface AssertionSender extends Pick<SlotRequest, 'clientId' | 'isRegistered'> {
  readonly caller: Caller;
}

/** Verifies assertions in slots: anybody can send forged ones, whose floods must not keep out everybody else. */
export class VerifyAssertion {
  readonly #verifier: AssertionVerifier;
  readonly #slots: VerificationSlots;

  constructor(verifier: AssertionVerifier, slots: VerificationSlots) {
    this.#verifier = verifier;
    this.#slots = slots;
  }

  /**
   * The verdict with these keys. Throws SlotsExhausted if no slot is free in time or the caller may not know the
   * verdict then, and DependencyUnavailable if they disconnect.
   */
  async execute(
    assertion: ClientAssertion,
    keys: readonly PublicJwk[],
    sender: AssertionSender,
  ): Promise<AssertionVerdict> {
    const cost = this.#verifier.cost(assertion);
    if (cost === undefined) return this.#verifier.verify(assertion, keys);
    const verify = () => this.#verifier.verify(assertion, keys);
    return sender.caller.waitUncounted(() => this.#slots.run({ ...sender, cost }, verify, isVerified), isVerified);
  }
}

function isVerified(verdict: AssertionVerdict): boolean {
  return verdict === 'verified';
}
