import type { Clock } from '../../application/ports/clock.ts';

/** A clock that moves only when a test advances it. */
export class FixedClock implements Clock {
  #now: number;

  constructor(now = 1_800_000_000) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  advance(seconds: number): void {
    this.#now += seconds;
  }
}
