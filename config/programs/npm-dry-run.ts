import type { Environment } from '../settings/read-environment.ts';

/**
 * Why a command must not run: npm keeps options for itself that come before two dashes, and without `--dry-run` the
 * command would do what was only to be tried. Undefined if that has not happened.
 */
export function dryRunKeptByNpm(
  command: string,
  args: readonly string[],
  environment: Environment,
): string | undefined {
  if (args.includes('--dry-run') || !environment['npm_config_dry_run']) return undefined;
  return `npm has kept --dry-run for itself: write two dashes before the command, npm run ${command} -- …`;
}
