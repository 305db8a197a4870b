import { CLIENT_DETAILS } from './0001-client-details.ts';
import { USED_ASSERTIONS } from './0002-used-assertions.ts';
import { SERVICE_REPLICAS } from './0003-service-replicas.ts';

/** What a migration does, by the table that it creates or changes. */
interface Migration {
  readonly name: string;
  readonly tables: Readonly<Record<string, readonly string[]>>;
}

/**
 * Every migration, in order. They only go forward, and each keeps replicas of the version before it working: it adds
 * tables and columns, and changes or removes nothing that those use. What a migration does never changes once it was released.
 */
export const MIGRATIONS: readonly Migration[] = [
  { name: '0001-client-details', tables: CLIENT_DETAILS },
  { name: '0002-used-assertions', tables: USED_ASSERTIONS },
  { name: '0003-service-replicas', tables: SERVICE_REPLICAS },
];
