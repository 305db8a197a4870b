import { SERVICE_PAGE } from '../../config/programs/help-pages.ts';

/** What the service prints on standard error if it does not start. */
export function startProblems(...problems: readonly string[]): string {
  const { name, fix } = SERVICE_PAGE;
  return `${name} does not start:\n${problems.map((problem) => `  ${problem}\n`).join('')}${fix}\n`;
}
