import { ValueRefused } from '../../application/ports/client-store.ts';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import { inWords, type Problem } from '../../domain/problem.ts';
import { problemOfFault } from './fault-problem.ts';

/** Why a table cannot be used. Waiting does not help: the table or its grants have to change. */
export class TableUnusable extends Error {
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(inWords(problem));
    this.name = 'TableUnusable';
    this.problem = problem;
  }
}

/** SQLSTATEs by what they mean here (PostgreSQL documentation, appendix A). */
export const SQLSTATE = {
  /** Another connection may succeed at once: the server closed this one, or it lost its prepared statement. */
  sessionLost: /^(08|57P|26000$|0A000$)/,
  /** Another process created the table at the same time. */
  createdConcurrently: /^(42P07|42710|23505)$/,
  /** The role lacks the privilege to create a table. */
  creationDenied: /^(42501|3F000)$/,
  privilegeMissing: /^42501$/,
  /** A standby, or a session that is read-only by default. */
  readOnly: /^25006$/,
  /** The value that was sent does not fit the type of its column. */
  dataException: /^22/,
  /** Its message may quote a value: a data exception, or what a trigger raises. */
  quoting: /^(22|P0001$)/,
  /** One of these, or a violated constraint. */
  valueRefused: /^(2[23]|P0001$)/,
} as const;

/** The SQLSTATE of the server's response, or an empty text if the driver or the network failed. */
function stateOf(fault: unknown): string {
  if (!(fault instanceof Error) || !('severity' in fault) || !('code' in fault)) return '';
  return typeof fault.code === 'string' ? fault.code : '';
}

/** Whether the server answered with one of these SQLSTATEs. */
export function hasState(fault: unknown, states: RegExp): boolean {
  return states.test(stateOf(fault));
}

/** Whether the session is lost, or broke without a response. */
export function isSessionLost(fault: unknown): boolean {
  return stateOf(fault) === '' || hasState(fault, SQLSTATE.sessionLost);
}

/**
 * The fault as a log may show it: the message of some quotes the value, which may be a secret sent as a client id. If
 * the database is read-only, with what to do.
 */
export function loggableFault(fault: unknown): unknown {
  const code = stateOf(fault);
  if (SQLSTATE.readOnly.test(code)) {
    const problem = problemOfFault(fault);
    return Object.assign(new Error(inWords(problem), { cause: fault }), { code, problem });
  }
  if (!SQLSTATE.quoting.test(code)) return fault;
  return Object.assign(new Error('the database refused a value'), { code });
}

/**
 * A fault of the client store, as its port promises it. A bug in this program stays what it is, and so does the fault
 * of a change that could not be recorded.
 */
export function storeFault(fault: unknown): unknown {
  const kept = [TypeError, RangeError, DependencyUnavailable, ValueRefused];
  if (kept.some((kind) => fault instanceof kind)) return fault;
  const cause = loggableFault(fault);
  return hasState(fault, SQLSTATE.valueRefused)
    ? new ValueRefused(cause)
    : new DependencyUnavailable('client store', cause);
}
