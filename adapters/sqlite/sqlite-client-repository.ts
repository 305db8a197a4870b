import {
  type ClientRow,
  candidatesOfRow,
  DETAILS_BYTES_MAX,
  isStorable,
  keysOfRow,
  logBroken,
  lookupOfRow,
  secretOfRow,
} from '../../application/client-lookup.ts';
import { INSPECTED_MAX } from '../../application/inspect-clients.ts';
import {
  type ClientLookup,
  type ClientRepository,
  type ClientWithKeys,
  FEDERATED_CANDIDATES_MAX,
  type FederatedCandidate,
  type FederatedIdentity,
} from '../../application/ports/client-repository.ts';
import { ENTRY_BYTES_MAX } from '../../application/ports/client-store.ts';
import type { Clock } from '../../application/ports/clock.ts';
import type { StatementTimes } from '../../application/ports/telemetry.ts';
import { followCosts } from '../../application/storage-figures.ts';
import { BCRYPT_COST_MAX, BCRYPT_COST_MIN, type StoredSecret } from '../../domain/stored-secret.ts';
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

/** As many clients as the doctor looks at. */
const LIST_CLIENTS = `select ${columns(FOR_SECRETS)} from clients limit ${INSPECTED_MAX}`;

const FIND_CLIENT = `select ${columns(FOR_SECRETS)} from clients where client_id = ?`;

/** One row whether the client id is registered or not. Details are read only for the secrets with ids. */
const FIND_SECRET = `select max(client_secret) as "clientSecret",
  case when ?2 then max(coalesce(json_object('secrets', details -> '$.secrets'), '{}')) else '{}' end as details
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

/** Registrations in a file that `npm run clients` manages: read at every look-up, never written and never cached. */
export class SqliteClientRepository implements ClientRepository {
  readonly #file: FileReader;
  readonly #log: FileLog;
  readonly #clock: Clock;

  constructor(file: FileReader, log: FileLog, clock: Clock) {
    this.#file = file;
    this.#log = log;
    this.#clock = clock;
  }

  async findByClientId(clientId: string, secretId?: string): Promise<ClientLookup> {
    if (!isStorable(clientId)) return { kind: 'unknown' };
    const [row] = this.#file.read<ClientRow>(FIND_CLIENT, clientId);
    if (row === undefined) return { kind: 'unknown' };
    const lookup = lookupOfRow(row, this.#clock.now(), secretId);
    logBroken(this.#log, clientId, lookup);
    return lookup;
  }

  async findSecret(clientId: string, secretId?: string): Promise<StoredSecret | undefined> {
    if (!isStorable(clientId)) return undefined;
    const [row] = this.#file.read<{ readonly clientSecret: string | null; readonly details: string }>(
      FIND_SECRET,
      ...[clientId, secretId === undefined ? 0 : 1],
    );
    if (row === undefined || row.clientSecret === null) return undefined;
    return secretOfRow({ ...row, clientSecret: row.clientSecret }, this.#clock.now(), secretId);
  }

  async findWithKeys(clientId: string): Promise<ClientWithKeys> {
    const found = isStorable(clientId)
      ? this.#file.read<ClientRow & { readonly own: number }>(FIND_WITH_KEYS, clientId)
      : [];
    const [row] = found;
    const known = keysOfRow(row?.own === 1 ? row : undefined, row, this.#log, this.#clock.now());
    logBroken(this.#log, clientId, known.lookup);
    return known;
  }

  async findBySubject(identity: FederatedIdentity): Promise<readonly FederatedCandidate[]> {
    const { issuer, subject, clientId = '' } = identity;
    const texts = [issuer, subject, clientId];
    // The driver would bind half a surrogate pair as U+FFFD. The look-up is made anyway, for a subject that no rule has.
    const values = texts.every((text) => text.isWellFormed()) ? texts : [issuer, '', ''];
    const rows = this.#file.read<ClientRow>(FIND_BY_SUBJECT, ...values);
    const candidates = rows.flatMap((row) => candidatesOfRow(row, identity, this.#clock.now()));
    for (const { clientId: id, lookup } of candidates) logBroken(this.#log, id, lookup);
    return candidates;
  }

  /** The BCrypt costs that stored secrets have. Throws DependencyUnavailable. */
  async findCosts(): Promise<readonly number[]> {
    const costs = this.#file.read<{ readonly cost: string }>(FIND_COSTS).map(({ cost }) => Number(cost));
    return costs.filter((cost) => cost >= BCRYPT_COST_MIN && cost <= BCRYPT_COST_MAX);
  }
}

/** The repository on a file, and the costs of its secrets. Throws FileUnusable if waiting would not help. */
export async function openClientRepository(path: string, log: FileLog, clock: Clock, times?: StatementTimes) {
  const file = await FileReader.open(path, log, times);
  const clients = new SqliteClientRepository(file, log, clock);
  // While the file cannot be read, it says so itself.
  const listRows = async () => file.read<ClientRow>(LIST_CLIENTS);
  return { clients, listRows, ...followCosts(file, () => clients.findCosts().catch(() => undefined)) };
}
