/** What is wrong, and what to do about it, in words for an operator: never with a secret. */
export interface Problem {
  /** What tells it from others: the name of a setting, a code of the system or of the database, or a word of ours. */
  readonly code: string;
  /** What is wrong, or the rule of a setting. */
  readonly text: string;
  /** What to do; absent where that is to follow the rule. */
  readonly fix?: string | undefined;
}

/** A problem in one line, for where it is printed. */
export function inWords({ text, fix }: Pick<Problem, 'text' | 'fix'>): string {
  return fix === undefined ? text : `${text}: ${fix}`;
}

/** The problem that a fault carries; undefined if it carries none. */
export function problemIn(fault: unknown): Problem | undefined {
  return (Object(fault) as { readonly problem?: Problem }).problem;
}
