import type { ChangeEvent, ChangeMade } from '../ports/audit-log.ts';
import type { KeyRecord } from '../ports/key-records.ts';

/** @param key the revoked key of the shared directory, as it was before. */
export function revocationEvents(
  { kid, replica, trustedUntil }: KeyRecord,
  common: ChangeMade,
): readonly ChangeEvent[] {
  return [{ event: 'directory_key_revoked', ...common, key_id: kid, replica, trusted_until: trustedUntil }];
}
