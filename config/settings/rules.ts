import type { Problem } from '../../domain/problem.ts';

/** What a rule of settings has found: a problem keeps the service from starting, a warning does not. */
export interface RuleBroken extends Problem {
  readonly state: 'problem' | 'warning';
}

/** The problem of a setting, by its name and never with its value. Without a fix, the text is the rule to follow. */
export function settingProblem(setting: string, text: string, fix?: string): Problem {
  return { code: setting, text: `${setting}: ${text}`, fix };
}

/** What a rule finds where it is broken: with that, the service does not start. */
export function refuse(isBroken: unknown, setting: string, rule: string, fix?: string): readonly RuleBroken[] {
  return isBroken ? [{ state: 'problem', ...settingProblem(setting, rule, fix) }] : [];
}

/** The same for what is allowed and probably a mistake: the service starts, and says so. */
export function warning(isOdd: unknown, setting: string, text: string, fix: string): readonly RuleBroken[] {
  return isOdd ? [{ state: 'warning', ...settingProblem(setting, text, fix) }] : [];
}

/** Those of one state, as problems. */
export function brokenBy(state: RuleBroken['state'], found: readonly RuleBroken[]): readonly Problem[] {
  return found.flatMap(({ state: itsState, ...problem }) => (itsState === state ? [problem] : []));
}
