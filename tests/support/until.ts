import { setTimeout as delay } from 'node:timers/promises';

/** Milliseconds. So long that a busy machine does not reach it, only a bug does. Jest's own limit is longer. */
const DEADLINE_MS = 60_000;
const POLL_EVERY_MS = 5;

/**
 * Resolves as soon as the condition holds. Takes the place of sleeping in tests.
 *
 * @param what describes the condition, for the error.
 * @throws Error if the condition does not hold within 60 s.
 */
export async function until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const deadline = Date.now() + DEADLINE_MS;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`not within ${DEADLINE_MS / 1_000} s: ${what}`);
    await delay(POLL_EVERY_MS);
  }
}
