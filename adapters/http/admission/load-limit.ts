import type { VerificationSlots } from '../../../application/ports/verification-slots.ts';

/** How often the event loop is checked, in milliseconds. */
const CHECK_EVERY_MS = 100;

/** The weight of one check: a single pause of half a second moves the mean by 0.1 s. */
const WEIGHT = 0.2;

export const LOAD_LIMITS = {
  /** Requests in progress at once; those that upload their body or wait for a verification do not count. A thousand need about 0.3 s of a core for their signatures. */
  inFlight: 1_000,
  /** The same, while the event loop is late. */
  inFlightWhenLate: 100,
  /** Mean delay of the event loop, in milliseconds, from which on it counts as late. */
  lateMs: 200,
};

/**
 * Admits the requests that can be answered in good time. The rest are refused at once, which costs a tenth of the CPU time of a token:
 * admitted requests stay fast, and no queue grows, while more requests arrive than can be served.
 */
export class LoadLimit {
  readonly #limits: typeof LOAD_LIMITS;
  readonly #eventLoop: { readonly delayMs: number };
  #inFlight = 0;

  constructor(limits: typeof LOAD_LIMITS, eventLoop = watchEventLoop()) {
    this.#limits = limits;
    this.#eventLoop = eventLoop;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** The most requests in progress now: fewer while the event loop is late. */
  get max(): number {
    const { inFlight, inFlightWhenLate, lateMs } = this.#limits;
    return this.#eventLoop.delayMs < lateMs ? inFlight : inFlightWhenLate;
  }

  /** Whether one more request is admitted. Each that is must `leave`. */
  enter(): boolean {
    if (this.#inFlight >= this.max) return false;
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
  withUncountedWaits(slots: VerificationSlots): VerificationSlots {
    return {
      hasAttemptsLeft: (clientId, address) => slots.hasAttemptsLeft(clientId, address),
      acquire: async (request) => {
        // A renewal runs in the background, where no request is counted.
        if (request.purpose === 'renewal') return slots.acquire(request);
        const slot = await this.uncounted(() => slots.acquire(request));
        if (slot === 'attempts_exhausted' || slot.refusals !== 'deferred') return slot;
        return { ...slot, settle: (verdict) => this.uncounted(() => slot.settle(verdict)) };
      },
    };
  }
}

/** How late timers fire, in milliseconds, as a moving mean over about a second: how long a request waits before it is read. */
function watchEventLoop(): { readonly delayMs: number } {
  const eventLoop = { delayMs: 0 };
  let due = performance.now() + CHECK_EVERY_MS;
  setInterval(() => {
    const now = performance.now();
    eventLoop.delayMs += WEIGHT * (Math.max(0, now - due) - eventLoop.delayMs);
    due = now + CHECK_EVERY_MS;
  }, CHECK_EVERY_MS).unref();
  return eventLoop;
}
