import { setTimeout as delay } from 'node:timers/promises';

/** Milliseconds. So long that a busy machine does not reach it, only a bug does. Jest's own limit is longer. */
const DEADLINE_MS = 60_000;

/** Milliseconds that count between two looks, at most: a machine that is halted meanwhile has not waited. */
const COUNTED_MS = 1_000;

/** Milliseconds between two looks: often at first, and then seldom enough that a long wait costs little. */
const POLL_EVERY_MS = { first: 5, later: 25 };
const FIRST_POLLS = 20;

/**
 * Resolves as soon as the condition holds. Takes the place of sleeping in tests.
 *
 * @param what describes the condition, for the error.
 * @throws Error if the condition does not hold in time.
 */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what: string,
  deadlineMs = DEADLINE_MS,
): Promise<void> {
  let waitedMs = 0;
  let lookedAt = Date.now();
  for (let polls = 0; !(await condition()); polls += 1) {
    const now = Date.now();
    waitedMs += Math.min(now - lookedAt, COUNTED_MS);
    lookedAt = now;
    if (waitedMs > deadlineMs) throw new Error(`not within ${deadlineMs / 1_000} s: ${what}`);
    await delay(polls < FIRST_POLLS ? POLL_EVERY_MS.first : POLL_EVERY_MS.later);
  }
}
