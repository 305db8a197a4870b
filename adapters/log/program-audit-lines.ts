import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import type { AuditLines } from './json-audit-log.ts';
import { codeOf, writeWhole } from './write-whole.ts';

/** How long a program waits for the slow reader of a pipe, in milliseconds. */
const READER_WAIT_MS = 1_000;

interface ProgramAuditLinesOptions {
  /** Opens the file, or standard error; called for the first line. */
  readonly open: () => number;
  /** Whether a change may be made only if its line is written. */
  readonly isRequired: boolean;
  /** Called for each line that was not written, with the reason, if lines are optional. */
  readonly onLost: (reason: string) => void;
}

/** The audit lines of a program that runs once: each is written when it is made, and read-only commands open nothing. */
export function programAuditLines({ open, isRequired, onLost }: ProgramAuditLinesOptions): AuditLines {
  let descriptor: number | undefined;
  return {
    write(line, need) {
      try {
        descriptor ??= open();
        writeWhole(descriptor, Buffer.from(line), performance.now() + READER_WAIT_MS);
      } catch (fault) {
        if (isRequired && need === 'before_answer') throw new DependencyUnavailable('audit log', fault);
        onLost(fault instanceof Error ? fault.message : codeOf(fault));
      }
    },
  };
}
