import { LIFECYCLE } from '../../../adapters/http/server/running-server.ts';
import { CURES } from '../../../adapters/postgres/fault-cures.ts';
import type { CheckState } from '../../../application/ports/health-check.ts';
import { DATABASES } from '../../../application/ports/telemetry.ts';
import type { StorageName } from '../../settings/settings.ts';

/** What to do about a check that is not ready or has a note: for a fault of PostgreSQL with a code, what the doctor says. */
export function fixOf(check: CheckState, storage: StorageName): string {
  const text = (check.ready ? check.note : check.reason) ?? '';
  const [, code = ''] = /\((\w+)\)$/.exec(text) ?? [];
  const [, fix] = (storage === 'postgres' && CURES[code]) || [];
  if (fix !== undefined) return fix;
  if (DATABASES.some((database) => database === check.name)) return 'npm run doctor names the fault and its fix';
  if (check.name === LIFECYCLE) return 'wait until it is ready or has ended';
  return check.ready ? 'docs/operations.md explains it' : 'fix that; it becomes ready without a restart';
}
