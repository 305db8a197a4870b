import { Migration } from '@mikro-orm/migrations';

/**
 * The replicas of the service, as the status page of each shows them. Nothing depends on it. Times are in seconds since the epoch, by
 * the clock of the database.
 */
export class ServiceReplicasMigration extends Migration {
  up(): void {
    this.addSql(`create table service_replicas (
      name text collate "C" primary key,
      clock_offset_ms bigint,
      seen_at bigint not null)`);
  }
}
