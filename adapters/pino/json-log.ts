import { types } from 'node:util';
import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';

/** What the kernel writes to a pipe in one piece, so that the lines of several processes do not mix (POSIX: PIPE_BUF). */
const PIPE_BUF_BYTES = 4_096;

/**
 * The process's log: one JSON object a line, with `level` and an ISO 8601 `time`, to standard output unless told otherwise.
 * @param base members of every line.
 */
export function createJsonLog(destination?: DestinationStream, base: Readonly<Record<string, unknown>> = {}): Logger {
  return pino(
    {
      base,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (level) => ({ level }) },
      serializers: { fault: describeFault },
    },
    destination ?? pino.destination({ fd: 1, sync: false, minLength: 0, maxWrite: PIPE_BUF_BYTES }),
  );
}

/**
 * An error as the log shows it: name, message and code of it and of its causes; none of the other members that libraries
 * hang on errors. Where it stood in the code is told of what is unforeseen, not of a dependency that is out of reach,
 * which under load is told a thousand times a second.
 */
function describeFault(fault: unknown): unknown {
  return describe(fault, !(fault instanceof DependencyUnavailable));
}

function describe(fault: unknown, stacks: boolean): unknown {
  if (!types.isNativeError(fault)) return { name: typeof fault };
  const { name, message, stack, cause } = fault;
  return {
    name,
    message,
    code: 'code' in fault ? fault.code : undefined,
    stack: stacks ? stack : undefined,
    cause: cause === undefined ? undefined : describe(cause, stacks),
  };
}
