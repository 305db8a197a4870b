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

/** Between probes of a healthy database: a lock that no request has met yet is noticed within this time and a lock timeout. */
const HEALTHY_INTERVAL_MS = 2_000;
const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 2_000;
/** A database is healthy again after so many successful probes in a row, at this interval, with no fault between them. */
const CONFIRMATIONS = 3;
const CONFIRMATION_INTERVAL_MS = 500;

/**
 * The state of the database, as statements and probes find it. The first fault of either makes it unavailable. It is then
 * probed after 0.1 s, 0.2 s, … and at last every 2 s, and is available again after three successful probes in a row. So
 * a state that lasts is reported once, although single statements may succeed in between. A healthy database is probed
 * every 2 s, so that a service without requests reports a fault too.
 *
 * A statement that succeeds reads `prepared` and calls nothing here.
 */
export class DatabaseHealth {
  /** Whether the table has been found or created since the start. */
  prepared = false;
  /** Why the database cannot be used; undefined if it can. */
  fault: unknown;
  /** What the database is for, in words for an operator. */
  readonly name: string;
  readonly #probe: TableProbe;
  /** What is checked beyond the probe. */
  readonly #checks: (() => Promise<void>)[] = [];
  readonly #log: DatabaseLog;
  #closed = false;
  #probing = false;
  #timer: NodeJS.Timeout | undefined;
  #retryMs = FIRST_RETRY_MS;
  #confirmations = 0;
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
      this.#note(fault);
    }
    this.#schedule(this.fault === undefined ? HEALTHY_INTERVAL_MS : FIRST_RETRY_MS);
  }

  /** Checks this too from now on: something that the service uses since it is there. */
  include(check: () => Promise<void>): void {
    this.#checks.push(check);
  }

  readiness(): Readiness {
    return this.fault === undefined ? { ready: true } : { ready: false, reason: reasonOf(this.fault) };
  }

  /** Call with every fault of a statement. While a fault is known already, only a probe replaces it. */
  failed(fault: unknown): void {
    this.#confirmations = 0;
    if (this.fault !== undefined) return;
    this.#note(fault);
    this.#schedule(FIRST_RETRY_MS);
  }

  /** Call when an idle connection breaks: perhaps only this one, perhaps the server. */
  suspected(): void {
    this.#schedule(0);
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  /** Replaces the time of the next probe, unless one is running. */
  #schedule(delayMs: number): void {
    if (this.#closed || this.#probing) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#probeOnce(), delayMs).unref();
  }

  async #probeOnce(): Promise<void> {
    this.#probing = true;
    const nextMs = await this.#ask().then(
      () => this.#passed(),
      (fault) => this.#note(fault),
    );
    this.#probing = false;
    this.#schedule(nextMs);
  }

  /** Creates the table at most once: if it disappears later, an operator removed it on purpose. */
  async #ask(): Promise<void> {
    if (this.prepared) {
      await this.#probe.check();
      for (const check of this.#checks) await check();
      return;
    }
    const outcome = await this.#probe.prepare();
    this.prepared = true;
    if (outcome === 'created') this.#log({ event: 'table_created' });
  }

  /** The time until the next probe, in milliseconds. */
  #passed(): number {
    if (this.fault === undefined) return HEALTHY_INTERVAL_MS;
    this.#retryMs = FIRST_RETRY_MS;
    this.#confirmations += 1;
    if (this.#confirmations < CONFIRMATIONS) return CONFIRMATION_INTERVAL_MS;
    this.fault = undefined;
    this.#logged = undefined;
    if (!this.#closed) this.#log({ event: 'database_available' });
    return HEALTHY_INTERVAL_MS;
  }

  /** Logs one line for each state: another fault of the same kind is not logged. The result is the time until the next probe. */
  #note(fault: unknown): number {
    if (this.#closed) return 0;
    if (this.fault === undefined) this.#retryMs = FIRST_RETRY_MS;
    const waitMs = this.#retryMs;
    this.#retryMs = Math.min(waitMs * 2, LAST_RETRY_MS);
    this.#confirmations = 0;
    this.fault = loggableFault(fault);
    const state = fault instanceof TableUnusable ? fault.message : 'unavailable';
    if (state === this.#logged) return waitMs;
    this.#logged = state;
    if (fault instanceof TableUnusable) this.#log({ event: 'table_unusable', problem: fault.message });
    else this.#log({ event: 'database_unavailable', fault: this.fault });
    return waitMs;
  }
}

/** The table's problem or the fault's code, for an operator; never a library's message. */
function reasonOf(fault: unknown): string {
  if (fault instanceof TableUnusable) return fault.message;
  const code = fault instanceof Error && 'code' in fault ? fault.code : undefined;
  return typeof code === 'string' ? `database unavailable (${code})` : 'database unavailable';
}
