import { readTextFile } from '../../adapters/system/read-text-file.ts';
import { checkStores } from '../../config/programs/check-stores.ts';
import { loadConfiguration } from '../../config/settings/load-configuration.ts';
import type { Finding } from '../../domain/finding.ts';
import { problemsIn } from './problems.ts';

/** What the doctor finds about a database of registrations. @param more further settings. */
export function inspectDatabase(url: string, more: Readonly<Record<string, string>> = {}): Promise<readonly Finding[]> {
  const loaded = loadConfiguration({ CLIENT_REPOSITORY: 'postgres', DATABASE_URL: url, ...more }, readTextFile);
  if (!loaded.ok) throw new Error(problemsIn(loaded).join('\n'));
  return checkStores(loaded.value);
}
