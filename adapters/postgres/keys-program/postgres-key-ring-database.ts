import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';
import { DATABASE_TIME } from '../database-time.ts';
import { loggableFault } from '../fault.ts';
import { KEY_RING } from '../key-directory/postgres-key-ring.ts';
import { openProgramDatabase } from '../program-database.ts';

/** The database with the table `key_ring`, for the program that manages it. */
export async function openKeyRingDatabase(url: string | (() => string)) {
  const { connect, close } = await openProgramDatabase(url, KEY_RING, { poolSize: 1 });
  return {
    time: DATABASE_TIME,
    async connect() {
      const connection = await connect();
      return { ...connection, begin: () => connection.begin('begin') };
    },
    faultOf: (fault: unknown) =>
      fault instanceof DependencyUnavailable ? fault : new DependencyUnavailable('key directory', loggableFault(fault)),
    close,
  };
}
