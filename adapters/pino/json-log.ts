import { types } from 'node:util';
import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';

/** What the kernel writes to a pipe in one piece, so lines of several processes do not mix (POSIX: PIPE_BUF). */
const PIPE_BUF_BYTES = 4_096;

/**
 * The process's log: one JSON object per line, with `level` and an ISO 8601 `time`, on standard output by default.
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
 * An error as the log shows it: name, message and code of the error and its causes. Other members that libraries add are
 * left out. The stack is logged only for unforeseen errors: an unavailable dependency can cause thousands per second.
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
