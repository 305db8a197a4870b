import type { ClientKeys, FoundKeys } from '../../../application/ports/client-keys.ts';
import { type ClientKey, DETAILS_MAX } from '../../../domain/client-details.ts';
import { parseJson } from '../../../domain/parse-json.ts';
import { readPublicJwk } from '../../../domain/public-jwk.ts';
import { failure, type Result, success } from '../../../domain/result.ts';
import { bounded, CLIENTS, clientIds } from '../client-entity.ts';
import type { DatabaseLog } from '../health.ts';
import { LookUps } from '../look-ups.ts';
import type { Runner } from '../runner.ts';
import { migratedTable } from '../table.ts';

/** The table of the keys of clients, as `npm run migrate` creates it. */
export const CLIENT_KEYS = migratedTable(
  'client_keys',
  'read',
  ...['client_id', 'registration_id', 'key_id', 'jwk', 'expires_at', 'created_at'],
);

/** The one row of FIND_KEYS for an id. */
interface KeysRecord {
  /** As it was asked for, and as the column of `clients` writes it. */
  readonly clientId: string;
  /** Null for an unknown client id. */
  readonly registrationId: string | null;
  /** How many registrations have the client id. */
  readonly rows: string;
  /** JSON; of a client without keys, of one that is not its own, and false. */
  readonly keys: string;
}

/** In the place of keys while the table is empty. No point has these coordinates. */
const NO_KEY = JSON.stringify({
  kty: 'EC',
  crv: 'P-256',
  x: 'A'.repeat(43),
  y: 'A'.repeat(43),
  kid: 'none',
  alg: 'ES256',
});

const { id: ID, clientId: CLIENT_ID } = CLIENTS.columns;

/**
 * Only the keys, the newest first, as one row for each id, whether it is registered or not. Each costs as much: for one without
 * keys, the first key of the table is read in its place. As in FIND_SECRET, an aggregate without rows gives null, and the id is
 * compared once more as text. Parameter: an array of client ids.
 */
export const FIND_KEYS = {
  name: 'find_keys',
  text: `select asked.id::text as "clientId", found.id as "registrationId", found.rows as "rows", kept.keys as "keys"
    from pg_catalog.unnest(${clientIds('$1')}) as asked (id),
      lateral (select pg_catalog.min(${ID}::text) as id, pg_catalog.count(*)::text as rows from $schema.clients
        where clients.${CLIENT_ID} operator(pg_catalog.=) asked.id
          and clients.${CLIENT_ID}::text = asked.id::text collate "C") as found,
      lateral (with newest as materialized (select jwk, expires_at from $schema.client_keys
          where client_id = asked.id::text collate "C" and registration_id = coalesce(found.id, '') collate "C"
          order by created_at desc, key_id limit ${DETAILS_MAX.keys}),
        other as materialized (select jwk, expires_at from $schema.client_keys where not exists (select from newest)
          order by client_id, registration_id, key_id limit 1)
        select pg_catalog.json_agg(pg_catalog.json_build_array(${bounded('jwk')}, expires_at, own))::text as keys from (
          select *, true as own from newest union all select *, false from other
          union all select '${NO_KEY}', 0, false where not exists (select from newest) and not exists (select from other)
        ) as keys) as kept`,
} as const;

const UNKNOWN: FoundKeys = { registrationId: undefined, keys: [] };

/** Keys in the table `client_keys`: read at every look-up, never written and never cached. */
export function postgresClientKeys(runner: Runner, log: DatabaseLog): ClientKeys {
  const lookUps = new LookUps<KeysRecord>(runner, FIND_KEYS);
  return {
    async findKeys(clientId) {
      const record = (await lookUps.find(clientId)).find((row) => row.clientId === clientId);
      if (record === undefined) return UNKNOWN;
      const keys = readKeys(record);
      if (record.registrationId === null) return UNKNOWN;
      if (record.rows !== '1') return { registrationId: record.registrationId, keys: [] };
      const usable = keys.flatMap((key) => {
        if (!key.ok) log({ event: 'registration_broken', client_id: clientId, field: 'jwk', rule: key.problem });
        return key.ok ? key.value : [];
      });
      return { registrationId: record.registrationId, keys: usable };
    },
  };
}

/** The keys of a record. Each is checked, since a row that was changed by hand may contain anything. */
function readKeys({ keys }: KeysRecord): readonly Result<ClientKey, string>[] {
  const rows: readonly (readonly [string, number | null, boolean])[] = JSON.parse(keys);
  const checked = rows.map(([jwk, expiresAt]) => {
    const read = readPublicJwk(parseJson(jwk));
    return read.ok
      ? success({ jwk: read.value, ...(expiresAt !== null && { expires_at: expiresAt }) })
      : failure(read.problem);
  });
  return rows[0]?.[2] === true ? checked : [];
}
