import type { Environment } from './read-environment.ts';
import { type RuleBroken, refuse, warning } from './rules.ts';

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

/** What each retired setting that is given means for a start, with what replaces it. An empty value counts as absent. */
export function retiredSettings(environment: Environment): readonly RuleBroken[] {
  return Object.entries(RETIRED_SETTINGS).flatMap(([name, { why, fix, harmless }]) => {
    const value = environment[name];
    if (!value) return [];
    return harmless?.(value)
      ? warning(true, name, `has no effect any more, since ${why}`, fix)
      : refuse(true, name, `is not a setting any more, since ${why}`, fix);
  });
}
