import { CLIENT_DETAILS } from './0001-client-details.ts';
import { USED_ASSERTIONS } from './0002-used-assertions.ts';
import { SERVICE_REPLICAS } from './0003-service-replicas.ts';

/**
 * Every migration, in order. They only go forward, and each keeps replicas of the version before it working: it adds
 * tables and columns, and changes or removes nothing that those use. What a migration does never changes once it was released.
 */
export const MIGRATIONS = [
  { name: '0001-client-details', statements: CLIENT_DETAILS },
  { name: '0002-used-assertions', statements: USED_ASSERTIONS },
  { name: '0003-service-replicas', statements: SERVICE_REPLICAS },
];
