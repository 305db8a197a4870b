import { createHash } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import type { StoredDetails, StoredKey, ValidDetails } from '../../../application/ports/client-store.ts';
import { type ClientDetails, NO_DETAILS } from '../../../domain/client-details.ts';
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
const KINDS = Object.keys(TABLES) as (keyof ClientDetails)[];

/** All entries of a registration as one JSON array. */
const entriesOf = (kind: keyof ClientDetails) => {
  const { name, order, columns } = TABLES[kind];
  const members = Object.entries(columns).map(([column, type]) => {
    return `'${column}', ${type === 'json' ? `json(${column})` : column}`;
  });
  return `(select json_group_array(json_object(${members.join(', ')}) order by ${order})
    from ${name} where registration_id = ?1) as "${kind}"`;
};
const FIND = `select ${KINDS.map(entriesOf).join(', ')}`;

/** Parameters: a registration, and its entries as a JSON array. Rows that stay keep the time of their creation. */
const REPLACE = KINDS.map((kind) => {
  const { name, key, columns } = TABLES[kind];
  const names = Object.keys(columns);
  const given = names.map((column) => `value ${columns[column] === 'json' ? '->' : '->>'} '${column}'`);
  const isGiven = key.map((column) => `value ->> '${column}' = ${name}.${column}`).join(' and ');
  const changes = names.filter((column) => !key.includes(column)).map((column) => `${column} = excluded.${column}`);
  return {
    kind,
    remove: `delete from ${name} where registration_id = ?1
      and not exists (select 1 from json_each(?2) where ${isGiven})`,
    store: `insert into ${name} (registration_id, ${names.join(', ')})
      select ?1, ${given.join(', ')} from json_each(?2) where true on conflict (registration_id, ${key.join(', ')})
      do ${changes.length === 0 ? 'nothing' : `update set ${changes.join(', ')}`}`,
  };
});

const hasValid = (kind: 'secrets' | 'keys' | 'subjects') => `exists (select 1 from ${TABLES[kind].name}
    where registration_id = value ${'expires_at' in TABLES[kind].columns ? 'and coalesce(expires_at > ?2, true)' : ''}) as "${kind}"`;

/** Parameters: the registrations as a JSON array, and a time. */
const SUMMARIZE = `select ${(['secrets', 'keys', 'subjects'] as const).map(hasValid).join(', ')}
  from (select cast(value as integer) as value, key from json_each(?1)), (select ?2) order by key`;

/** The details of the registration with this row id. */
export function findDetails(database: DatabaseSync, id: string): StoredDetails {
  const lists = database.prepare(FIND).get(Number(id)) ?? {};
  const [secrets, keys, subjects, resources] = (['secrets', 'keys', 'subjects', 'resources'] as const).map((kind) =>
    JSON.parse(String(lists[kind])).map(withoutNulls),
  );
  return { secrets, keys, subjects, resources: resources.map(({ resource }: { resource: string }) => resource) };
}

/** Stores the details instead of those before, and writes only the kinds that differ. */
export function replaceDetails(
  database: DatabaseSync,
  id: string,
  details: ClientDetails,
  before: ClientDetails = NO_DETAILS,
): StoredDetails {
  const stored = { ...details, keys: details.keys.map((key) => ({ ...key, key_id: thumbprintOf(key.jwk) })) };
  for (const { kind, remove, store } of REPLACE) {
    if (JSON.stringify(stored[kind]) === JSON.stringify(before[kind])) continue;
    const entries = kind === 'resources' ? stored.resources.map((resource) => ({ resource })) : stored[kind];
    const json = JSON.stringify(entries);
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

function thumbprintOf(jwk: StoredKey['jwk']): string {
  return createHash('sha256').update(thumbprintInput(jwk)).digest('base64url');
}

/** The entry without the members that are null. */
function withoutNulls(entry: object): object {
  return Object.fromEntries(Object.entries(entry).filter(([, value]) => value !== null));
}
