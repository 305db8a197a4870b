/**
 * The replicas of the service, as the status page of each shows them. Nothing depends on it. Times are in seconds since the epoch, by
 * the clock of the database.
 */
export const SERVICE_REPLICAS = {
  service_replicas: [
    `create table $schema.service_replicas (
    name text collate "C" primary key,
    clock_offset_ms bigint,
    seen_at bigint not null)`,
  ],
};
