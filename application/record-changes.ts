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
  readonly #by: Pick<ChangeMade, 'changed_by'>;
  /** The id of the last change, if an event of it may be written: one that was refused can still come. */
  #changeId: string | undefined;

  /**
   * @param eventsOf the events of one change, all with the same common fields.
   * @param by who makes the changes, if the programs' own fields do not say it.
   */
  constructor(
    parts: RecordChangesParts,
    eventsOf: (made: Made, common: ChangeMade) => readonly ChangeEvent[],
    by: Pick<ChangeMade, 'changed_by'> = {},
  ) {
    this.#parts = parts;
    this.#eventsOf = eventsOf;
    this.#by = by;
  }

  async record(made: Made, database_role: string | undefined): Promise<void> {
    const { clock, ids } = this.#parts;
    const common: ChangeMade = { at: clock.now(), change_id: ids.uuid(), database_role, ...this.#by };
    this.#changeId = undefined;
    try {
      for (const event of this.#eventsOf(made, common)) {
        this.#changeId = common.change_id;
        await this.#parts.changeLog.record(event);
      }
    } catch (fault) {
      // Nothing will be changed.
      this.unconfirmed();
      throw fault;
    }
  }

  unconfirmed(): void {
    const { changeLog, clock } = this.#parts;
    const change_id = this.#changeId;
    if (change_id !== undefined) void changeLog.record({ event: 'change_unconfirmed', at: clock.now(), change_id });
    this.#changeId = undefined;
  }
}
