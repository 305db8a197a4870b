import type { ChangeEvent, ChangeMade } from '../ports/change-log.ts';
import type { KeyRingChange } from '../ports/key-ring-records.ts';

export function keyChangeEvents(changes: readonly KeyRingChange[], common: ChangeMade): readonly ChangeEvent[] {
  return changes.map((change) =>
    change.change === 'revoked'
      ? { event: 'directory_key_revoked', ...common, key_id: change.kid, trusted_until: change.verifiesUntil }
      : { event: 'directory_key_ended', ...common, key_id: change.kid, ends_at: change.endsAt },
  );
}
