import { inWords, type Problem } from '../../domain/problem.ts';
import type { Result } from '../../domain/result.ts';

/** Each problem as it is printed; none if there is no problem. */
export function problemsIn(result: Result<unknown, readonly Problem[]>): readonly string[] {
  return result.ok ? [] : result.problem.map(inWords);
}
