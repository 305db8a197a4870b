const OWNER = 'registration_id integer not null references clients (id) on delete cascade';
const CREATED_AT = 'created_at integer not null default (unixepoch())';

const expiryIndex = (table: string) =>
  `create index ${table}_expiry on ${table} (expires_at) where expires_at is not null`;

/**
 * Every migration, in order: a file has had as many as its `user_version` says. They only go forward, and what one does never
 * changes once it was released. Texts are compared byte by byte, and no id of a row is used again. Times are in seconds since
 * the epoch.
 */
export const MIGRATIONS: readonly { readonly name: string; readonly statements: readonly string[] }[] = [
  {
    name: '0001-clients',
    statements: [
      `create table clients (
  id integer primary key autoincrement,
  client_id text not null unique,
  client_secret text not null,
  client_name text not null,
  scope text not null) strict`,
      `create table client_secrets (${OWNER},
  secret_id text not null,
  name text not null,
  encoded text not null,
  expires_at integer,
  ${CREATED_AT},
  primary key (registration_id, secret_id)) strict, without rowid`,
      expiryIndex('client_secrets'),
      `create table client_keys (${OWNER},
  key_id text not null,
  jwk text not null,
  expires_at integer,
  ${CREATED_AT},
  primary key (registration_id, key_id)) strict, without rowid`,
      expiryIndex('client_keys'),
      `create table client_subjects (${OWNER},
  issuer text not null,
  subject text not null,
  claims text not null default '{}',
  ${CREATED_AT},
  primary key (registration_id, issuer, subject)) strict, without rowid`,
      'create index client_subjects_identity on client_subjects (issuer, subject)',
      `create table client_resources (${OWNER},
  resource text not null,
  primary key (registration_id, resource)) strict, without rowid`,
    ],
  },
];
