import type { Problem } from '../../domain/problem.ts';

/** What an inspection found: that something is fine, worth knowing, or in the way of a service that answers. */
export interface Finding extends Omit<Problem, 'code'> {
  readonly state: 'ok' | 'note' | 'problem';
}

/** Looks at a part of what a service depends on, and changes nothing. */
export interface Inspection {
  /** What it looks at, such as `database`. */
  readonly name: string;
  /** In the order in which an operator reads them. Takes seconds at most. What it throws counts as a problem. */
  inspect(): Promise<readonly Finding[]>;
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
