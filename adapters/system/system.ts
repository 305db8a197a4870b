import { randomUUID } from 'node:crypto';
import type { Clock } from '../../application/ports/clock.ts';
import type { IdGenerator } from '../../application/ports/id-generator.ts';

/** The clock of the operating system. */
export class SystemClock implements Clock {
  now(): number {
    return Math.floor(Date.now() / 1000);
  }
}

/** UUIDs from the random source of the operating system. */
export class RandomIdGenerator implements IdGenerator {
  uuid(): string {
    return randomUUID();
  }
}
