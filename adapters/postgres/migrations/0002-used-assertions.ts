/**
 * Assertions that clients have used, so that none is used again, in whichever replica. `digest` is of client id and `jti`.
 * A replica may repeat a statement whose answer it has not received: `use_id` shows that the row is its own. Times are in
 * seconds since the epoch.
 */
export const USED_ASSERTIONS = {
  used_assertions: [
    `create table $schema.used_assertions (
    digest text collate "C" primary key,
    client_id text collate "C" not null,
    kept_until bigint not null,
    use_id text not null)`,
    'create index used_assertions_kept_until on $schema.used_assertions (kept_until)',
  ],
};
