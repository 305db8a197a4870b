import type { TerminalStreams } from '../../adapters/cli/terminal.ts';
import { programChangeLog } from '../../adapters/log/audit-output.ts';
import { currentOperator, RandomIdGenerator, SystemClock } from '../../adapters/system/system.ts';
import { writeForPeople } from '../../adapters/system/write-for-people.ts';
import type { ChangeLog } from '../../application/ports/change-log.ts';
import type { RecordChangesParts } from '../../application/record-changes.ts';
import { inWords } from '../../domain/problem.ts';
import { failure, type Result, success } from '../../domain/result.ts';
import { type Environment, readEnvironment } from '../settings/read-environment.ts';
import { CORE_GROUPS } from '../settings/settings.ts';

/** The streams of a program, such as those of the process. */
export interface ProgramStreams extends TerminalStreams {
  /** Audit lines without a file are written to its descriptor. */
  readonly stderr: TerminalStreams['stderr'] & { readonly fd: number };
}

/** Nobody collects what is written to a terminal: what was done, and how to keep a record of it. */
function changeLogForPeople(stderr: ProgramStreams['stderr']): ChangeLog {
  let last: string | undefined;
  return {
    record({ change_id, event }) {
      const isMore = last === change_id && event !== 'change_unconfirmed';
      last = change_id;
      if (isMore) return;
      writeForPeople(
        stderr,
        `Change ${change_id} (${event}) is not recorded: AUDIT_FILE names a file that keeps such records.\n`,
      );
    },
  };
}

/**
 * What a program needs to record the changes that it makes, to AUDIT_FILE or to standard error: standard output has its
 * output. A terminal gets less.
 */
export function openProgramAudit(
  environment: Environment,
  stderr: ProgramStreams['stderr'],
): Result<RecordChangesParts, string> {
  const read = readEnvironment(CORE_GROUPS.audit, ['AUDIT_'], environment);
  if (!read.ok) return failure(read.problem.map(inWords).join('\n'));
  const { AUDIT_FILE: path, AUDIT_REQUIRED: isRequired } = read.value;
  const isForPeople = path === undefined && !isRequired && stderr.isTTY === true;
  const clock = new SystemClock();
  const changeLog = isForPeople
    ? changeLogForPeople(stderr)
    : programChangeLog({
        path,
        standardError: stderr.fd,
        isRequired,
        base: currentOperator(),
        clock,
        onLost: (reason) => writeForPeople(stderr, `The change could not be recorded in the audit log: ${reason}\n`),
      });
  return success({ changeLog, clock, ids: new RandomIdGenerator() });
}
