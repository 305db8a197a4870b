import type { ClientKeys } from '../../../application/ports/client-keys.ts';
import { type ClientKey, DETAILS_MAX } from '../../../domain/client-details.ts';
import { parseJson } from '../../../domain/parse-json.ts';
import { readPublicJwk } from '../../../domain/public-jwk.ts';
import type { FileLog, FileReader } from '../file-reader.ts';
import { bounded, isStorable } from '../sqlite-client-repository.ts';

/** The newest keys first; of a client without keys, or an unknown one, the first key of the table, which costs as much. */
const FIND_KEYS = `with found as (select max(id) as id from clients where client_id = ?),
    own as (select ${bounded('jwk')} as jwk, min(expires_at, ${Number.MAX_SAFE_INTEGER}) as expires_at, 1 as own from client_keys
      where registration_id = (select id from found) order by created_at desc, key_id limit ${DETAILS_MAX.keys}),
    other as (select ${bounded('jwk')} as jwk, expires_at, 0 from client_keys where not exists (select 1 from own) limit 1)
  select (select id || '' from found) as "registrationId", keys.* from (select 1)
    left join (select * from own union all select * from other) as keys`;

interface KeyRecord {
  readonly registrationId: string | null;
  /** Null if the table is empty. */
  readonly jwk: string | null;
  readonly expires_at: number | null;
  readonly own: number | null;
}

/** Keys in the table `client_keys`: read at every look-up, never written and never cached. */
export function sqliteClientKeys(file: FileReader, log: FileLog): ClientKeys {
  return {
    async findKeys(clientId) {
      const records = isStorable(clientId) ? file.read<KeyRecord>(FIND_KEYS, clientId) : [];
      const keys = records.flatMap(({ jwk, expires_at, own }) => {
        // A row that was changed by hand may contain anything.
        const read = readPublicJwk(parseJson(jwk ?? ''));
        if (own !== 1) return [];
        if (!read.ok) log({ event: 'registration_broken', client_id: clientId, field: 'jwk', rule: read.problem });
        return read.ok ? ({ jwk: read.value, ...(expires_at !== null && { expires_at }) } satisfies ClientKey) : [];
      });
      return { registrationId: records[0]?.registrationId ?? undefined, keys };
    },
  };
}
