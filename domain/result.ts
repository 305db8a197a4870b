/** A value, or the reason why there is none. A fault (a broken dependency, a bug) is thrown instead. */
export type Result<Value, Problem> = Success<Value> | Failure<Problem>;

export interface Success<Value> {
  readonly ok: true;
  readonly value: Value;
}

export interface Failure<Problem> {
  readonly ok: false;
  readonly problem: Problem;
}

export function success<Value>(value: Value): Success<Value> {
  return { ok: true, value };
}

export function failure<Problem>(problem: Problem): Failure<Problem> {
  return { ok: false, problem };
}
