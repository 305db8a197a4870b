import type { BrokenRegistration } from '../../application/client-lookup.ts';
import type { Readiness } from '../../application/ports/health-check.ts';
import type { Problem } from '../../domain/problem.ts';
import { SQLSTATE, TableUnusable } from './fault.ts';
import { problemOfFault } from './fault-problem.ts';
import { type TableChange, TableHealth, type TableProbe } from './table-health.ts';

/** A schema of the search path in which roles that nobody has to trust can put tables in the place of ours. */
export interface SharedSchema {
  readonly schema: string;
  /** The roles, as in a statement, with commas; `public` means every role. */
  readonly roles: string;
  /** What they may do with it, or with which of our tables. */
  readonly by: 'create' | 'ownership' | 'create on the database' | `ownership of ${string}`;
}

/** What an operator needs to know about the database, apart from requests: changes of state, and rows that need repair. */
export type DatabaseLine =
  | TableChange
  | ({ readonly event: 'schema_shared' } & SharedSchema)
  | { readonly event: 'search_path_unsafe'; readonly search_path: string }
  | BrokenRegistration;

/** Takes lines of the log. Never throws. */
export type DatabaseLog = (line: DatabaseLine) => void;

/** At least so many milliseconds are between two probes, however many statements fail. */
const PROBES_APART_MS = 250;

/** The state of the table that a part of the service uses, from probes: every 2 s, and at once when a statement fails. */
export class DatabaseHealth {
  readonly table: TableHealth;
  #closed = false;
  #probing = false;
  #timer: NodeJS.Timeout | undefined;
  #probedAt = -Infinity;

  constructor(probe: TableProbe, log: DatabaseLog) {
    this.table = new TableHealth(probe, (change) => this.#closed || log(change));
  }

  /** The first probe. Throws TableUnusable if the service cannot start; after any other fault, probing continues. */
  async start(): Promise<void> {
    await this.#probeOnce();
    if (this.table.fault instanceof TableUnusable) throw this.table.fault;
  }

  readiness(): Readiness {
    const { fault, note } = this.table;
    if (fault !== undefined) return { ready: false, reason: reasonOf(fault) };
    return note === undefined ? { ready: true } : { ready: true, note };
  }

  /** Call when a statement failed, or an idle connection broke: perhaps it is only this one. */
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
    const earliestMs = this.#probedAt + PROBES_APART_MS - performance.now();
    this.#timer = setTimeout(() => void this.#probeOnce(), Math.max(delayMs, earliestMs)).unref();
  }

  async #probeOnce(): Promise<void> {
    this.#probing = true;
    await this.table.probe();
    this.#probing = false;
    this.#probedAt = performance.now();
    this.#schedule(this.table.intervalMs);
  }
}

/** What the fault means, for an operator; never a library's message. */
function reasonOf(fault: unknown): Problem {
  const problem = problemOfFault(fault);
  if (fault instanceof TableUnusable || SQLSTATE.readOnly.test(problem.code)) return problem;
  return { ...problem, text: `database unavailable: ${problem.text}` };
}
