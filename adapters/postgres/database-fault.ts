// SQLSTATEs, PostgreSQL documentation appendix A.
const DATA_EXCEPTION = /^22/;
const UNSTORABLE_TEXT = new Set(['22021', '22P05']);
const MADE_MEANWHILE = new Set(['42P07', '42710', '23505']);
const MAY_NOT_CREATE = new Set(['42501', '3F000']);
const SESSION_SPOILT = /^(08|57P|26000$|0A000$)/;

/** The SQLSTATE with which the server answered, or undefined where the driver or the network failed. */
function sqlStateOf(fault: unknown): string | undefined {
  if (!(fault instanceof Error) || !('severity' in fault) || !('code' in fault)) return undefined;
  return typeof fault.code === 'string' ? fault.code : undefined;
}

/** Whether another connection may do better at once: this one broke, was ended by the server, or has lost its prepared statement. */
export function isSessionSpoilt(fault: unknown): boolean {
  const state = sqlStateOf(fault);
  return state === undefined || SESSION_SPOILT.test(state);
}

/** Whether the text that was looked for cannot stand in this database at all, for its encoding. */
export function isUnstorableText(fault: unknown): boolean {
  return UNSTORABLE_TEXT.has(sqlStateOf(fault) ?? '');
}

/** Whether somebody else made the table at the same time. */
export function isMadeMeanwhile(fault: unknown): boolean {
  return MADE_MEANWHILE.has(sqlStateOf(fault) ?? '');
}

/** Whether the role lacks the privilege to make a table. */
export function isCreationDenied(fault: unknown): boolean {
  return MAY_NOT_CREATE.has(sqlStateOf(fault) ?? '');
}

/** The fault as a log may show it: a data exception's message quotes the value, which may be a secret sent as a client id. */
export function loggableFault(fault: unknown): unknown {
  const state = sqlStateOf(fault);
  if (state === undefined || !DATA_EXCEPTION.test(state)) return fault;
  return Object.assign(new Error('the database refused a value'), { code: state });
}
