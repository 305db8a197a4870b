import { createHash } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import {
  ENTRY_BYTES_MAX,
  type StoredDetails,
  type StoredKey,
  type ValidDetails,
} from '../../../application/ports/client-store.ts';
import { type ClientDetails, type ClientKey, NO_DETAILS } from '../../../domain/client-details.ts';
import type { ClientRegistrationFields } from '../../../domain/client-registration.ts';
import { thumbprintInput } from '../../../domain/public-jwk.ts';

/** A table of what registrations have beyond the table `clients`. */
interface DetailTable {
  readonly name: string;
  /** The columns that identify an entry of a registration. */
  readonly key: readonly string[];
  readonly order: string;
  /** By the members of an entry. `json` is text that contains JSON. */
  readonly columns: Readonly<Record<string, 'value' | 'json'>>;
}

const TABLES: { readonly [Kind in keyof ClientDetails]: DetailTable } = {
  secrets: {
    name: 'client_secrets',
    key: ['secret_id'],
    order: 'created_at, secret_id',
    columns: { secret_id: 'value', name: 'value', encoded: 'value', expires_at: 'value' },
  },
  keys: {
    name: 'client_keys',
    key: ['key_id'],
    order: 'created_at, key_id',
    columns: { key_id: 'value', jwk: 'json', expires_at: 'value' },
  },
  subjects: {
    name: 'client_subjects',
    key: ['issuer', 'subject'],
    order: 'created_at, issuer, subject',
    columns: { issuer: 'value', subject: 'value', claims: 'json' },
  },
  resources: { name: 'client_resources', key: ['resource'], order: 'resource', columns: { resource: 'value' } },
};
export const DETAIL_KINDS = Object.keys(TABLES) as (keyof ClientDetails)[];

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
  const given = names.map((column) => `value ${columns[column] === 'json' ? '->' : '->>'} '${column}'`);
  const isGiven = key.map((column) => `value ->> '${column}' = ${name}.${column}`).join(' and ');
  const changes = names.filter((column) => !key.includes(column)).map((column) => `${column} = excluded.${column}`);
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
  const lists = find.get(Number(id)) ?? {};
  const [secrets, keys, subjects, resources] = (['secrets', 'keys', 'subjects', 'resources'] as const).map((kind) =>
    JSON.parse(String(lists[kind])).map(withoutNulls),
  );
  return { secrets, keys, subjects, resources: resources.map(({ resource }: { resource: string }) => resource) };
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

/** The entries of one kind as the JSON array that statements take; null if that kind is not given. */
export function entriesText(kind: keyof ClientDetails, details: Partial<ClientDetails> | undefined): string | null {
  const { [kind]: entries, keys, resources } = details ?? {};
  if (entries === undefined) return null;
  if (kind === 'keys') return JSON.stringify(keys?.map(withKeyId));
  return JSON.stringify(kind === 'resources' ? resources?.map((resource) => ({ resource })) : entries);
}

/** Stores the details instead of those before, and writes only the kinds that differ. */
export function replaceDetails(
  database: DatabaseSync,
  id: string,
  details: ClientDetails,
  before: ClientDetails = NO_DETAILS,
): StoredDetails {
  const stored = { ...details, keys: details.keys.map(withKeyId) };
  for (const { kind, remove, store } of REPLACE) {
    if (JSON.stringify(stored[kind]) === JSON.stringify(before[kind])) continue;
    const json = entriesText(kind, stored);
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

function withKeyId(key: ClientKey): StoredKey {
  return { ...key, key_id: createHash('sha256').update(thumbprintInput(key.jwk)).digest('base64url') };
}

/** The entry without the members that are null. */
function withoutNulls(entry: object): object {
  return Object.fromEntries(Object.entries(entry).filter(([, value]) => value !== null));
}
