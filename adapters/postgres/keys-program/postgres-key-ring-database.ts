import { openProgramDatabase } from '../program-database.ts';
import { KEY_RING } from '../tables.ts';

/** The database with the table `key_ring`, for the program that manages it. */
export function openKeyRingDatabase(url: string | (() => string)) {
  return openProgramDatabase(url, KEY_RING, { name: 'key directory' });
}
