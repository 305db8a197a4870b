import { SERVICE_PAGE } from '../../config/programs/help-pages.ts';
import { LOCATIONS_PAGE } from '../../config/programs/locations-settings.ts';

/** What the service prints on standard error if it does not start. */
export function startProblems(...problems: readonly string[]): string {
  return report(SERVICE_PAGE, problems);
}

/** What `npm run locations` prints then. */
export function startProblemsOfLocations(...problems: readonly string[]): string {
  return report(LOCATIONS_PAGE, problems);
}

function report({ name, fix }: typeof SERVICE_PAGE, problems: readonly string[]): string {
  return `${name} does not start:\n${problems.map((problem) => `  ${problem}\n`).join('')}${fix}\n`;
}
