import { availableParallelism } from 'node:os';
import { LimitedTurns } from '../adapters/secrets/attempt-limiter.ts';
import { CHECK_QUEUE_LIMITS, type CheckQueueLimits } from '../adapters/secrets/verification-queue.ts';
import type { CheckTurns } from '../application/ports/check-turns.ts';
import type { Settings } from './settings/settings.ts';

/** Threads of libuv's pool, in each process that hashes, of which one stays free for what else is done there. */
const POOL_THREADS = 4;

/** One core stays free for those who need no check. */
export function checkQueueLimits({ WORKERS }: Settings): CheckQueueLimits {
  const atOnce = Math.min(Math.max(1, availableParallelism() - 1), WORKERS * (POOL_THREADS - 1));
  return { ...CHECK_QUEUE_LIMITS, atOnce };
}

/** These turns, for those who did not fail too often. */
export function createCheckTurns(settings: Settings, turns: CheckTurns): CheckTurns {
  const failures = settings.CLIENT_FAILURES_PER_MINUTE;
  return failures === 0 ? turns : new LimitedTurns(turns, failures);
}
