import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The name that contracts call this service by. */
export const PROVIDER = 'client-credentials-authorization-service';

/** Where the contracts are kept: those of our own consumers, and whatever another team drops here. */
export const CONTRACT_FOLDER = fileURLToPath(new URL('contracts', import.meta.url));

/** The file of a consumer's contract, named as Pact names it. */
export function contractFile(consumer: string, folder = CONTRACT_FOLDER): string {
  return join(folder, `${consumer}-${PROVIDER}.json`);
}

/** The name of every contract in a folder. */
export function contractNames(folder = CONTRACT_FOLDER): readonly string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .sort();
}
