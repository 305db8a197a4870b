/** How often the event loop is checked, in milliseconds. */
const CHECK_EVERY_MS = 100;

/** The weight of one check: a single pause of half a second moves the mean by 0.1 s. */
const WEIGHT = 0.2;

/**
 * A connection with more requests in so many milliseconds may not use the reserved places. A client that respects
 * Retry-After has some tries.
 */
const FEW = { requests: 3, withinMs: 10_000 };

/** The part of the places that is reserved. */
const RESERVED = 0.1;

export const LOAD_LIMITS = {
  /**
   * Requests in progress at once; those that upload their body or wait for a verification do not count. A thousand need
   * about 0.3 s of a core for their signatures.
   */
  inFlight: 1_000,
  /** The same, while the event loop is late. */
  inFlightWhenLate: 100,
  /** Mean delay of the event loop, in milliseconds, from which on it counts as late. */
  lateMs: 200,
};

/** A request, as the limit sees it. */
export interface Countable {
  /** Whether it counts as in progress now. Only the limit writes it. */
  isCounted?: boolean;
  /** Whether its connection has sent more than three within ten seconds. */
  isRepeated?: boolean;
}

/**
 * Admits the requests that can be answered in good time. The rest are refused at once, which costs a tenth of the CPU
 * time of a token: admitted requests stay fast, and no queue grows, while more requests arrive than can be served. A
 * tenth of the places is reserved for connections that send a request now and then: those that repeat theirs at once
 * take no more than the others.
 */
export class LoadLimit {
  readonly #limits: typeof LOAD_LIMITS;
  readonly #eventLoop: { readonly delayMs: number };
  readonly #requests = new WeakMap<object, { begin: number; count: number }>();
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

  /**
   * Counts a request. Returns whether its connection has sent more than three within ten seconds.
   *
   * @param now monotonic time in milliseconds.
   */
  isRepeated(connection: object, now: number): boolean {
    const counted = this.#requests.get(connection);
    if (counted === undefined || now >= counted.begin + FEW.withinMs) {
      this.#requests.set(connection, { begin: now, count: 1 });
      return false;
    }
    counted.count += 1;
    return counted.count > FEW.requests;
  }

  /** Whether the request is admitted. Then it counts as in progress until it must `leave`. */
  enter(request: Countable): boolean {
    const reserved = request.isRepeated ? Math.floor(this.max * RESERVED) : 0;
    if (this.#inFlight >= this.max - reserved) return false;
    this.#inFlight += 1;
    request.isCounted = true;
    return true;
  }

  /**
   * Ends the count of a request: when it ends, or while it waits, since waiting is not work of this process. A request
   * that has waited must `enter` again, because any number may end their wait at the same time. Does nothing if it is
   * not counted.
   */
  leave(request: Countable): void {
    if (request.isCounted !== true) return;
    request.isCounted = false;
    this.#inFlight -= 1;
  }

  /**
   * Does not count a request while it waits for a verification, which the verification queue limits itself. Afterwards
   * it counts again if the limit allows. It is answered in any case, since the expensive part is done, and only as many
   * a second get there as verifications end. A refusal is no work.
   */
  async waitUncounted<Outcome>(
    request: Countable,
    wait: () => Promise<Outcome>,
    isMoreWork: (outcome: Outcome) => boolean,
  ): Promise<Outcome> {
    this.leave(request);
    const outcome = await wait();
    if (isMoreWork(outcome)) this.enter(request);
    return outcome;
  }
}

/** How late timers fire, in milliseconds, a moving mean of about a second: how long a request waits to be read. */
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
