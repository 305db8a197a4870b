import { ClientDetailsMigration } from './0001-client-details.ts';
import { UsedAssertionsMigration } from './0002-used-assertions.ts';
import { ServiceReplicasMigration } from './0003-service-replicas.ts';

/**
 * Every migration, in order. They only go forward, and each keeps replicas of the version before it working: it adds
 * tables and columns, and changes or removes nothing that those use. A migration that was released never changes.
 */
export const MIGRATIONS = [
  { name: '0001-client-details', class: ClientDetailsMigration },
  { name: '0002-used-assertions', class: UsedAssertionsMigration },
  { name: '0003-service-replicas', class: ServiceReplicasMigration },
];
