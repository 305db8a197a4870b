import type { VerificationSlots } from '../../../application/ports/verification-slots.ts';

export interface LoadLimits {
  /** Requests that are worked on at once; those whose body is still being sent, or that wait for a check, are not. A thousand are about 0.4 s of a core's signatures. */
  readonly inFlight: number;
  /** The same, while the event loop is late. */
  readonly inFlightWhenLate: number;
  /** Mean delay of the event loop, in milliseconds, from which on it is late. */
  readonly lateMs: number;
}

export const LOAD_LIMITS: LoadLimits = { inFlight: 1_000, inFlightWhenLate: 100, lateMs: 200 };

/**
 * Lets in what can be answered in good time. The rest is refused at once, which costs a tenth of a token, so that those
 * who are let in are served as fast as ever and nothing grows while more comes than can be done.
 */
export class LoadLimit {
  readonly #limits: LoadLimits;
  readonly #delayMs: () => number;
  #inFlight = 0;

  /** @param delayMs the delay of the event loop now, in milliseconds. */
  constructor(limits: LoadLimits, delayMs: () => number) {
    this.#limits = limits;
    this.#delayMs = delayMs;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** Whether one more may come in. Whoever did says so when it leaves. */
  enter(): boolean {
    const { inFlight, inFlightWhenLate, lateMs } = this.#limits;
    const most = this.#delayMs() < lateMs ? inFlight : inFlightWhenLate;
    if (this.#inFlight >= most) return false;
    this.#inFlight += 1;
    return true;
  }

  leave(): void {
    this.#inFlight -= 1;
  }

  /** Runs a wait of an admitted request without counting that request meanwhile: waiting is not work of this process. */
  readonly uncounted = async <Outcome>(wait: () => Promise<Outcome>): Promise<Outcome> => {
    this.#inFlight -= 1;
    try {
      return await wait();
    } finally {
      this.#inFlight += 1;
    }
  };

  /** The same slots, but a request is not counted while it waits for one, or for the time of its answer. */
  exempt(slots: VerificationSlots): VerificationSlots {
    return {
      acquire: async (request) => {
        // A renewal runs in the background, where no request is counted.
        if (request.purpose === 'renewal') return slots.acquire(request);
        const slot = await this.uncounted(() => slots.acquire(request));
        if (slot === 'attempts_exhausted' || slot.refusals === 'immediate') return slot;
        return { ...slot, settle: (verdict) => this.uncounted(() => slot.settle(verdict)) };
      },
    };
  }
}
