import type { TableDefinition } from '../table.ts';

/** What the service uses a database for. */
export interface DatabaseUse {
  /** A secret. */
  readonly url: string;
  /** `KEY_DIRECTORY=database`. */
  readonly hasKeys: boolean;
  /** Whether the service runs. It creates tables only when it starts. */
  readonly isRunning: boolean;
  /** The tables that the service uses, in the order of the report. */
  readonly tables: readonly TableDefinition[];
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
  /** By default: of a standby, or of the role, the database or the server. */
  readonly isReadOnly: boolean;
  readonly isEncrypted: boolean;
}

/** Each limit of connections that holds for the session, with what raises it. */
export type ConnectionLimit = Readonly<Record<'owner' | 'fix', string> & Record<'max' | 'open', number>>;

/** Every role may ask this. Parameter: the first schema of the search path, or an empty text. */
export const READ_SESSION = `select pg_catalog.quote_ident(current_user) as "role", current_catalog as "database",
  pg_catalog.current_setting('server_version') as "version", pg_catalog.quote_ident(nullif($1::text, '')) as "schema",
  (select rolsuper from pg_catalog.pg_roles where rolname = current_user) as "isSuperuser",
  coalesce(pg_catalog.has_schema_privilege(nullif($1::text, ''), 'CREATE'), false)
    and pg_catalog.current_setting('transaction_read_only') = 'off' as "mayCreate",
  pg_catalog.pg_is_in_recovery() as "isStandby", pg_catalog.current_setting('transaction_read_only') = 'on' as "isReadOnly",
  coalesce((select ssl from pg_catalog.pg_stat_ssl where pid = pg_catalog.pg_backend_pid()), false) as "isEncrypted"`;

/** Every role may ask this too. Limits of a role and a database do not hold for superusers. */
export const READ_CONNECTION_LIMITS = `with open as (
    select usesysid, datid from pg_catalog.pg_stat_activity where usesysid is not null and datid is not null)
  select 'the server' as "owner", pg_catalog.current_setting('max_connections')::int
      - pg_catalog.current_setting('superuser_reserved_connections')::int as "max",
    (select pg_catalog.count(*)::int from open) as "open", 'raise max_connections of the server' as "fix"
  union all select 'the role ' || pg_catalog.quote_ident(rolname), rolconnlimit,
    (select pg_catalog.count(*)::int from open where usesysid = oid), 'alter role … connection limit …'
  from pg_catalog.pg_roles where rolname = session_user and rolconnlimit >= 0 and not rolsuper
  union all select 'the database ' || pg_catalog.quote_ident(datname), datconnlimit,
    (select pg_catalog.count(*)::int from open where datid = oid), 'alter database … connection limit …'
  from pg_catalog.pg_database where datname = current_catalog and datconnlimit >= 0`;
