import { LimitedTurns } from '../adapters/rate-limiter-flexible/limited-turns.ts';
import type { CheckTurns } from '../application/ports/check-turns.ts';
import type { Settings } from './settings.ts';

/** These turns, for those who did not fail too often. */
export function createCheckTurns(settings: Settings, turns: CheckTurns): CheckTurns {
  const failures = settings.CLIENT_FAILURES_PER_MINUTE;
  return failures === 0 ? turns : new LimitedTurns(turns, failures);
}
