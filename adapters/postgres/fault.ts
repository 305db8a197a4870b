/** Why a table cannot be used, in words for an operator. Waiting does not help: the table or its grants have to change. */
export class TableUnusable extends Error {
  constructor(problem: string) {
    super(problem);
    this.name = 'TableUnusable';
  }
}

// SQLSTATEs, PostgreSQL documentation appendix A.
const SESSION_LOST = /^(08|57P|26000$|0A000$)/;
const UNSTORABLE_TEXT = /^(22021|22P05)$/;
const CREATED_CONCURRENTLY = /^(42P07|42710|23505)$/;
const CREATION_DENIED = /^(42501|3F000)$/;
const VALUE_REFUSED = /^2[23]/;
const DATA_EXCEPTION = /^22/;

/** The SQLSTATE of the server's answer, or an empty text where the driver or the network failed. */
function sqlStateOf(fault: unknown): string {
  if (!(fault instanceof Error) || !('severity' in fault) || !('code' in fault)) return '';
  return typeof fault.code === 'string' ? fault.code : '';
}

/** Whether another connection may succeed at once: this one broke, was closed by the server, or lost its prepared statement. */
export function isSessionLost(fault: unknown): boolean {
  const state = sqlStateOf(fault);
  return state === '' || SESSION_LOST.test(state);
}

/** Whether the encoding of this database cannot represent the text, so that no row can contain it. */
export function isUnstorableText(fault: unknown): boolean {
  return UNSTORABLE_TEXT.test(sqlStateOf(fault));
}

/** Whether another process created the table at the same time. */
export function isCreatedConcurrently(fault: unknown): boolean {
  return CREATED_CONCURRENTLY.test(sqlStateOf(fault));
}

/** Whether the role lacks the privilege to create a table. */
export function isCreationDenied(fault: unknown): boolean {
  return CREATION_DENIED.test(sqlStateOf(fault));
}

/** Whether the database refused a value: a data exception or a violated constraint. */
export function isValueRefused(fault: unknown): boolean {
  return VALUE_REFUSED.test(sqlStateOf(fault));
}

/** The fault as a log may show it: a data exception's message quotes the value, which may be a secret sent as a client id. */
export function loggableFault(fault: unknown): unknown {
  const state = sqlStateOf(fault);
  return DATA_EXCEPTION.test(state) ? Object.assign(new Error('the database refused a value'), { code: state }) : fault;
}
