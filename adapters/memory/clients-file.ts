import type { ClientRegistrationFields } from '../../domain/client-registration.ts';
import { ClientRegistration } from '../../domain/client-registration.ts';
import { failure, type Result, success } from '../../domain/result.ts';
import { StoredSecret } from '../../domain/stored-secret.ts';

type Fields = Omit<ClientRegistrationFields, 'id'>;

const MEMBERS = {
  client_id: 'clientId',
  client_secret: 'clientSecret',
  client_name: 'clientName',
  scope: 'scope',
} as const;

/**
 * Reads the JSON of a clients file: an array of objects with the members `client_id`, `client_secret` (a BCrypt encoding
 * of cost 4 to 14, or `{noop}` and the plain secret), `client_name` and `scope`. Answers every problem there is, each
 * with the entry's position, counted from 0, and its member; never with a value, which may be a secret.
 */
export function readClientsFile(json: string): Result<readonly Fields[], readonly string[]> {
  const entries = parseArray(json);
  if (entries === undefined) return failure(['must be a JSON array']);

  const problems: string[] = [];
  const clients: Fields[] = [];
  const positions = new Map<string, number>();
  entries.forEach((entry, position) => {
    const fields = readEntry(entry, (member, rule) => problems.push(`entry ${position}: ${member} ${rule}`));
    if (fields === undefined) return;
    const first = positions.get(fields.clientId);
    if (first !== undefined) problems.push(`entry ${position}: client_id is that of entry ${first}`);
    positions.set(fields.clientId, position);
    clients.push(fields);
  });
  return problems.length === 0 ? success(clients) : failure(problems);
}

function parseArray(json: string): unknown[] | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return Array.isArray(value) ? value : undefined;
  } catch {
    // The parser's message would quote the file.
    return undefined;
  }
}

function readEntry(entry: unknown, report: (member: string, rule: string) => void): Fields | undefined {
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) {
    report('it', 'must be an object');
    return undefined;
  }
  const given = entry as Record<string, unknown>;
  const unknown = Object.keys(given).filter((member) => !Object.hasOwn(MEMBERS, member));
  if (unknown.length > 0) report('it', 'has members other than client_id, client_secret, client_name and scope');

  const missing = Object.keys(MEMBERS).filter((member) => typeof given[member] !== 'string');
  for (const member of missing) report(member, Object.hasOwn(given, member) ? 'must be a string' : 'is missing');
  if (missing.length > 0) return undefined;

  const text = (member: keyof typeof MEMBERS) => String(given[member]);
  const fields: Fields = {
    clientId: text('client_id'),
    clientSecret: text('client_secret'),
    clientName: text('client_name'),
    scope: text('scope'),
  };
  // The id is made later; the invariants of the others hold without it.
  const registration = ClientRegistration.of({ ...fields, id: 'unregistered' });
  if (!registration.ok) {
    const { field, rule } = registration.problem;
    report(memberOf(field), rule);
  } else if (StoredSecret.parse(fields.clientSecret).kind === 'unusable') {
    report('client_secret', 'must be a BCrypt encoding of cost 4 to 14, or {noop} and a secret of 1 to 72 bytes');
  }
  return fields;
}

function memberOf(field: keyof ClientRegistrationFields): string {
  return Object.entries(MEMBERS).find(([, own]) => own === field)?.[0] ?? field;
}
