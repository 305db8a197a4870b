import type { Problem } from './problem.ts';

/** What a check has found: that all is well, what is worth knowing, or what is in the way of a service that answers. */
export interface Finding extends Omit<Problem, 'code'>, Partial<Pick<Problem, 'code'>> {
  readonly state: 'ok' | 'note' | 'problem';
}

export function fine(text: string): Finding {
  return { state: 'ok', text };
}

export function note(text: string, fix: string | undefined): Finding {
  return { state: 'note', text, fix };
}

export function problem(text: string, fix: string | undefined): Finding {
  return { state: 'problem', text, fix };
}
