import { hash } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import {
  DETAIL_KINDS,
  detailsOf,
  entriesText,
  DETAIL_TABLES as TABLES,
  withKeyIds,
} from '../../../application/clients-program/detail-tables.ts';
import { ENTRY_BYTES_MAX, type StoredDetails, type ValidDetails } from '../../../application/ports/client-store.ts';
import { type ClientDetails, NO_DETAILS } from '../../../domain/client-details.ts';
import type { ClientRegistrationFields } from '../../../domain/client-registration.ts';

/** All entries of a registration as one JSON array. */
const entriesOf = (kind: keyof ClientDetails) => {
  const { name, order, columns } = TABLES[kind];
  const members = Object.entries(columns).map(([column, type]) => {
    return `'${column}', ${type === 'json' ? `json(${column})` : column}`;
  });
  return `(select json_group_array(json_object(${members.join(', ')}) order by ${order})
    from ${name} where registration_id = ?1) as "${kind}"`;
};
const FIND = `select ${DETAIL_KINDS.map(entriesOf).join(', ')}`;

/** The bytes of all entries of a registration, and whether what should be JSON is. */
const MEASURE = `select ${DETAIL_KINDS.map((kind) => {
  const sizes = Object.keys(TABLES[kind].columns).map((column) => `coalesce(octet_length(${column}), 0)`);
  return `coalesce((select sum(${sizes.join(' + ')}) from ${TABLES[kind].name} where registration_id = ?1), 0)`;
}).join(' + ')} as size, not exists (select 1 from client_keys where registration_id = ?1 and not json_valid(jwk))
  and not exists (select 1 from client_subjects where registration_id = ?1 and not json_valid(claims)) as "isJson"`;

/**
 * Statements that replace the entries of registrations. Rows that stay keep the time of their creation.
 *
 * @param owners a query for row ids, and the new entries of each as a JSON array.
 */
export function replacement(kind: keyof ClientDetails, owners: string) {
  const { name, key, columns } = TABLES[kind];
  const names = Object.keys(columns);
  const given = Object.entries(columns).map(([column, type]) => `value ${type === 'json' ? '->' : '->>'} '${column}'`);
  const isGiven = key.map((column) => `value ->> '${column}' = ${name}.${column}`).join(' and ');
  const others = names.filter((column) => !key.some((part) => part === column));
  const changes = others.map((column) => `${column} = excluded.${column}`);
  return {
    kind,
    remove: `delete from ${name} where registration_id in (select id from (${owners})) and not exists (
      select 1 from (${owners}) as owner, json_each(owner.entries) where owner.id = ${name}.registration_id and ${isGiven})`,
    store: `insert into ${name} (registration_id, ${names.join(', ')})
      select owner.id, ${given.join(', ')} from (${owners}) as owner, json_each(owner.entries) where true
      on conflict (registration_id, ${key.join(', ')})
      do ${changes.length === 0 ? 'nothing' : `update set ${changes.join(', ')}`}`,
  };
}

const REPLACE = DETAIL_KINDS.map((kind) => replacement(kind, 'select ?1 as id, ?2 as entries'));

const hasValid = (kind: 'secrets' | 'keys' | 'subjects') => `exists (select 1 from ${TABLES[kind].name}
    where registration_id = value ${'expires_at' in TABLES[kind].columns ? 'and coalesce(expires_at > ?2, true)' : ''}) as "${kind}"`;

/** Parameters: the registrations as a JSON array, and a time. */
const SUMMARIZE = `select ${(['secrets', 'keys', 'subjects'] as const).map(hasValid).join(', ')}
  from (select cast(value as integer) as value, key from json_each(?1)), (select ?2) order by key`;

/** The details of the registration with this row id. */
export function findDetails(database: DatabaseSync, id: string, find = database.prepare(FIND)): StoredDetails {
  return detailsOf(find.get(Number(id)) as Record<keyof ClientDetails, string>);
}

/**
 * Reads the details of rows of so many bytes, and says how many bytes both have; the details are undefined if these are too many,
 * or the details are not JSON.
 */
export function measuringReader(database: DatabaseSync) {
  const [measure, find] = [database.prepare(MEASURE), database.prepare(FIND)];
  return (id: string, bytes: number) => {
    const { size, isJson } = measure.get(Number(id)) ?? {};
    const isExported = isJson === 1 && bytes + Number(size) <= ENTRY_BYTES_MAX;
    return { size: bytes + Number(size), details: isExported ? findDetails(database, id, find) : undefined };
  };
}

/** Stores the details instead of those before, and writes only the kinds that differ. */
export function replaceDetails(
  database: DatabaseSync,
  id: string,
  details: ClientDetails,
  before: ClientDetails = NO_DETAILS,
): StoredDetails {
  const stored = { ...details, keys: withKeyIds(details.keys, sha256) };
  for (const { kind, remove, store } of REPLACE) {
    if (JSON.stringify(stored[kind]) === JSON.stringify(before[kind])) continue;
    const json = entriesText(kind, stored, sha256) ?? null;
    database.prepare(remove).run(Number(id), json);
    database.prepare(store).run(Number(id), json);
  }
  return stored;
}

/** One for each of the clients, in their order. */
export function summarizeDetails(
  database: DatabaseSync,
  clients: readonly ClientRegistrationFields[],
  now: number,
): readonly ValidDetails[] {
  const rows = database.prepare(SUMMARIZE).all(JSON.stringify(clients.map(({ id }) => id)), now);
  return rows.map(({ secrets, keys, subjects }) => ({
    secret: secrets === 1,
    key: keys === 1,
    subject: subjects === 1,
  }));
}

export function sha256(text: string): string {
  return hash('sha256', text, 'base64url');
}
