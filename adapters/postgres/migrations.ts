const OWNER = 'client_id text collate "C" not null, registration_id text collate "C" not null';
const CREATED_AT = 'created_at bigint not null default pg_catalog.floor(extract(epoch from pg_catalog.now()))';

/** Few rows expire soon, and the service counts them at an interval. */
const expiryIndex = (table: string) =>
  `create index ${table}_expiry on $schema.${table} (expires_at) where expires_at is not null`;

/**
 * What a registration has beyond the five columns of the table `clients`, which stays as it is, since another application
 * may own it. A row belongs to a registration by its client id and by the id of its row in `clients`, so what is left of a
 * deleted registration never serves a later one of the same client id. Times are in seconds since the epoch.
 */
const CLIENT_DETAILS = {
  client_secrets: [
    `create table $schema.client_secrets (${OWNER},
    secret_id text collate "C" not null,
    name text not null,
    encoded text not null,
    expires_at bigint,
    ${CREATED_AT},
    primary key (client_id, registration_id, secret_id))`,
    expiryIndex('client_secrets'),
  ],
  client_keys: [
    `create table $schema.client_keys (${OWNER},
    key_id text collate "C" not null,
    jwk text not null,
    expires_at bigint,
    ${CREATED_AT},
    primary key (client_id, registration_id, key_id))`,
    expiryIndex('client_keys'),
  ],
  client_subjects: [
    `create table $schema.client_subjects (${OWNER},
    issuer text collate "C" not null,
    subject text collate "C" not null,
    claims text not null default '{}',
    ${CREATED_AT},
    primary key (client_id, registration_id, issuer, subject))`,
    'create index client_subjects_identity on $schema.client_subjects (issuer, subject)',
  ],
  client_resources: [
    `create table $schema.client_resources (${OWNER},
    resource text collate "C" not null,
    primary key (client_id, registration_id, resource))`,
  ],
};

/**
 * Assertions that clients have used, so that none is used again, in whichever replica. `digest` is of client id and `jti`.
 * A replica may repeat a statement whose answer it has not received: `use_id` shows that the row is its own. Times are in
 * seconds since the epoch.
 */
const USED_ASSERTIONS = {
  used_assertions: [
    `create table $schema.used_assertions (
    digest text collate "C" primary key,
    client_id text collate "C" not null,
    kept_until bigint not null,
    use_id text not null)`,
    'create index used_assertions_kept_until on $schema.used_assertions (kept_until)',
  ],
};

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
];
