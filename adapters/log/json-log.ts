import { constants, fstatSync, openSync } from 'node:fs';
import { types } from 'node:util';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import { printableJsonText } from '../../domain/unprintable.ts';
import { LineWriter } from './line-writer.ts';

/** The most of an error in one line, in characters, so that the line stays whole. Each cause gets half the stack. */
const MESSAGE_MAX = 250;
const STACK_MAX = 1_000;
const CAUSES_MAX = 3;

/** A log of the process. Fields are values that JSON has; then no method throws. */
export interface JsonLog {
  info(fields: object): void;
  warn(fields: object): void;
  error(fields: object): void;
}

/**
 * The process's log: one JSON object per line, with `level` and an ISO 8601 `time`. An error is the field `fault`.
 *
 * @param fieldsNow further fields of a line, when it is written.
 */
export function createJsonLog(lines: { write(line: string): unknown }, fieldsNow: () => object = () => ({})): JsonLog {
  const write = (level: string, fields: { readonly fault?: unknown }) => {
    const { fault } = fields;
    const more = fault === undefined ? fields : { ...fields, fault: describeFault(fault) };
    lines.write(
      `${printableJsonText(JSON.stringify({ level, time: new Date().toISOString(), ...fieldsNow(), ...more }))}\n`,
    );
  };
  return {
    info: (fields) => write('info', fields),
    warn: (fields) => write('warn', fields),
    error: (fields) => write('error', fields),
  };
}

/** So many lines are missing before this one. */
interface LogLinesLost {
  readonly event: 'log_lines_lost';
  readonly lines: number;
}

/**
 * The destination of that log, by default standard output. A log that cannot be written delays no request and does not
 * end the process.
 */
export function openLogLines(descriptor = openStandardOutput()): LineWriter {
  const lossLine = (lines: number) => {
    const lost: LogLinesLost = { event: 'log_lines_lost', lines };
    return `${JSON.stringify({ level: 'warn', time: new Date().toISOString(), ...lost })}\n`;
  };
  return new LineWriter({ name: 'log', descriptor, lossLine });
}

/**
 * An error as the log shows it: name, message and code of the error and its causes. Other fields that libraries add are
 * left out, and long texts are cut. The stack is logged only for unforeseen errors: an unavailable dependency can cause
 * thousands per second.
 */
function describeFault(fault: unknown): unknown {
  return describe(fault, fault instanceof DependencyUnavailable ? 0 : STACK_MAX, CAUSES_MAX);
}

function describe(fault: unknown, stackMax: number, causesMax: number): unknown {
  if (!types.isNativeError(fault)) return { name: typeof fault };
  const { name, message, stack, cause, code }: Error & { readonly code?: unknown } = fault;
  return {
    name,
    message: message.slice(0, MESSAGE_MAX),
    // Anything else may not be fit for JSON.
    code: typeof code === 'string' || typeof code === 'number' ? code : undefined,
    stack: stackMax === 0 ? undefined : stack?.slice(0, stackMax),
    cause: cause === undefined || causesMax === 0 ? undefined : describe(cause, stackMax / 2, causesMax - 1),
  };
}

/**
 * The descriptor of standard output, which does not block: a full pipe or a halted terminal must not hold a thread of
 * the pool. Others may use the same open file, so this process opens it again for itself. Where the system does not
 * allow that, as for sockets, Node.js makes it non-blocking for a while when `process.stdout` is first used.
 */
function openStandardOutput(): number {
  try {
    const kind = fstatSync(1);
    if (kind.isFIFO() || kind.isCharacterDevice()) {
      return openSync('/proc/self/fd/1', constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
    }
  } catch {
    // No /proc, or the open file belongs to another user.
  }
  return process.stdout.fd;
}
