import { RateLimiterMemory } from 'rate-limiter-flexible';
import { type CheckRequest, type CheckTurns, NoRoomToWait } from '../../application/ports/check-turns.ts';
import type { SecretVerdict } from '../../application/ports/secret-verifier.ts';

/**
 * Gives no turn to who failed too often within a minute: attempts are counted by client id and address together, so that
 * nobody is locked out by what somebody does elsewhere. Whoever waited in vain, or left, failed too, since his check may
 * have run; who found no room to wait in did not. Holds one small record for each pair that failed in the last minute,
 * which the room that there is keeps few.
 */
export class LimitedTurns implements CheckTurns {
  readonly #turns: CheckTurns;
  readonly #failures: RateLimiterMemory;

  /** @param failuresPerMinute how many a client id may have from an address; at least 1. */
  constructor(turns: CheckTurns, failuresPerMinute: number) {
    this.#turns = turns;
    this.#failures = new RateLimiterMemory({ points: failuresPerMinute, duration: 60 });
  }

  async take(request: CheckRequest, check: () => Promise<SecretVerdict>): Promise<SecretVerdict> {
    if (request.caller.proved) return this.#turns.take(request, check);
    // An address has no space, so that no two pairs make one key.
    const key = `${request.caller.address} ${request.clientId}`;
    const counted = await this.#failures.get(key);
    if (counted !== null && counted.consumedPoints >= this.#failures.points) return 'attempts_exhausted';
    try {
      const verdict = await this.#turns.take(request, check);
      if (verdict !== 'match') await this.#failures.penalty(key);
      return verdict;
    } catch (fault) {
      if (!(fault instanceof NoRoomToWait)) await this.#failures.penalty(key);
      throw fault;
    }
  }

  close(): void {
    this.#turns.close();
  }
}
