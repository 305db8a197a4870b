import { PeriodicTask } from '../../application/periodic-task.ts';
import type { Readiness } from '../../application/ports/health-check.ts';
import type { Problem } from '../../domain/problem.ts';
import type { TableChange } from './database-log.ts';
import { loggableFault, SQLSTATE, TableUnusable } from './fault.ts';
import { problemOfFault } from './fault-problem.ts';

/** Asks the database whether a table can be used. Throws TableUnusable if not, and the driver's errors. */
export interface TableProbe {
  /** Creates the table if it is missing, and says whether it has. */
  prepare(): Promise<boolean>;
  check(): Promise<void>;
  /** What is probably a mistake, although the table can be used. */
  note?(): Promise<Problem | undefined>;
}

/** Milliseconds between two probes. */
const INTERVAL_MS = 1_000;

/** How long every probe has to find a fault before it counts, in milliseconds. */
const LASTING_MS = 3_000;

/**
 * The state of one table, as a probe in each second finds it. A fault counts when every probe of three seconds has
 * found one, until a probe succeeds. The log has a line for each change.
 */
export class TableHealth {
  /** Whether the table has been found; false until the database has answered once. */
  isThere = false;
  /** Why the table cannot be used; undefined if it can, or if the fault may pass. */
  fault: unknown;
  readonly #probe: TableProbe;
  readonly #log: (change: TableChange) => void;
  readonly #now: () => number;
  readonly #probing = new PeriodicTask(async () => {
    await this.probe();
    return INTERVAL_MS;
  });
  #note: Problem | undefined;
  /** When the first probe began of those in a row that failed. A table that was never usable does not have to wait. */
  #failingSince: number | undefined = -Infinity;
  /** What the log has last said is wrong. */
  #logged: string | undefined;

  /** @param now milliseconds of a monotonic clock. */
  constructor(probe: TableProbe, log: (change: TableChange) => void, now = () => performance.now()) {
    this.#probe = probe;
    this.#log = (change) => this.#probing.isClosed || log(change);
    this.#now = now;
  }

  /** The first probe. Throws TableUnusable if the service cannot start; after any other fault, probing continues. */
  async start(): Promise<void> {
    await this.#probing.start();
    if (this.fault instanceof TableUnusable) throw this.fault;
  }

  readiness(): Readiness {
    if (this.fault !== undefined) return { ready: false, reason: reasonOf(this.fault) };
    return this.#note === undefined ? { ready: true } : { ready: true, note: this.#note };
  }

  close(): void {
    this.#probing.close();
  }

  /** Probes once. The table is created at most once: if it disappears later, an operator removed it on purpose. */
  async probe(): Promise<void> {
    const begin = this.#now();
    try {
      if (!this.isThere && (await this.#probe.prepare())) this.#log({ event: 'table_created' });
      this.isThere = true;
      await this.#probe.check();
      this.#note = await this.#probe.note?.().catch(() => undefined);
    } catch (fault) {
      this.#failed(fault, begin);
      return;
    }
    this.#failingSince = undefined;
    if (this.fault !== undefined) this.#log({ event: 'database_available' });
    this.fault = this.#logged = undefined;
  }

  #failed(fault: unknown, begin: number): void {
    this.#failingSince ??= begin;
    if (this.fault === undefined && this.#now() - this.#failingSince < LASTING_MS) return;
    this.fault = loggableFault(fault);
    const state = fault instanceof TableUnusable ? fault.message : 'unavailable';
    if (state === this.#logged) return;
    this.#logged = state;
    if (fault instanceof TableUnusable) this.#log({ event: 'table_unusable', problem: fault.message });
    else this.#log({ event: 'database_unavailable', fix: problemOfFault(this.fault).fix, fault: this.fault });
  }
}

/** What the fault means, for an operator; never a library's message. */
function reasonOf(fault: unknown): Problem {
  const problem = problemOfFault(fault);
  if (fault instanceof TableUnusable || SQLSTATE.readOnly.test(problem.code)) return problem;
  return { ...problem, text: `database unavailable: ${problem.text}` };
}
