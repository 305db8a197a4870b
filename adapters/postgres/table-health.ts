import type { Readiness } from '../../application/ports/health-check.ts';
import type { Problem } from '../../domain/problem.ts';
import type { TableChange } from './database-log.ts';
import { loggableFault, SQLSTATE, TableUnusable } from './fault.ts';
import { problemOfFault } from './fault-problem.ts';

/** Asks the database whether a table can be used. Throws TableUnusable if not, and the driver's errors. */
export interface TableProbe {
  /** Creates the table if it is missing, and says whether it has. */
  prepare(): Promise<boolean>;
  /** @param isSuspected a fault is known: what only a real write finds out, such as a full disk, is worth one that is undone. */
  check(isSuspected?: boolean): Promise<void>;
  /** What is probably a mistake, although the table can be used. */
  note?(): Promise<Problem | undefined>;
}

/** Milliseconds between probes of a table that is well, of one that may have changed, and of one whose fault has lasted. */
const WELL_INTERVAL_MS = 2_000;
const UNSETTLED_INTERVAL_MS = 250;
const FAULT_INTERVAL_MS = 1_000;

/** At least so many milliseconds are between two probes, however many statements fail. */
const PROBES_APART_MS = 250;

/** How long every probe has to find a fault before it counts, and none before the log calls the table available. */
const LASTING_MS = 3_000;

/** A table can be used again after so many successful probes in a row. */
const CONFIRMATIONS = 3;

/**
 * The state of one table, as probes find it: every 2 s, and at once when a statement fails. A fault counts when it has lasted for
 * three seconds, and no longer after three successful probes in half a second. The log has a line when a state has lasted: a table
 * that fails for moments, or works for moments, causes none.
 */
export class TableHealth {
  /** Whether the table has been found; false until the database has answered once. */
  isThere = false;
  /** Why the table cannot be used; undefined if it can, or if the fault may pass. */
  fault: unknown;
  readonly #probe: TableProbe;
  readonly #log: (change: TableChange) => void;
  readonly #now: () => number;
  #note: Problem | undefined;
  #state: 'new' | 'started' | 'closed' = 'new';
  #isProbing = false;
  #probedAt = -Infinity;
  #timer: NodeJS.Timeout | undefined;
  /** Set when a statement fails, until the next probe begins. */
  #isSuspected = false;
  /** When the first probe began of those in a row that failed. A table that was never usable does not have to wait. */
  #failingSince: number | undefined = -Infinity;
  /** When the first probe ended of those in a row that succeeded, and their number. */
  #wellSince = 0;
  #successes = 0;
  /** What the log has last said is wrong. */
  #logged: string | undefined;

  /** @param now milliseconds of a monotonic clock. */
  constructor(probe: TableProbe, log: (change: TableChange) => void, now = () => performance.now()) {
    this.#probe = probe;
    this.#log = (change) => this.#state === 'closed' || log(change);
    this.#now = now;
  }

  /** The first probe. Throws TableUnusable if the service cannot start; after any other fault, probing continues. */
  async start(): Promise<void> {
    this.#state = 'started';
    await this.#probeAndGoOn();
    if (this.fault instanceof TableUnusable) throw this.fault;
  }

  readiness(): Readiness {
    if (this.fault !== undefined) return { ready: false, reason: reasonOf(this.fault) };
    return this.#note === undefined ? { ready: true } : { ready: true, note: this.#note };
  }

  /** Call when a statement failed, or an idle connection broke: perhaps it is only this one. */
  suspected(): void {
    this.#isSuspected = true;
    this.#schedule();
  }

  close(): void {
    this.#state = 'closed';
    clearTimeout(this.#timer);
  }

  /** Milliseconds until the next probe. */
  get intervalMs(): number {
    if (this.#isSuspected) return 0;
    const isWell = this.#failingSince === undefined;
    if (!isWell && this.fault !== undefined) return FAULT_INTERVAL_MS;
    return isWell && this.#logged === undefined && this.fault === undefined ? WELL_INTERVAL_MS : UNSETTLED_INTERVAL_MS;
  }

  /** Probes once. The table is created at most once: if it disappears later, an operator removed it on purpose. */
  async probe(): Promise<void> {
    const begin = this.#now();
    const isSuspected = this.#isSuspected || this.#failingSince !== undefined || this.fault !== undefined;
    this.#isSuspected = false;
    try {
      if (!this.isThere && (await this.#probe.prepare())) this.#log({ event: 'table_created' });
      this.isThere = true;
      await this.#probe.check(isSuspected);
      this.#note = await this.#probe.note?.().catch(() => undefined);
      this.#succeeded();
    } catch (fault) {
      this.#failed(fault, begin);
    }
  }

  async #probeAndGoOn(): Promise<void> {
    this.#isProbing = true;
    await this.probe();
    this.#isProbing = false;
    this.#probedAt = this.#now();
    this.#schedule();
  }

  /** Replaces the time of the next probe, unless one is running. */
  #schedule(): void {
    if (this.#state !== 'started' || this.#isProbing) return;
    clearTimeout(this.#timer);
    const earliestMs = this.#probedAt + PROBES_APART_MS - this.#now();
    this.#timer = setTimeout(() => void this.#probeAndGoOn(), Math.max(this.intervalMs, earliestMs)).unref();
  }

  #succeeded(): void {
    if (this.#successes === 0) this.#wellSince = this.#now();
    this.#failingSince = undefined;
    this.#successes += 1;
    if (this.#successes >= CONFIRMATIONS) this.fault = undefined;
    if (this.#logged === undefined || this.fault !== undefined || this.#now() - this.#wellSince < LASTING_MS) return;
    this.#logged = undefined;
    this.#log({ event: 'database_available' });
  }

  #failed(fault: unknown, begin: number): void {
    this.#successes = 0;
    this.#failingSince ??= begin;
    if (this.fault === undefined && this.#now() - this.#failingSince < LASTING_MS) return;
    this.fault = loggableFault(fault);
    const state = fault instanceof TableUnusable ? fault.message : 'unavailable';
    if (state === this.#logged) return;
    this.#logged = state;
    if (fault instanceof TableUnusable) this.#log({ event: 'table_unusable', problem: fault.message });
    else this.#log({ event: 'database_unavailable', fault: this.fault });
  }
}

/** What the fault means, for an operator; never a library's message. */
function reasonOf(fault: unknown): Problem {
  const problem = problemOfFault(fault);
  if (fault instanceof TableUnusable || SQLSTATE.readOnly.test(problem.code)) return problem;
  return { ...problem, text: `database unavailable: ${problem.text}` };
}
