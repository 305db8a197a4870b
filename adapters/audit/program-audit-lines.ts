import { writeSync } from 'node:fs';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import { codeOf } from './audit-file.ts';
import type { AuditLines } from './json-audit-log.ts';

/** How often, and how long each time, a program waits for the slow reader of a pipe, in milliseconds. */
const ATTEMPTS = 100;
const READER_RETRY_MS = 10;

export interface ProgramAuditLinesOptions {
  /** Opens the file, or standard error; called for the first line. */
  readonly open: () => number;
  /** Whether a change may be made only if its line is written. */
  readonly need: 'required' | 'optional';
  /** Called for each line that was not written, with the reason, if lines are optional. */
  readonly onLost: (reason: string) => void;
}

/** The audit lines of a program that runs once: each is written when it is made, and read-only commands open nothing. */
export class ProgramAuditLines implements AuditLines {
  readonly #options: ProgramAuditLinesOptions;
  #descriptor: number | undefined;

  constructor(options: ProgramAuditLinesOptions) {
    this.#options = options;
  }

  write(line: string, need: 'before_answer' | 'soon'): void {
    try {
      this.#descriptor ??= this.#options.open();
      append(this.#descriptor, line);
    } catch (fault) {
      if (this.#options.need === 'required' && need === 'before_answer') {
        throw new DependencyUnavailable('audit log', fault);
      }
      this.#options.onLost(fault instanceof Error ? fault.message : codeOf(fault));
    }
  }
}

function append(descriptor: number, line: string): void {
  let rest = Buffer.from(line);
  for (let attempt = 1; rest.length > 0; attempt += 1) {
    try {
      rest = rest.subarray(writeSync(descriptor, rest));
    } catch (fault) {
      if (codeOf(fault) !== 'EAGAIN' || attempt >= ATTEMPTS) throw fault;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, READER_RETRY_MS);
    }
  }
}
