import { LIFECYCLE } from '../adapters/http/server/running-server.ts';
import { CURES } from '../adapters/postgres/fault-cures.ts';
import type { CheckState } from '../application/ports/health-check.ts';
import { DATABASES } from '../application/ports/telemetry.ts';

/** What to do about a check that is not ready or has a note: for a fault with a code, what the doctor says. */
export function cureOf(check: CheckState): string {
  const text = (check.ready ? check.note : check.reason) ?? '';
  const [, code = ''] = /\((\w+)\)$/.exec(text) ?? [];
  const [, cure] = CURES[code] ?? [];
  if (cure !== undefined) return cure;
  if (DATABASES.some((database) => database === check.name)) return 'npm run doctor names the fault and its cure';
  if (check.name === LIFECYCLE) return 'wait until it is ready or has ended';
  return check.ready ? 'docs/operations.md explains it' : 'fix that; it becomes ready without a restart';
}
