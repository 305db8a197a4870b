// Every column is cast: whatever types a table has that somebody else made, ids beyond 2^53 keep their digits and
// client ids are compared byte by byte. With the table as we make it, the unique index serves these comparisons.
const RECORD = `c.id::text as "id", c.client_id::text as "clientId", c.client_secret::text as "clientSecret",
  c.client_name::text as "clientName", c.scope::text as "scope"`;
const IS_CLIENT = `c.client_id::text = $1::text collate "C"`;
const SECRET = `coalesce(c.client_secret::text, '')`;
/** What a new secret begins with: a locked client stays locked. */
const LOCK_IF_ANY = `case when ${SECRET} like '!%' then '!' else '' end`;
const GIVEN = `unnest($1::text[], $2::text[], $3::text[], $4::text[]) as given (client_id, client_secret, client_name, scope)`;
const IS_GIVEN = `c.client_id::text = given.client_id collate "C"`;

/**
 * What the program does to the table `clients`. Each change is one statement, which decides by the row as it finds it
 * locked, so that two that race are two that came one after the other. Parameter 1 is a client id, or all of them.
 */
export const CLIENT_STATEMENTS = {
  list: `select ${RECORD} from clients as c order by c.client_id::text collate "C", c.id`,

  find: `select ${RECORD} from clients as c where ${IS_CLIENT} order by c.id`,

  /** Client ids, hashes, names and scopes. Answers the rows that were inserted; the others' ids are taken. */
  insert: `insert into clients as c (client_id, client_secret, client_name, scope) select given.* from ${GIVEN}
    where not exists (select from clients as c where ${IS_GIVEN})
    order by given.client_id collate "C" on conflict do nothing returning ${RECORD}`,

  /** The same parameters. Answers the rows that were there. */
  replace: `update clients as c set client_secret = ${LOCK_IF_ANY} || given.client_secret,
    client_name = given.client_name, scope = given.scope from ${GIVEN} where ${IS_GIVEN} returning ${RECORD}`,

  /** Parameter 2 is the new hash. */
  changeSecret: `update clients as c set client_secret = ${LOCK_IF_ANY} || $2::text where ${IS_CLIENT}
    returning ${RECORD}`,

  /** Answers nothing where it is locked already. */
  lock: `update clients as c set client_secret = '!' || ${SECRET} where ${IS_CLIENT} and ${SECRET} not like '!%'
    returning ${RECORD}`,

  /** Answers nothing where it is not locked, or where no hash is behind the lock. */
  unlock: `update clients as c set client_secret = ltrim(${SECRET}, '!') where ${IS_CLIENT} and ${SECRET} ~ '^!+\\$2'
    returning ${RECORD}`,

  remove: `delete from clients as c where ${IS_CLIENT} returning ${RECORD}`,
} as const;
