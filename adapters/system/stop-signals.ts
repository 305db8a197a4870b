/**
 * Milliseconds in which SIGTERM counts once. A terminal, systemd and many other supervisors send it to the whole process group, and npm
 * forwards it to a process that has got it already.
 */
const SAME_SIGNAL_MS = 1_000;

/** What the signals that stop a process ask for: SIGTERM a planned shutdown, SIGINT and a later SIGTERM an immediate one. */
export class StopSignals {
  readonly #now: () => number;
  #firstMs: number | undefined;

  /** @param now milliseconds of a clock that nobody can set. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  received(signal: 'SIGTERM' | 'SIGINT'): 'planned' | 'immediate' {
    if (signal === 'SIGINT') return 'immediate';
    this.#firstMs ??= this.#now();
    return this.#now() - this.#firstMs < SAME_SIGNAL_MS ? 'planned' : 'immediate';
  }
}
