import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino';

/** The process's log: one JSON object a line, with `level` and an ISO 8601 `time`, to standard output unless told otherwise. */
export function createJsonLog(destination?: DestinationStream): Logger {
  return pino(
    {
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (level) => ({ level }) },
      serializers: { fault: describeFault },
    },
    destination ?? pino.destination({ fd: 1, sync: false, minLength: 0 }),
  );
}

/** An error as the log shows it: name, message, code and stack of it and of its causes; none of the other members that libraries hang on errors. */
function describeFault(fault: unknown): unknown {
  if (!(fault instanceof Error)) return { name: typeof fault };
  const { name, message, stack, cause } = fault;
  const code = 'code' in fault ? fault.code : undefined;
  return { name, message, code, stack, ...(cause !== undefined && { cause: describeFault(cause) }) };
}
