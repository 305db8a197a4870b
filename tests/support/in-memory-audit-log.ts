import type { AuditEvent, AuditLog } from '../../application/ports/audit-log.ts';

/** Keeps all events of this process, oldest first. For tests only: it grows without bound. */
export class InMemoryAuditLog implements AuditLog {
  readonly #events: AuditEvent[] = [];

  record(event: AuditEvent): void {
    this.#events.push(structuredClone(event));
  }

  events(): readonly AuditEvent[] {
    return structuredClone(this.#events);
  }
}
