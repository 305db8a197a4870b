import type { CheckState } from '../../../application/ports/health-check.ts';
import type { StatusData, StatusEvent } from './status-data.ts';

/** Events that are kept. */
export const EVENTS_MAX = 20;

/** What may change. */
interface Observed {
  readonly checks: readonly CheckState[];
  readonly keys: readonly Pick<StatusData['keys'][number], 'kid' | 'state'>[];
}

/** The last changes: a dependency lost and back, a clock off, another key that signs. */
export class StatusEvents {
  readonly #events: StatusEvent[] = [];
  /** What is compared: each subject with its state, and the words for it. */
  #known: ReadonlyMap<string, readonly [state: string, text: string]> | undefined;

  /** At most 20, the latest first. */
  get latestFirst(): readonly StatusEvent[] {
    return this.#events.toReversed();
  }

  /** Compares with the last time. The first time, nothing has changed. */
  observe(at: number, { checks, keys }: Observed): void {
    const signing = keys.find(({ state }) => state === 'signing')?.kid;
    const known = new Map([
      ...checks.map((check) => [check.name, stateOf(check)] as const),
      ['key', [`${signing}`, signing === undefined ? 'no key signs' : `${signing} signs`]] as const,
    ]);
    for (const [subject, [state, text]] of known) {
      if (this.#known !== undefined && this.#known.get(subject)?.[0] !== state) this.#add({ at, subject, text });
    }
    this.#known = known;
  }

  #add(event: StatusEvent): void {
    this.#events.push(event);
    if (this.#events.length > EVENTS_MAX) this.#events.shift();
  }
}

/** The words may have figures, which change all the time. */
function stateOf(check: CheckState): readonly [state: string, text: string] {
  if (!check.ready) return ['not ready', `not ready: ${check.reason}`];
  return check.note === undefined ? ['ready', 'ready'] : ['note', check.note];
}
