import type { ClientDetails, ClientKey, FederatedSubject, NamedSecret } from '../../domain/client-details.ts';
import { thumbprintInput } from '../../domain/public-jwk.ts';
import type { StoredDetails, StoredKey } from '../ports/client-store.ts';

/** The entries of each kind, with a member for each column. */
interface DetailEntries extends Readonly<Record<keyof ClientDetails, object>> {
  readonly secrets: NamedSecret;
  readonly keys: StoredKey;
  readonly subjects: FederatedSubject;
  readonly resources: { readonly resource: string };
}

/** A table of what registrations have beyond the table `clients`. Migrations of each storage create it. */
interface DetailTable<Entry> {
  readonly name: string;
  /** The columns that identify an entry of a registration. */
  readonly key: readonly (keyof Entry & string)[];
  readonly order: string;
  /** By the members of an entry. `json` is text that contains JSON. */
  readonly columns: Readonly<Record<keyof Entry & string, 'text' | 'bigint' | 'json'>>;
}

export const DETAIL_TABLES: { readonly [Kind in keyof ClientDetails]: DetailTable<DetailEntries[Kind]> } = {
  secrets: {
    name: 'client_secrets',
    key: ['secret_id'],
    order: 'created_at, secret_id',
    columns: { secret_id: 'text', name: 'text', encoded: 'text', expires_at: 'bigint' },
  },
  keys: {
    name: 'client_keys',
    key: ['key_id'],
    order: 'created_at, key_id',
    columns: { key_id: 'text', jwk: 'json', expires_at: 'bigint' },
  },
  subjects: {
    name: 'client_subjects',
    key: ['issuer', 'subject'],
    order: 'created_at, issuer, subject',
    columns: { issuer: 'text', subject: 'text', claims: 'json' },
  },
  resources: { name: 'client_resources', key: ['resource'], order: 'resource', columns: { resource: 'text' } },
};

export const DETAIL_KINDS = Object.keys(DETAIL_TABLES) as (keyof ClientDetails)[];

/** The SHA-256 digest of a text, in base64url. */
type Sha256 = (text: string) => string;

/** The keys with their ids (RFC 7638). */
export function withKeyIds(keys: readonly ClientKey[], sha256: Sha256): readonly StoredKey[] {
  return keys.map((key) => ({ ...key, key_id: sha256(thumbprintInput(key.jwk)) }));
}

/** The entries of one kind as the JSON array that statements take. Undefined if that kind is not given. */
export function entriesText(
  kind: keyof ClientDetails,
  { keys, resources, ...others }: Partial<ClientDetails>,
  sha256: Sha256,
): string | undefined {
  if (kind === 'keys') return keys && JSON.stringify(withKeyIds(keys, sha256));
  return JSON.stringify(kind === 'resources' ? resources?.map((resource) => ({ resource })) : others[kind]);
}

/**
 * The details of a row that has a JSON array for each kind. Members that are null are absent.
 *
 * @param read what a member means.
 */
export function detailsOf(
  row: Readonly<Record<keyof ClientDetails, string>>,
  read: (member: string, value: unknown) => unknown = (_member, value) => value,
): StoredDetails {
  const entriesOf = <Kind extends keyof ClientDetails>(kind: Kind): readonly DetailEntries[Kind][] =>
    JSON.parse(row[kind]).map((entry: object) => {
      const present = Object.entries(entry).filter(([, value]) => value !== null);
      return Object.fromEntries(present.map(([member, value]) => [member, read(member, value)]));
    });
  const resources = entriesOf('resources').map(({ resource }) => resource);
  return { secrets: entriesOf('secrets'), keys: entriesOf('keys'), subjects: entriesOf('subjects'), resources };
}
