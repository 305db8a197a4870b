import { loggableFault } from '../adapters/postgres/database-fault.ts';
import { TableUnusable } from '../adapters/postgres/table-unusable.ts';
import type { Failure } from '../domain/result.ts';
import { EXIT } from './exit-code.ts';
import { type Problem, problem } from './outcome.ts';

/** SQLSTATE classes of values that a table refuses: data exceptions and broken constraints. */
const VALUE_REFUSED = /^2[23]/;

/** A fault of the database as a person is told it: its message and code, never a value, a statement or the URL. */
export function databaseProblem(fault: unknown): Failure<Problem> {
  if (fault instanceof TableUnusable) return problem(EXIT.databaseUnavailable, `The database: ${fault.message}.`);
  const shown = loggableFault(fault);
  const code = shown instanceof Error && 'code' in shown && typeof shown.code === 'string' ? shown.code : '';
  const message = shown instanceof Error ? shown.message : '';
  const details = [message, code === '' ? '' : `(${code})`].filter((part) => part !== '').join(' ');
  return VALUE_REFUSED.test(code)
    ? problem(EXIT.refused, `The table clients refuses this: ${details}`)
    : problem(EXIT.databaseUnavailable, `The database cannot be used: ${details}`);
}
