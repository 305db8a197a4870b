import { type ClientRow, COLUMN_BYTES_MAX, type CredentialRow } from '../../application/client-lookup.ts';
import { FEDERATED_CANDIDATES_MAX } from '../../application/ports/client-repository.ts';
import type { StatementTimes } from '../../application/ports/telemetry.ts';
import { costsIn, followCosts } from '../../application/storage-figures.ts';
import { type FileLog, FileReader } from './file-reader.ts';

/** Null for what is longer than a valid column: other clients would wait for it. */
const column = (name: keyof typeof COLUMN_BYTES_MAX) =>
  `case when octet_length(${name}) > ${COLUMN_BYTES_MAX[name]} then 'null' else ${name} end as ${name}`;

const CREDENTIALS = `clients.client_id as "clientId", client_secret as "clientSecret", ${column('credentials')}`;

const COLUMNS = `clients.id || '' as "id", ${CREDENTIALS}, client_name as "clientName", scope, ${column('details')}`;

const FIND_CLIENT = `select ${COLUMNS} from clients where client_id = ?`;

/**
 * One row, whether the client id is registered or not. Of an unknown one, that of another client, which takes as long.
 * The condition that is always true looks for that one where the client is found.
 */
const FIND_CREDENTIALS = `select ${CREDENTIALS} from clients where id = coalesce(
  (select id from clients where client_id = ?1
    and (select id from clients where id >= ?2 order by id limit 1) is not -1),
  (select id from clients where id >= ?2 order by id limit 1),
  (select max(id) from clients))`;

/** Parameters: issuer, subject, and a client id or an empty text for all. */
const FIND_BY_SUBJECT = `select ${COLUMNS} from client_subjects join clients on clients.id = row_id
  where issuer = ?1 and subject = ?2 and (?3 = '' or client_id = ?3) order by client_id limit ${FEDERATED_CANDIDATES_MAX}`;

/** As two digits, also behind a lock or another prefix. Reads the whole table: once, when the service starts. */
const FIND_COSTS = `select distinct substr(encoded, instr(encoded, '$2') + 4, 2) as "cost"
  from (select client_secret as encoded from clients
    union all select value ->> 'client_secret' from clients, json_each(credentials, '$.secrets') where type = 'object')
  where encoded like '%$2_$__$%'`;

/** The rows of the table `clients` in a file that `npm run clients` manages. Throws if waiting would not help. */
export async function openClientRows(path: string, log: FileLog, times?: StatementTimes) {
  const file = await FileReader.open(path, log, times);
  const rows = {
    find: async (clientId: string) => file.read<ClientRow>(FIND_CLIENT, clientId)[0],
    findCredentials: async (clientId: string, decoy: number) =>
      file.read<CredentialRow>(FIND_CREDENTIALS, clientId, decoy)[0],
    highestId: () => file.highestId,
    findBySubject: async (issuer: string, subject: string, clientId: string) =>
      file.read<ClientRow>(FIND_BY_SUBJECT, issuer, subject, clientId),
  };
  // While the file cannot be read, it says so itself.
  const findCosts = async () => costsIn(file.read<{ readonly cost: string }>(FIND_COSTS));
  return { rows, ...followCosts(file, () => findCosts().catch(() => undefined)) };
}
