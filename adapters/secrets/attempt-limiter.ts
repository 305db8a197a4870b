import { RateLimiterMemory } from 'rate-limiter-flexible';
import {
  type ClosableVerificationSlots,
  type SlotRequest,
  VerificationQueueFull,
  type VerificationSlot,
} from '../../application/ports/verification-slots.ts';

/**
 * Refuses slots to a client id and address that failed too often within a minute. Attempts are counted for both
 * together, so failures at another address cannot lock a client out. An attempt that gets no answer (too late, or
 * disconnected) counts as failed, because its verification may have run; one that found the queue full does not. Keeps one small record for
 * each pair that failed in the last minute; the size of the queue keeps them few.
 */
export class AttemptLimiter implements ClosableVerificationSlots {
  readonly #slots: ClosableVerificationSlots;
  readonly #failures: RateLimiterMemory;

  /** @param failuresPerMinute how many a client id may have from one address; at least 1. */
  constructor(slots: ClosableVerificationSlots, failuresPerMinute: number) {
    this.#slots = slots;
    this.#failures = new RateLimiterMemory({ points: failuresPerMinute, duration: 60 });
  }

  async acquire(request: SlotRequest): Promise<VerificationSlot | 'attempts_exhausted'> {
    if (request.purpose === 'renewal') return this.#slots.acquire(request);
    // An address has no space, so no two pairs give one key.
    const key = `${request.caller.address} ${request.clientId}`;
    const counted = await this.#failures.get(key);
    if (counted !== null && counted.consumedPoints >= this.#failures.points) return 'attempts_exhausted';
    const slot = await this.#withFaultCounted(key, this.#slots.acquire(request));
    return slot === 'attempts_exhausted' ? slot : this.#withVerdictCounted(key, slot);
  }

  close(): void {
    this.#slots.close();
  }

  #withVerdictCounted(key: string, slot: VerificationSlot): VerificationSlot {
    return {
      refusals: slot.refusals,
      // A failure is counted when it is answered. If it were counted earlier, the next 429 would tell which verifications
      // of the overflow queue have run, and so which clients are registered.
      settle: async (verdict) => {
        const answered = await this.#withFaultCounted(key, slot.settle(verdict));
        if (answered !== 'match') await this.#failures.penalty(key);
        return answered;
      },
      release: () => {
        void this.#failures.penalty(key);
        slot.release();
      },
    };
  }

  async #withFaultCounted<Outcome>(key: string, outcome: Promise<Outcome>): Promise<Outcome> {
    try {
      return await outcome;
    } catch (fault) {
      if (!(fault instanceof VerificationQueueFull)) await this.#failures.penalty(key);
      throw fault;
    }
  }
}
