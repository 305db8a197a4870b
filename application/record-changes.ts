import type { ChangeEvent, ChangeLog, ChangeMade } from './ports/change-log.ts';
import type { ChangeRecorder } from './ports/change-recorder.ts';
import type { Clock } from './ports/clock.ts';
import type { IdGenerator } from './ports/id-generator.ts';

export interface RecordChangesParts {
  readonly changeLog: ChangeLog;
  readonly clock: Clock;
  readonly ids: IdGenerator;
}

/** Records who changed what, as events of the audit log. */
export class RecordChanges<Made> implements ChangeRecorder<Made> {
  readonly #parts: RecordChangesParts;
  readonly #eventsOf: (made: Made, common: ChangeMade) => readonly ChangeEvent[];
  #changeId = '';

  /** @param eventsOf the events of one change, all with the same common fields. */
  constructor(parts: RecordChangesParts, eventsOf: (made: Made, common: ChangeMade) => readonly ChangeEvent[]) {
    this.#parts = parts;
    this.#eventsOf = eventsOf;
  }

  record(made: Made, database_role: string | undefined): void {
    const { changeLog, clock, ids } = this.#parts;
    this.#changeId = ids.uuid();
    const events = this.#eventsOf(made, { at: clock.now(), change_id: this.#changeId, database_role });
    for (const [index, event] of events.entries()) {
      try {
        changeLog.record(event);
      } catch (fault) {
        // The events before this one are written, and nothing will be changed.
        if (index > 0) this.unconfirmed();
        throw fault;
      }
    }
  }

  unconfirmed(): void {
    const { changeLog, clock } = this.#parts;
    changeLog.record({ event: 'change_unconfirmed', at: clock.now(), change_id: this.#changeId });
  }
}
