import { setTimeout as delay } from 'node:timers/promises';
import type { Readiness } from '../../application/ports/health-check.ts';
import { loggableFault, TableUnusable } from './fault.ts';

/** What an operator needs to know about the database, apart from requests: changes of state, and rows that need repair. */
export type DatabaseLine =
  | { readonly event: 'table_created' }
  | { readonly event: 'table_unusable'; readonly problem: string }
  | { readonly event: 'database_unavailable'; readonly fault: unknown }
  | { readonly event: 'database_available' }
  | {
      readonly event: 'registration_broken';
      readonly client_id: string;
      readonly field: string;
      readonly rule: string;
    };

/** Takes lines of the log. Never throws. */
export type DatabaseLog = (line: DatabaseLine) => void;

/** Asks the database whether its table can be used. Throws TableUnusable if not, and the driver's errors. */
export interface TableProbe {
  /** Creates the table if it is missing, and checks it otherwise. */
  prepare(): Promise<'created' | 'found'>;
  check(): Promise<void>;
}

const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 2_000;

/**
 * The state of the database as statements find it. While the database cannot be used, it is probed after 0.1 s, 0.2 s, …
 * and at last every 2 s. So a service that gets no requests because it is not ready becomes ready again.
 *
 * A statement that succeeds on a healthy database reads the two fields and calls nothing here.
 */
export class DatabaseHealth {
  /** Whether the table has been found or created since the start. */
  prepared = false;
  /** Why the database cannot be used; undefined if it can. */
  fault: unknown;
  /** What the database is for, in words for an operator. */
  readonly name: string;
  readonly #probe: TableProbe;
  readonly #log: DatabaseLog;
  readonly #closing = new AbortController();
  #probing = false;
  #logged: string | undefined;

  constructor(name: string, probe: TableProbe, log: DatabaseLog) {
    this.name = name;
    this.#probe = probe;
    this.#log = log;
  }

  /** The first probe. Throws TableUnusable; after any other fault, which may be temporary, probing continues. */
  async start(): Promise<void> {
    try {
      await this.#ask();
    } catch (fault) {
      if (fault instanceof TableUnusable) throw fault;
      this.failed(fault);
    }
  }

  readiness(): Readiness {
    return this.fault === undefined ? { ready: true } : { ready: false, reason: reasonOf(this.fault) };
  }

  /** Call with every fault of a statement. */
  failed(fault: unknown): void {
    this.#note(fault);
    void this.#probeUntilHealthy(FIRST_RETRY_MS);
  }

  /** Call when an idle connection breaks: perhaps only this one, perhaps the server. */
  suspected(): void {
    void this.#probeUntilHealthy(0);
  }

  /** Call when a statement succeeds while there is a fault. */
  recovered(): void {
    this.fault = undefined;
    this.#logged = undefined;
    this.#log({ event: 'database_available' });
  }

  close(): void {
    this.#closing.abort();
  }

  /** Creates the table at most once: if it disappears later, an operator removed it on purpose. */
  async #ask(): Promise<void> {
    if (this.prepared) return this.#probe.check();
    const outcome = await this.#probe.prepare();
    this.prepared = true;
    if (outcome === 'created') this.#log({ event: 'table_created' });
  }

  async #probeUntilHealthy(firstDelayMs: number): Promise<void> {
    if (this.#probing) return;
    this.#probing = true;
    const { signal } = this.#closing;
    let delayMs = firstDelayMs;
    do {
      await delay(delayMs, undefined, { signal }).catch(() => {});
      if (signal.aborted) return;
      delayMs = Math.min(Math.max(delayMs * 2, FIRST_RETRY_MS), LAST_RETRY_MS);
      await this.#ask().then(
        () => this.fault !== undefined && this.recovered(),
        (fault) => this.#note(fault),
      );
    } while (this.fault !== undefined);
    this.#probing = false;
  }

  /** Logs one line for each state: another fault of the same kind is not logged. */
  #note(fault: unknown): void {
    if (this.#closing.signal.aborted) return;
    this.fault = loggableFault(fault);
    const state = fault instanceof TableUnusable ? fault.message : 'unavailable';
    if (state === this.#logged) return;
    this.#logged = state;
    if (fault instanceof TableUnusable) this.#log({ event: 'table_unusable', problem: fault.message });
    else this.#log({ event: 'database_unavailable', fault: this.fault });
  }
}

/** The table's problem or the fault's code, for an operator; never a library's message. */
function reasonOf(fault: unknown): string {
  if (fault instanceof TableUnusable) return fault.message;
  const code = fault instanceof Error && 'code' in fault ? fault.code : undefined;
  return typeof code === 'string' ? `database unavailable (${code})` : 'database unavailable';
}
