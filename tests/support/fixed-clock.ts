import type { MonotonicClock } from '../../application/ports/clock.ts';

/** A clock that moves only when a test advances it. */
export class FixedClock implements MonotonicClock {
  #now: number;
  /** By how much the time of day differs from the seconds that have passed. */
  #wallOffset = 0;

  constructor(now = 1_800_000_000) {
    this.#now = now;
  }

  now(): number {
    return Math.floor(this.#now);
  }

  seconds(): number {
    return this.#now;
  }

  wallSeconds(): number {
    return this.#now + this.#wallOffset;
  }

  advance(seconds: number): void {
    this.#now += seconds;
  }

  /** Sets the time of day forward, or back with a negative number. `now()` is not changed. */
  setWall(seconds: number): void {
    this.#wallOffset += seconds;
  }
}
