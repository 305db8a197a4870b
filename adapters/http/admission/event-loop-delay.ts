/** How often it is looked at, in milliseconds. */
const LOOK_EVERY_MS = 100;

/** How much one look counts: a single pause of half a second moves the mean by a tenth of one. */
const WEIGHT = 0.2;

/**
 * How much later than it should the event loop comes to what is due, as a moving mean over about a second: what a request
 * waits before it is even read.
 */
export class EventLoopDelay {
  readonly #timer: NodeJS.Timeout;
  #due = performance.now() + LOOK_EVERY_MS;
  #mean = 0;

  constructor() {
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY_MS).unref();
  }

  get milliseconds(): number {
    return this.#mean;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const now = performance.now();
    this.#mean += WEIGHT * (Math.max(0, now - this.#due) - this.#mean);
    this.#due = now + LOOK_EVERY_MS;
  }
}
