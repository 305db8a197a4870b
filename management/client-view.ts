import type { ClientRecord } from '../adapters/postgres/client-record.ts';
import { ClientRegistration, type ClientRegistrationFields } from '../domain/client-registration.ts';
import { StoredSecret } from '../domain/stored-secret.ts';

/** What stands before a hash to lock it, in the manner of `/etc/shadow`: no secret matches, and the hash is kept. */
export const LOCK = '!';

/** The names of a registration's fields outside: columns of the table, members of a clients file. */
export const MEMBER_OF = {
  id: 'id',
  clientId: 'client_id',
  clientSecret: 'client_secret',
  clientName: 'client_name',
  scope: 'scope',
} as const satisfies Record<keyof ClientRegistrationFields, string>;

/** A registration as the program shows it, and as `--json` prints it. Never with its hash. */
export interface ClientView {
  /** The row's id, as text: it may be beyond 2^53. */
  readonly id: string;
  readonly client_id: string;
  readonly client_name: string;
  readonly scope: string;
  /** `broken` and `disabled` clients get no token. */
  readonly state: 'enabled' | 'disabled' | 'broken';
  /** log2 of the rounds, also of a locked hash; null where the secret is no BCrypt encoding. */
  readonly bcrypt_cost: number | null;
  /** Which rule the row breaks, so that the service refuses the client; null where it breaks none. */
  readonly problem: string | null;
}

/** Shows rows as they are, whatever is wrong with them. */
export function viewsOf(records: readonly ClientRecord[]): readonly ClientView[] {
  const counts = new Map<string | null, number>();
  for (const { clientId } of records) counts.set(clientId, (counts.get(clientId) ?? 0) + 1);
  return records.map((record) => viewOf(record, counts.get(record.clientId) ?? 1));
}

function viewOf(record: ClientRecord, rowsOfThisId: number): ClientView {
  const fields: ClientRegistrationFields = {
    id: record.id ?? '',
    clientId: record.clientId ?? '',
    clientSecret: record.clientSecret ?? '',
    clientName: record.clientName ?? '',
    scope: record.scope ?? '',
  };
  const isLocked = fields.clientSecret.startsWith(LOCK);
  const secret = StoredSecret.parse(fields.clientSecret.replace(/^!+/, ''));
  const problem = rowsOfThisId > 1 ? 'client_id must be unique' : problemOf(fields, secret);
  return {
    id: fields.id,
    client_id: fields.clientId,
    client_name: fields.clientName,
    scope: fields.scope,
    state: isLocked ? 'disabled' : problem === null ? 'enabled' : 'broken',
    bcrypt_cost: secret.kind === 'bcrypt' ? secret.cost : null,
    problem,
  };
}

function problemOf(fields: ClientRegistrationFields, secret: StoredSecret): string | null {
  const registration = ClientRegistration.of(fields);
  if (!registration.ok) return `${MEMBER_OF[registration.problem.field]} ${registration.problem.rule}`;
  return secret.kind === 'bcrypt' ? null : 'client_secret must be a BCrypt encoding of cost 4 to 14';
}
