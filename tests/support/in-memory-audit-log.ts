import type { AuditEvent, AuditLog } from '../../application/ports/audit-log.ts';
import type { ChangeLog } from '../../application/ports/change-log.ts';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';

/** Keeps all events of this process, oldest first. For tests only: it grows without bound. */
export class InMemoryAuditLog implements AuditLog {
  readonly #need: 'optional' | 'required';
  readonly #events: AuditEvent[] = [];
  #kept: AuditEvent[] = [];
  #isFull = false;

  constructor(need: 'optional' | 'required' = 'optional') {
    this.#need = need;
  }

  /** What a full disk does, until it is not full any more. */
  set full(isFull: boolean) {
    this.#isFull = isFull;
    if (!isFull) this.#events.push(...this.#kept.splice(0));
  }

  async record(event: Parameters<AuditLog['record']>[0]): Promise<void> {
    if (!this.#isFull) this.#events.push(structuredClone(event));
    else if (event.event.startsWith('key_') || event.event === 'change_unconfirmed')
      this.#kept.push(structuredClone(event));
    else if (this.#need === 'required') throw new DependencyUnavailable('audit log', new Error('no space left'));
  }

  events(): readonly AuditEvent[] {
    return structuredClone(this.#events);
  }
}

/** The same for the changes of operators, which are required. */
export class InMemoryChangeLog implements ChangeLog {
  readonly #events: AuditEvent[] = [];
  full = false;

  record(event: Parameters<ChangeLog['record']>[0]): void {
    if (!this.full) this.#events.push(structuredClone(event));
    else if (event.event !== 'change_unconfirmed')
      throw new DependencyUnavailable('audit log', new Error('no space left'));
  }

  events(): readonly AuditEvent[] {
    return structuredClone(this.#events);
  }
}
