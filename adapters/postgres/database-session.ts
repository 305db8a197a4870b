import type { AuthenticationMethod } from '../../domain/authentication-method.ts';

/** What the service uses a database for. */
export interface DatabaseUse {
  /** A secret. */
  readonly url: string;
  /** `CLIENT_REPOSITORY=postgres`. */
  readonly hasClients: boolean;
  /** `KEY_DIRECTORY=postgres`. */
  readonly hasKeys: boolean;
  readonly methods: readonly AuthenticationMethod[];
  /** How many connections a replica opens at most. */
  readonly connections: number;
}

/** What the server says about the session. */
export interface Session {
  /** As in a statement: quoted where necessary. */
  readonly role: string;
  readonly database: string;
  readonly version: string;
  readonly schema: string | null;
  readonly isSuperuser: boolean;
  readonly mayCreate: boolean;
  readonly isStandby: boolean;
  readonly isEncrypted: boolean;
  readonly connectionsMax: number;
  readonly connectionsOpen: number;
}

/** Every role may ask this. Parameter: the first schema of the search path, or an empty text. */
export const READ_SESSION = `select pg_catalog.quote_ident(current_user) as "role", current_catalog as "database",
  pg_catalog.current_setting('server_version') as "version", pg_catalog.quote_ident(nullif($1::text, '')) as "schema",
  (select rolsuper from pg_catalog.pg_roles where rolname = current_user) as "isSuperuser",
  coalesce(pg_catalog.has_schema_privilege(nullif($1::text, ''), 'CREATE'), false) as "mayCreate",
  pg_catalog.pg_is_in_recovery() as "isStandby",
  coalesce((select ssl from pg_catalog.pg_stat_ssl where pid = pg_catalog.pg_backend_pid()), false) as "isEncrypted",
  pg_catalog.current_setting('max_connections')::int
    - pg_catalog.current_setting('superuser_reserved_connections')::int as "connectionsMax",
  (select pg_catalog.count(*)::int from pg_catalog.pg_stat_activity where usesysid is not null and datid is not null) as "connectionsOpen"`;
