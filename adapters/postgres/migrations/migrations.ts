import { ClientDetailsMigration } from './0001-client-details.ts';

/**
 * Every migration, in order. They only go forward, and each keeps replicas of the version before it working: it adds
 * tables and columns, and changes or removes nothing that those use. A migration that was released never changes.
 */
export const MIGRATIONS = [{ name: '0001-client-details', class: ClientDetailsMigration }];
