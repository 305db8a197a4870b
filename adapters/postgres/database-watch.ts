import { setTimeout as delay } from 'node:timers/promises';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import { loggableFault } from './database-fault.ts';
import type { DatabaseLog } from './database-log.ts';
import type { DatabaseTable } from './database-table.ts';
import { TableUnusable } from './table-unusable.ts';

/** Whether statements can be expected to succeed now, and if not, why not. */
export type Readiness = { readonly ready: true } | { readonly ready: false; readonly reason: string };

const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 2_000;

/**
 * Knows how the database is, by what statements meet, and asks it by itself for as long as it is not well: after 0.1 s,
 * 0.2 s, … up to every 2 s. So a service that gets no requests while it is not ready becomes ready again.
 */
export class DatabaseWatch {
  readonly #dependency: string;
  readonly #table: DatabaseTable;
  readonly #log: DatabaseLog;
  readonly #closing = new AbortController();
  #prepared = false;
  #asking = false;
  /** Why the database cannot be used; undefined where it can. */
  #fault: unknown;
  #logged: string | undefined;

  /** @param dependency which one it is for, in an operator's word. */
  constructor(dependency: string, table: DatabaseTable, log: DatabaseLog) {
    this.#dependency = dependency;
    this.#table = table;
    this.#log = log;
  }

  /** The first try. Throws TableUnusable; any other fault may pass by itself and is waited out. */
  async start(): Promise<void> {
    try {
      await this.#ask();
    } catch (fault) {
      if (fault instanceof TableUnusable) throw fault;
      this.failed(fault);
    }
  }

  readiness(): Readiness {
    return this.#fault === undefined ? { ready: true } : { ready: false, reason: reasonOf(this.#fault) };
  }

  /** Throws DependencyUnavailable as long as the table was never seen to be there. */
  assertPrepared(): void {
    if (!this.#prepared) throw new DependencyUnavailable(this.#dependency, this.#fault);
  }

  /** To be told of every fault that a statement meets. */
  failed(fault: unknown): void {
    this.#note(fault);
    void this.#askUntilWell(FIRST_RETRY_MS);
  }

  /** To be told of every connection that broke while it was idle: maybe it alone, maybe the server. */
  suspected(): void {
    void this.#askUntilWell(0);
  }

  /** To be told of every statement that gets an answer. */
  succeeded(): void {
    if (this.#fault === undefined) return;
    this.#fault = undefined;
    this.#logged = undefined;
    this.#log({ event: 'database_available' });
  }

  close(): void {
    this.#closing.abort();
  }

  /** Makes the table at most once: one that is gone later is somebody's work on it, not ours to repeat. */
  async #ask(): Promise<void> {
    if (this.#prepared) return this.#table.check();
    const outcome = await this.#table.prepare();
    this.#prepared = true;
    if (outcome === 'created') this.#log({ event: 'table_created' });
  }

  async #askUntilWell(firstDelayMs: number): Promise<void> {
    if (this.#asking) return;
    this.#asking = true;
    const { signal } = this.#closing;
    let delayMs = firstDelayMs;
    do {
      await delay(delayMs, undefined, { signal }).catch(() => {});
      if (signal.aborted) return;
      delayMs = Math.min(Math.max(delayMs * 2, FIRST_RETRY_MS), LAST_RETRY_MS);
      await this.#ask().then(
        () => this.succeeded(),
        (fault) => this.#note(fault),
      );
    } while (this.#fault !== undefined);
    this.#asking = false;
  }

  /** Logs one line for one state: another fault of the same kind is no news. */
  #note(fault: unknown): void {
    if (this.#closing.signal.aborted) return;
    this.#fault = loggableFault(fault);
    const state = fault instanceof TableUnusable ? fault.message : 'unavailable';
    if (state === this.#logged) return;
    this.#logged = state;
    if (fault instanceof TableUnusable) this.#log({ event: 'table_unusable', problem: fault.message });
    else this.#log({ event: 'database_unavailable', fault: this.#fault });
  }
}

/** For an operator: the table's problem, or the fault's code; never a library's message. */
function reasonOf(fault: unknown): string {
  if (fault instanceof TableUnusable) return fault.message;
  const code = fault instanceof Error && 'code' in fault ? fault.code : undefined;
  return typeof code === 'string' ? `database unavailable (${code})` : 'database unavailable';
}
