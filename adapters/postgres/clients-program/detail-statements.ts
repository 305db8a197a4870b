/** The tables of what registrations have beyond the table `clients`. Migrations create them. */
export const DETAIL_TABLES = ['client_secrets', 'client_keys', 'client_subjects', 'client_resources'] as const;

const IS_OF_REGISTRATION = 'client_id = $1 and registration_id = $2';

/** All rows of a table as one JSON array; an empty one for no row. */
function rowsOf(table: (typeof DETAIL_TABLES)[number], value: string, order: string): string {
  return `coalesce((select pg_catalog.json_agg(${value} order by ${order}) from $schema.${table} where ${IS_OF_REGISTRATION}), '[]')::text`;
}

const IS_OF_GIVEN = 'details.client_id = given.client_id and details.registration_id = given.id';

/** When the last row of a registration expires, as a number that a driver reads as one; null for no row. */
function lastExpiryOf(table: (typeof DETAIL_TABLES)[number]): string {
  return `(select pg_catalog.max(coalesce(expires_at::float8, 'infinity')) from $schema.${table} as details where ${IS_OF_GIVEN})`;
}

/** A list in JSON, parameter 3, as rows. */
const given = (columns: string) => `pg_catalog.json_to_recordset($3::json) as given (${columns})`;
const SECRETS = given('"secretId" text, name text, encoded text, "expiresAt" bigint');
const KEYS = given('"keyId" text, jwk text, "expiresAt" bigint');
const SUBJECTS = given('issuer text, subject text, claims text');

/** Statements on the details of a registration. Parameters 1 and 2: client id, and row id as text. */
export const DETAIL_STATEMENTS = {
  /** Which of the tables are missing. */
  findMissing: `select name from (values ${DETAIL_TABLES.map((table) => `('${table}', '$schema.${table}')`).join(', ')})
    as tables (name, qualified) where pg_catalog.to_regclass(qualified) is null`,

  /** Each kind as the JSON of a list. */
  find: `select
    ${rowsOf(
      'client_secrets',
      "pg_catalog.json_build_object('secretId', secret_id, 'name', name, 'encoded', encoded, 'expiresAt', expires_at)",
      'created_at, secret_id',
    )} as "secrets",
    ${rowsOf(
      'client_keys',
      "pg_catalog.json_build_object('keyId', key_id, 'jwk', jwk::json, 'expiresAt', expires_at)",
      'created_at, key_id',
    )} as "keys",
    ${rowsOf(
      'client_subjects',
      "pg_catalog.json_build_object('issuer', issuer, 'subject', subject, 'claims', claims::json)",
      'created_at, issuer, subject',
    )} as "subjects",
    ${rowsOf('client_resources', 'resource', 'resource')} as "resources"`,

  /** A row for each of several registrations. Parameters: arrays of client ids and of row ids. */
  summarize: `select ${lastExpiryOf('client_secrets')} as "secretsUntil", ${lastExpiryOf('client_keys')} as "keysUntil",
      exists (select from $schema.client_subjects as details where ${IS_OF_GIVEN}) as "hasSubjects"
    from rows from (pg_catalog.unnest($1::text[]), pg_catalog.unnest($2::text[])) with ordinality as given (client_id, id, position) order by position`,

  /** Each kind is replaced by the list in JSON that is parameter 3. Rows that stay keep the time of their creation. */
  replace: [
    {
      kind: 'secrets',
      remove: `delete from $schema.client_secrets where ${IS_OF_REGISTRATION}
        and secret_id not in (select "secretId" from ${SECRETS})`,
      store: `insert into $schema.client_secrets (client_id, registration_id, secret_id, name, encoded, expires_at)
        select $1, $2, "secretId", name, encoded, "expiresAt" from ${SECRETS}
        on conflict (client_id, registration_id, secret_id)
        do update set name = excluded.name, encoded = excluded.encoded, expires_at = excluded.expires_at`,
    },
    {
      kind: 'keys',
      remove: `delete from $schema.client_keys where ${IS_OF_REGISTRATION}
        and key_id not in (select "keyId" from ${KEYS})`,
      store: `insert into $schema.client_keys (client_id, registration_id, key_id, jwk, expires_at)
        select $1, $2, "keyId", jwk, "expiresAt" from ${KEYS}
        on conflict (client_id, registration_id, key_id)
        do update set jwk = excluded.jwk, expires_at = excluded.expires_at`,
    },
    {
      kind: 'subjects',
      remove: `delete from $schema.client_subjects as stored where ${IS_OF_REGISTRATION} and not exists (
        select from ${SUBJECTS} where given.issuer = stored.issuer and given.subject = stored.subject)`,
      store: `insert into $schema.client_subjects (client_id, registration_id, issuer, subject, claims)
        select $1, $2, issuer, subject, claims from ${SUBJECTS}
        on conflict (client_id, registration_id, issuer, subject) do update set claims = excluded.claims`,
    },
    {
      kind: 'resources',
      remove: `delete from $schema.client_resources where ${IS_OF_REGISTRATION}
        and resource not in (select value from pg_catalog.json_array_elements_text($3::json))`,
      store: `insert into $schema.client_resources (client_id, registration_id, resource)
        select $1, $2, value from pg_catalog.json_array_elements_text($3::json) on conflict do nothing`,
    },
  ],

  /** Parameter: client id. Rows of earlier registrations of this id go too. */
  remove: (table: (typeof DETAIL_TABLES)[number]) => `delete from $schema.${table} where client_id = $1`,
} as const;
