import type { Problem } from '../../domain/problem.ts';
import type { Environment } from './read-environment.ts';
import { settingProblem } from './rules.ts';

/** A name that was a setting of an earlier version, and is refused. */
interface RetiredSetting {
  /** Why it is none any more, and what to do. */
  readonly why: string;
  readonly fix: string;
  /** Values that mean what happens anyway: with them, the service starts with a warning. */
  readonly harmless?: (value: string) => boolean;
}

const RETIRED_SETTINGS: Readonly<Record<string, RetiredSetting>> = {
  WORKERS: {
    why: 'the service is one process',
    fix: 'leave it out, and run replicas (docs/operate.md)',
    harmless: (value) => value === '1',
  },
  CLIENT_SECRET_REMEMBERED_SECONDS: {
    why: 'a verified secret stays verified until it changes',
    fix: 'leave it out, or set CLIENT_SECRET_CACHE_MAX (0 switches the cache off)',
  },
};

/** The environment without names that are no settings any more: nobody meant another setting by them. */
export function withoutRetired(environment: Environment): Environment {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !Object.hasOwn(RETIRED_SETTINGS, name)));
}

/** The problem of each retired setting that is given, by its name and with what replaces it. */
export function retiredProblems(environment: Environment): readonly Problem[] {
  return given(environment, false).map(([name, { why, fix }]) =>
    settingProblem(name, `is not a setting any more, since ${why}`, fix),
  );
}

/** The same for a value with which the service starts. */
export function retiredWarnings(environment: Environment): readonly Problem[] {
  return given(environment, true).map(([name, { why, fix }]) =>
    settingProblem(name, `has no effect any more, since ${why}`, fix),
  );
}

function given(environment: Environment, isHarmless: boolean): readonly (readonly [string, RetiredSetting])[] {
  return Object.entries(RETIRED_SETTINGS).filter(([name, { harmless }]) => {
    const value = environment[name];
    // An empty value counts as absent.
    return Boolean(value) && (harmless?.(value ?? '') ?? false) === isHarmless;
  });
}
