import { setTimeout as delay } from 'node:timers/promises';

/** Milliseconds. Reached only where something is broken, so that a test on a busy machine does not fail. Jest's own limit is longer. */
const DEADLINE_MS = 60_000;
const POLL_EVERY_MS = 5;

/**
 * Resolves as soon as the condition holds. Takes the place of sleeping in tests.
 *
 * @param what the condition in words, for the error.
 * @throws Error where the condition does not hold within 60 s.
 */
export async function until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const deadline = Date.now() + DEADLINE_MS;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`not within ${DEADLINE_MS / 1_000} s: ${what}`);
    await delay(POLL_EVERY_MS);
  }
}
