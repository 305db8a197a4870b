import { randomUUID } from 'node:crypto';
import type { Clock, MonotonicClock } from '../../application/ports/clock.ts';
import type { IdGenerator } from '../../application/ports/id-generator.ts';

/** The clock of the operating system. */
export class SystemClock implements Clock {
  now(): number {
    return Math.floor(Date.now() / 1000);
  }
}

/** The operating system's clock for durations (CLOCK_MONOTONIC on Linux). Setting the time of day does not change it. */
export class SystemMonotonicClock implements MonotonicClock {
  now(): number {
    return Math.floor(this.seconds());
  }

  seconds(): number {
    return Number(process.hrtime.bigint()) / 1e9;
  }

  wallSeconds(): number {
    return Date.now() / 1000;
  }
}

/** UUIDs from the random source of the operating system. */
export class RandomIdGenerator implements IdGenerator {
  uuid(): string {
    return randomUUID();
  }
}
