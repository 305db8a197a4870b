import { setTimeout as delay } from 'node:timers/promises';

/** Milliseconds. So long that a busy machine does not reach it, only a bug does. Jest's own limit is longer. */
const DEADLINE_MS = 60_000;
const POLL_EVERY_MS = 5;

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
  const deadline = Date.now() + deadlineMs;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`not within ${deadlineMs / 1_000} s: ${what}`);
    await delay(POLL_EVERY_MS);
  }
}
