import { randomInt, randomUUID } from 'node:crypto';
import { hostname, userInfo } from 'node:os';
import type { Clock, MonotonicClock } from '../../application/ports/clock.ts';
import type { IdGenerator } from '../../application/ports/id-generator.ts';

/** The clock of the operating system. */
export class SystemClock implements Clock {
  now(): number {
    return Math.floor(Date.now() / 1000);
  }
}

/** The system's clock for durations (CLOCK_MONOTONIC on Linux). Setting the time of day does not change it. */
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

// Letters and digits need no escaping in a form, in Basic credentials, in a URL, in a shell or in a YAML file.
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** The fewest characters of 62 that have 256 bits: 43 × log2 62 = 256.03. */
const LENGTH = 43;

/** A secret from the operating system's random source, in which every character is equally likely. */
export function randomSecret(): string {
  return Array.from({ length: LENGTH }, () => ALPHABET.charAt(randomInt(ALPHABET.length))).join('');
}

/** Who runs this program: the user of the operating system and the name of the machine. */
interface Operator {
  readonly os_user: string;
  readonly host: string;
}

/** A user without a name in the system has its number, such as `uid 10001`. */
export function currentOperator(): Operator {
  return { os_user: userName(), host: hostname() };
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.()}`;
  }
}
