import type { Problem } from '../../domain/problem.ts';
import { effectiveSettings } from './effective-settings.ts';
import type { Environment } from './read-environment.ts';
import { retiredSettings } from './retired-settings.ts';
import { brokenBy, settingProblem } from './rules.ts';
import { ALL_SETTINGS } from './settings.ts';

/** What is probably a mistake in settings with which the service starts. */
export function settingWarnings(environment: Environment): readonly Problem[] {
  const { rows, rules } = ALL_SETTINGS;
  const broken = rules?.(effectiveSettings(environment, rows), undefined) ?? [];
  const keptByNpm = Object.keys(rows).filter((name) => environment[`npm_config_${name.toLowerCase()}`]);
  return [
    ...brokenBy('warning', [...retiredSettings(environment), ...broken]),
    ...keptByNpm.map((name) =>
      settingProblem(
        name,
        'npm keeps such an option for itself',
        `settings are environment variables, ${name}=… npm start`,
      ),
    ),
  ];
}

/** What to say to somebody who forgot the two dashes behind which npm hands over options; undefined if nobody did. */
export function npmHint(command: string, options: readonly string[], environment: Environment): string | undefined {
  const kept = options.find((option) => environment[`npm_config_${option.replaceAll('-', '_')}`]);
  return kept && `npm has kept --${kept} for itself: write two dashes before the command, npm run ${command} -- …`;
}

/** The same about --dry-run: such a command must not run, since it would do what was only to be tried. */
export function dryRunKeptByNpm(
  command: string,
  args: readonly string[],
  environment: Environment,
): string | undefined {
  return args.includes('--dry-run') ? undefined : npmHint(command, ['dry-run'], environment);
}
