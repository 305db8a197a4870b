import { type ClientRow, DETAILS_BYTES_MAX } from '../../application/client-lookup.ts';
import { FEDERATED_CANDIDATES_MAX } from '../../application/ports/client-repository.ts';
import { ENTRY_BYTES_MAX } from '../../application/ports/client-store.ts';
import type { StatementTimes } from '../../application/ports/telemetry.ts';
import { costsIn, followCosts } from '../../application/storage-figures.ts';
import { type FileLog, FileReader } from './file-reader.ts';

/** The columns of a client, with a part of its details. */
const columns = (details: string) => `clients.id || '' as "id", clients.client_id as "clientId",
  client_secret as "clientSecret", client_name as "clientName", scope, ${details} as details`;

/** Small parts: a long list of keys or subjects costs a client with a secret nothing. */
const FOR_SECRETS = within(DETAILS_BYTES_MAX, `json_remove(details, '$.jwks', '$.federated_subjects')`);
const FOR_KEYS = within(DETAILS_BYTES_MAX, `json_remove(details, '$.federated_subjects')`);
const FOR_SUBJECTS = within(ENTRY_BYTES_MAX, `json_remove(details, '$.jwks')`);

/** Null for what is longer than valid details: other clients would wait for it. */
function within(bytesMax: number, part: string): string {
  return `case when octet_length(${part}) > ${bytesMax} then 'null' else ${part} end`;
}

const FIND_CLIENT = `select ${columns(FOR_SECRETS)} from clients where client_id = ?`;

/** One row whether the client id is registered or not. Details are read only for the secrets with ids, unless these are longer than valid details. */
const FIND_SECRET = `select max(client_secret) as "clientSecret",
  coalesce(max(case when ?2 and octet_length(details -> '$.secrets') <= ${DETAILS_BYTES_MAX}
    then json_object('secrets', details -> '$.secrets') end), '{}') as details
  from clients where client_id = ?1`;

/** Of an unknown client, the first one is read: it costs as much. */
const FIND_WITH_KEYS = `select * from (select ${columns(FOR_KEYS)}, 1 as own from clients where client_id = ?1)
  union all select * from (select ${columns(FOR_KEYS)}, 0 from clients order by client_id limit 1)
    where not exists (select 1 from clients where client_id = ?1)`;

/** Parameters: issuer, subject, and a client id or an empty text for all. */
const FIND_BY_SUBJECT = `select ${columns(FOR_SUBJECTS)} from client_subjects join clients on clients.id = row_id
  where issuer = ?1 and subject = ?2 and (?3 = '' or client_id = ?3) order by client_id limit ${FEDERATED_CANDIDATES_MAX}`;

/** As two digits, also behind a lock or another prefix. Reads the whole table: once, when the service starts. */
const FIND_COSTS = `select distinct substr(encoded, instr(encoded, '$2') + 4, 2) as "cost"
  from (select client_secret as encoded from clients
    union all select value ->> 'client_secret' from clients, json_each(details, '$.secrets') where type = 'object')
  where encoded like '%$2_$__$%'`;

/** The rows of the table `clients` in a file that `npm run clients` manages. Throws if waiting would not help. */
export async function openClientRows(path: string, log: FileLog, times?: StatementTimes) {
  const file = await FileReader.open(path, log, times);
  const rows = {
    find: async (clientId: string) => file.read<ClientRow>(FIND_CLIENT, clientId)[0],
    findSecret: async (clientId: string, hasId: boolean) =>
      file.read<{ readonly clientSecret: string | null; readonly details: string }>(
        FIND_SECRET,
        clientId,
        Number(hasId),
      )[0],
    findWithKeys: async (clientId: string) =>
      file.read<ClientRow & { readonly own: number }>(FIND_WITH_KEYS, clientId)[0],
    findBySubject: async (issuer: string, subject: string, clientId: string) =>
      file.read<ClientRow>(FIND_BY_SUBJECT, issuer, subject, clientId),
  };
  // While the file cannot be read, it says so itself.
  const findCosts = async () => costsIn(file.read<{ readonly cost: string }>(FIND_COSTS));
  return { rows, ...followCosts(file, () => findCosts().catch(() => undefined)) };
}
