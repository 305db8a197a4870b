import type { BrokenRegistration } from '../../application/client-lookup.ts';
import type { Readiness } from '../../application/ports/health-check.ts';
import type { Problem } from '../../domain/problem.ts';
import { SQLSTATE, TableUnusable } from './fault.ts';
import { problemOfFault } from './fault-problem.ts';
import type { ShadowedTable } from './search-path.ts';
import { type TableChange, TableHealth, type TableProbe } from './table-health.ts';

/** A schema of the search path in which roles that nobody has to trust can put tables in the place of ours. */
export interface SharedSchema {
  readonly schema: string;
  /** The roles, as in a statement, with commas; `public` stands for every role. */
  readonly roles: string;
  /** What they may do with it, or with which of our tables. */
  readonly by: 'create' | 'ownership' | 'create on the database' | `ownership of ${string}`;
}

/** What an operator needs to know about the database, apart from requests: changes of state, and rows that need repair. */
export type DatabaseLine =
  | TableChange
  | ({ readonly event: 'schema_shared' } & SharedSchema)
  | { readonly event: 'search_path_unsafe'; readonly search_path: string }
  | ({ readonly event: 'table_shadowed' } & ShadowedTable)
  | BrokenRegistration;

/** Takes lines of the log. Never throws. */
export type DatabaseLog = (line: DatabaseLine) => void;

/** At least so many milliseconds are between two rounds of probes, however many statements fail. */
const ROUNDS_APART_MS = 250;

/**
 * The state of the tables that a part of the service uses, from probes: every 2 s, and at once when a statement fails. Only
 * the first table decides about readiness, since only some requests need the others: their faults are notes. All of them
 * are looked at while the first one is well; otherwise they would find the same fault.
 */
export class DatabaseHealth {
  readonly #tables: readonly { readonly probe: TableProbe; readonly health: TableHealth }[];
  #closed = false;
  #probing = false;
  #timer: NodeJS.Timeout | undefined;
  #probedAt = -Infinity;

  constructor(probes: readonly TableProbe[], log: DatabaseLog) {
    this.#tables = probes.map((probe, index) => {
      const named = index === 0 ? {} : { table: probe.table };
      const logChange = (change: TableChange) => this.#closed || log({ ...change, ...named });
      return { probe, health: new TableHealth(probe, logChange) };
    });
  }

  /** The first probes. Throws TableUnusable if the service cannot start; after any other fault, probing continues. */
  async start(): Promise<void> {
    await this.#probeOnce();
    for (const { health, probe } of this.#tables) {
      if (health.fault instanceof TableUnusable && !probe.isOptional) throw health.fault;
    }
  }

  /** Why no statement can succeed; undefined if some can. */
  get fault(): unknown {
    return this.#tables[0]?.health.fault;
  }

  of(name: string): TableHealth {
    const table = this.#tables.find(({ probe }) => probe.table === name);
    if (table === undefined) throw new Error(`the table ${name} is not probed`);
    return table.health;
  }

  readiness(): Readiness {
    const [first, ...others] = this.#tables;
    if (first?.health.fault !== undefined) return { ready: false, reason: reasonOf(first.health.fault) };
    const ofOthers = others.flatMap(({ probe: { table }, health: { fault } }) => {
      const problem = reasonOf(fault);
      return fault === undefined ? [] : { ...problem, text: `${table}: ${problem.text}` };
    });
    const [note, ...more] = [first?.health.note ?? [], ofOthers].flat();
    if (note === undefined) return { ready: true };
    return { ready: true, note: { ...note, text: [note, ...more].map(({ text }) => text).join('; ') } };
  }

  /** Call when a statement failed, or an idle connection broke: perhaps it is only this one. */
  suspected(): void {
    this.#schedule(0);
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  /** Replaces the time of the next probes, unless they are running. */
  #schedule(delayMs: number): void {
    if (this.#closed || this.#probing) return;
    clearTimeout(this.#timer);
    const earliestMs = this.#probedAt + ROUNDS_APART_MS - performance.now();
    this.#timer = setTimeout(() => void this.#probeOnce(), Math.max(delayMs, earliestMs)).unref();
  }

  async #probeOnce(): Promise<void> {
    this.#probing = true;
    let nextMs = Infinity;
    for (const { health } of this.#tables) {
      await health.probe();
      nextMs = Math.min(nextMs, health.intervalMs);
      if (!this.#tables[0]?.health.isWell) break;
    }
    this.#probing = false;
    this.#probedAt = performance.now();
    this.#schedule(nextMs);
  }
}

/** What the fault means, for an operator; never a library's message. */
function reasonOf(fault: unknown): Problem {
  const problem = problemOfFault(fault);
  if (fault instanceof TableUnusable || SQLSTATE.readOnly.test(problem.code)) return problem;
  return { ...problem, text: `database unavailable: ${problem.text}` };
}
