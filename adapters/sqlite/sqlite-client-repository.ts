import { logBroken, lookupOf } from '../../application/client-lookup.ts';
import type { ClientLookup, ClientRepository } from '../../application/ports/client-repository.ts';
import type { ClientResources } from '../../application/ports/client-resources.ts';
import type { StatementTimes } from '../../application/ports/telemetry.ts';
import { followFigures } from '../../application/storage-figures.ts';
import { DETAILS_MAX, EXPIRES_SOON_SECONDS, type ExpiringCredentials } from '../../domain/client-details.ts';
import { type ClientRegistrationFields, FIELD_BYTES_MAX, isClientId } from '../../domain/client-registration.ts';
import { BCRYPT_COST_MAX, BCRYPT_COST_MIN, StoredSecret, selectSecret } from '../../domain/stored-secret.ts';
import { type FileLog, FileReader } from './file-reader.ts';

/** The columns of a registration, by its fields. */
export const FIELDS = `clients.id || '' as "id", clients.client_id as "clientId", client_secret as "clientSecret",
  client_name as "clientName", scope`;

/** A text, or zeros that are longer than any valid one in place of more bytes. SQLite knows the length without reading the text. */
export const bounded = (text: string, bytes = FIELD_BYTES_MAX) =>
  `case when octet_length(${text}) > ${bytes} then hex(zeroblob(${bytes})) else ${text} end`;

/** The same for look-ups. */
export const LOOKED_UP = `clients.id || '' as "id", ${bounded('clients.client_id')} as "clientId",
  ${bounded('client_secret')} as "clientSecret", ${bounded('client_name')} as "clientName", ${bounded('scope')} as scope`;

/** The encoding of the secret that an id selects. The look-up is made whether the client is registered or not. */
const namedSecretOf = (registrationId: string) => `(select ${bounded('encoded')} from client_secrets
    where registration_id = coalesce(${registrationId}, 0) and secret_id = ?2
      and (expires_at is null or expires_at > unixepoch())) as "named"`;

const FIND_CLIENT = `select ${LOOKED_UP}, ${namedSecretOf('clients.id')} from clients where client_id = ?1`;

/** One row whether the client id is registered or not. */
const FIND_SECRET = `select secret, id, ${namedSecretOf('id')}
  from (select max(${bounded('client_secret')}) as secret, max(id) as id from clients where client_id = ?1)`;

/** As two digits, also behind a lock or another prefix. Reads the whole table: once, when the service starts. */
const FIND_COSTS = `select distinct substr(encoded, instr(encoded, '$2') + 4, 2) as "cost"
  from (select client_secret as encoded from clients union all select encoded from client_secrets)
  where octet_length(encoded) <= ${FIELD_BYTES_MAX} and encoded like '%$2_$__$%'`;

const countExpiring = (table: string) => `(select count(*) from ${table}
    where expires_at > unixepoch() and expires_at <= unixepoch() + ${EXPIRES_SOON_SECONDS})`;
const COUNT_EXPIRING = `select ${countExpiring('client_secrets')} as "secrets", ${countExpiring('client_keys')} as "keys"`;

interface SecretRecord {
  /** Null for an unknown client id. */
  readonly secret: string | null;
  readonly named: string | null;
}

/** Registrations in a file that `npm run clients` manages: read at every look-up, never written and never cached. */
export class SqliteClientRepository implements ClientRepository {
  readonly #file: FileReader;
  readonly #log: FileLog;

  constructor(file: FileReader, log: FileLog) {
    this.#file = file;
    this.#log = log;
  }

  async findByClientId(clientId: string, secretId = ''): Promise<ClientLookup> {
    if (!isStorable(clientId)) return { kind: 'unknown' };
    const [record] = this.#file.read<ClientRegistrationFields & { readonly named: string | null }>(
      FIND_CLIENT,
      ...[clientId, secretId],
    );
    if (record === undefined) return { kind: 'unknown' };
    const lookup = lookupOf({ ...record, clientSecret: selectSecret(record.clientSecret, record.named ?? undefined) });
    logBroken(this.#log, clientId, lookup);
    return lookup;
  }

  async findSecret(clientId: string, secretId = ''): Promise<StoredSecret | undefined> {
    if (!isStorable(clientId)) return undefined;
    const [{ secret, named } = { secret: null, named: null }] = this.#file.read<SecretRecord>(
      FIND_SECRET,
      ...[clientId, secretId],
    );
    return secret === null ? undefined : StoredSecret.parse(selectSecret(secret, named ?? undefined));
  }

  /** The BCrypt costs that stored secrets have. Throws DependencyUnavailable. */
  async findCosts(): Promise<readonly number[]> {
    const costs = this.#file.read<{ readonly cost: string }>(FIND_COSTS).map(({ cost }) => Number(cost));
    return costs.filter((cost) => cost >= BCRYPT_COST_MIN && cost <= BCRYPT_COST_MAX);
  }

  /** The credentials that expire soon. Throws DependencyUnavailable. */
  async countExpiring(): Promise<Partial<ExpiringCredentials>> {
    return { ...this.#file.read<ExpiringCredentials>(COUNT_EXPIRING)[0] };
  }
}

/** The driver would bind half a surrogate pair as U+FFFD, which another client id may contain. */
export function isStorable(clientId: string): boolean {
  return isClientId(clientId) && clientId.isWellFormed();
}

const FIND_RESOURCES = `select ${bounded('resource')} as resource from client_resources join clients on registration_id = clients.id
  where client_id = ? and clients.id = ? order by client_resources.resource limit ${DETAILS_MAX.resources}`;

/** Resources in the table `client_resources`: read at every look-up, never written and never cached. */
export function sqliteClientResources(file: FileReader): ClientResources {
  return {
    async findResources({ id, clientId }) {
      return file.read<{ readonly resource: string }>(FIND_RESOURCES, clientId, id).map(({ resource }) => resource);
    },
  };
}

/** The repository on a file, what of it expires soon, and the costs of its secrets. Throws FileUnusable if waiting would not help. */
export async function openClientRepository(path: string, log: FileLog, times?: StatementTimes) {
  const file = await FileReader.open(path, log, times);
  const clients = new SqliteClientRepository(file, log);
  // While the file cannot be read, it says so itself.
  const figures = followFigures(file, {
    countExpiring: () => clients.countExpiring().catch(() => ({})),
    findCosts: () => clients.findCosts().catch(() => undefined),
  });
  return { clients, resources: sqliteClientResources(file), file, ...figures };
}
