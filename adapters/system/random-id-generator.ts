import { randomUUID } from 'node:crypto';
import type { IdGenerator } from '../../application/ports/id-generator.ts';

/** UUIDs from the operating system's random source. */
export class RandomIdGenerator implements IdGenerator {
  uuid(): string {
    return randomUUID();
  }
}
