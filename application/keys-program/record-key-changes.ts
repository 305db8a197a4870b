import type { ChangeRecorder, RecordChangesParts } from '../ports/change-recorder.ts';
import type { KeyRecord } from '../ports/key-records.ts';

/** Records who revoked which key of the shared directory. */
export class RecordKeyChanges implements ChangeRecorder<KeyRecord> {
  readonly #parts: RecordChangesParts;
  #changeId = '';

  constructor(parts: RecordChangesParts) {
    this.#parts = parts;
  }

  /** @param key as it was before. */
  record({ kid: keyId, trustedUntil, replica }: KeyRecord, databaseRole: string | undefined): void {
    const { auditLog, clock, ids } = this.#parts;
    this.#changeId = ids.uuid();
    const common = { at: clock.now(), changeId: this.#changeId, databaseRole };
    auditLog.record({ event: 'directory_key_revoked', ...common, keyId, trustedUntil, replica });
  }

  unconfirmed(): void {
    const { auditLog, clock } = this.#parts;
    auditLog.record({ event: 'change_unconfirmed', at: clock.now(), changeId: this.#changeId });
  }
}
