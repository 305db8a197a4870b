import type { Environment } from './read-environment.ts';

/** A name that was a setting of an earlier version, and is refused. */
interface RetiredSetting {
  /** Why it is none any more, and what to do: `why: what to do`. */
  readonly instead: string;
  /** Values that mean what happens anyway: with them, the service starts with a warning. */
  readonly harmless?: (value: string) => boolean;
}

const RETIRED_SETTINGS: Readonly<Record<string, RetiredSetting>> = {
  WORKERS: {
    instead: 'the service is one process: leave it out, and run replicas (docs/scaling.md)',
    harmless: (value) => value === '1',
  },
  CLIENT_SECRET_REMEMBERED_SECONDS: {
    instead:
      'a verified secret stays verified until it changes: leave it out, or set CLIENT_SECRET_CACHE_MAX (0 switches the cache off)',
  },
};

/** The environment without names that are no settings any more: nobody meant another setting by them. */
export function withoutRetired(environment: Environment): Environment {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !Object.hasOwn(RETIRED_SETTINGS, name)));
}

/** The problem of each retired setting that is given, by its name and with what replaces it. */
export function retiredProblems(environment: Environment): readonly string[] {
  return given(environment, false).map(([name, { instead }]) => `${name}: is not a setting any more, since ${instead}`);
}

/** The same for a value with which the service starts: `SETTING: what is wrong: what to do`. */
export function retiredDoubts(environment: Environment): readonly string[] {
  return given(environment, true).map(([name, { instead }]) => `${name}: has no effect any more, since ${instead}`);
}

function given(environment: Environment, isHarmless: boolean): readonly (readonly [string, RetiredSetting])[] {
  return Object.entries(RETIRED_SETTINGS).filter(([name, { harmless }]) => {
    const value = environment[name];
    // An empty value counts as absent.
    return Boolean(value) && (harmless?.(value ?? '') ?? false) === isHarmless;
  });
}
