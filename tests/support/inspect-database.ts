import type { NamedFinding } from '../../adapters/cli/doctor/run-doctor.ts';
import { readTextFile } from '../../adapters/system/read-text-file.ts';
import { checkParts } from '../../config/programs/doctor.ts';
import { loadConfiguration } from '../../config/settings/load-configuration.ts';
import { problemsIn } from './problems.ts';

/** What the doctor finds about a database of registrations. @param more further settings. */
export function inspectDatabase(
  url: string,
  more: Readonly<Record<string, string>> = {},
): Promise<readonly NamedFinding[]> {
  const loaded = loadConfiguration({ CLIENT_REPOSITORY: 'postgres', DATABASE_URL: url, ...more }, readTextFile);
  if (!loaded.ok) throw new Error(problemsIn(loaded).join('\n'));
  return checkParts(loaded.value);
}
