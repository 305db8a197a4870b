import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import type { SecretVerdict } from '../../application/ports/secret-verifier.ts';
import type { CheckOutcome } from './protocol.ts';

/** What a check gave, in a form that can be sent. */
export async function checkOutcome(check: Promise<SecretVerdict>): Promise<CheckOutcome> {
  try {
    return { verdict: await check };
  } catch (fault) {
    const cause = fault instanceof DependencyUnavailable ? fault.cause : fault;
    return { unavailable: cause instanceof Error ? cause.message : 'unknown fault' };
  }
}

/** The verdict that was sent. Throws DependencyUnavailable where there is none. */
export function verdictOf(outcome: CheckOutcome): SecretVerdict {
  if ('verdict' in outcome) return outcome.verdict;
  throw new DependencyUnavailable('secret verification', new Error(outcome.unavailable));
}
