import { isUtf8 } from 'node:buffer';
import { z } from 'zod';
import {
  ENTRY_BYTES_MAX,
  FILE_BYTES_MAX,
  type ImportEntry,
  type ImportProblem,
  type ReadDetails,
} from '../../application/ports/client-store.ts';
import { type ClientDetails, type ClientKey, DETAILS_MAX, NO_DETAILS } from '../../domain/client-details.ts';
import { type ClientFieldName, type ClientFields, eachField } from '../../domain/client-fields.ts';
import {
  ClientRegistration,
  FIELD_NAMES,
  isClientId,
  type NewClient,
  type RegistrationProblem,
} from '../../domain/client-registration.ts';
import { checkDetails } from '../../domain/details-rules.ts';
import { parseJson } from '../../domain/parse-json.ts';
import { readPublicJwk } from '../../domain/public-jwk.ts';
import { failure, type Result, success } from '../../domain/result.ts';
import { NO_SECRET, StoredSecret, unlock } from '../../domain/stored-secret.ts';
import { hasUnprintable, NO_UNPRINTABLE, printableJsonText } from '../../domain/unprintable.ts';
import { jsonFault } from './json-fault.ts';
import { type SecretRules, withSecrets } from './secret-reference.ts';

const TOO_LONG = {
  json: `it is longer than ${FILE_BYTES_MAX.json} bytes: write it as several files`,
  yaml: `it is longer than ${FILE_BYTES_MAX.yaml} bytes: write it as JSON, or as several files`,
} as const;

/** How a clients file is written. */
export type ClientsFormat = 'json' | 'yaml';

const TOO_MANY_BESIDE = `must be at most ${DETAILS_MAX.secrets - 1} beside client_secret`;

const UNUSABLE_SECRET = 'must be a BCrypt encoding of cost 4 to 14, or {noop} and a secret of 1 to 72 bytes';

const TEXT = z.string({ error: ({ input }) => (input === undefined ? 'is missing' : 'must be a string') });
const TIME = z.number('must be a time in whole seconds since the epoch').exactOptional();

/** How a field may be called. Another name may be a secret in the wrong place, and is not quoted. */
const FIELD_NAME = /^[a-z_]{1,40}$/;

function entryOf<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  const fields = Object.keys(shape).join(', ');
  const unknown = (names: readonly string[]) => {
    const shown = names.filter((name) => FIELD_NAME.test(name)).map((name) => ` \`${name}\``);
    return `has unknown fields${shown.join(',')}: it may have ${fields}`;
  };
  return z.strictObject(shape, {
    error: (issue) => (issue.code === 'unrecognized_keys' ? unknown(issue.keys) : 'must be an object'),
  });
}

function listOf<Entry extends z.ZodType>(entry: Entry) {
  return z.array(entry, 'must be an array').exactOptional();
}

/** A key of a JWK set, which may have `expires_at`. Unknown fields have no meaning (RFC 7517 section 4). */
const KEY = z
  .looseObject({ expires_at: TIME }, 'must be an object')
  .transform(({ expires_at, ...jwk }, { addIssue }): ClientKey => {
    const read = readPublicJwk(jwk);
    if (read.ok) return { ...read.value, ...(expires_at !== undefined && { expires_at }) };
    addIssue({ code: 'custom', message: read.problem });
    return z.NEVER;
  });

const GENERATED = z.literal(true, 'must be true').exactOptional();

const SECRET = entryOf({
  secret_id: TEXT,
  name: TEXT,
  client_secret: TEXT,
  expires_at: TIME,
  generated: GENERATED,
});

/** A record would leave out a condition called `__proto__`, so that the rule would accept more than is written. */
const SUBJECT = entryOf({
  issuer: TEXT,
  subject: TEXT,
  claims: z
    .unknown()
    .refine((claims) => !Object.hasOwn(Object(claims), '__proto__'), 'must not name __proto__')
    .pipe(z.record(z.string(), TEXT, 'must be an object'))
    .default({}),
});

/** The domain checks their values. */
const FIELDS = eachField(() => z.custom().exactOptional()) as {
  readonly [Name in ClientFieldName]: z.ZodExactOptional<z.ZodCustom<ClientFields[Name]>>;
};

/** What a resource may be: the domain checks the rest. */
const RESOURCE = 'must be a URI, or an object with resource and scope';

const DETAILS = {
  client_secret_expires_at: TIME,
  client_secret_generated: GENERATED,
  secrets: listOf(SECRET),
  jwks: z.object({ keys: z.array(KEY, 'must be an array') }, 'must be a JWK set').exactOptional(),
  federated_subjects: listOf(SUBJECT),
  resources: listOf(z.union([TEXT, entryOf({ resource: TEXT, scope: TEXT })], RESOURCE)),
  ...FIELDS,
} satisfies Record<keyof ClientDetails, z.ZodType>;

const DOCUMENT = entryOf(DETAILS);

const ANY_CLIENT = { id: 'x', clientId: 'x', clientSecret: NO_SECRET, clientName: 'x', scope: 'x' };

/** The invariants that the fields break: none depends on other fields, or on the id, which is assigned later. */
function brokenRulesOf(client: NewClient): readonly RegistrationProblem[] {
  if (ClientRegistration.toRegister({ ...ANY_CLIENT, ...client }).ok) return [];
  return Object.entries(client).flatMap(([field, text]) => {
    const registration = ClientRegistration.toRegister({ ...ANY_CLIENT, [field]: text });
    return registration.ok ? [] : registration.problem;
  });
}

/** An entry, before the rules of its values. */
export const ENTRY_SHAPE = entryOf({
  client_id: TEXT,
  client_secret: TEXT,
  client_name: TEXT,
  scope: TEXT,
  ...DETAILS,
});

const CLIENT = ENTRY_SHAPE.transform(
  ({ client_id, client_secret, client_name, scope, ...details }, { addIssue }): NewClient => {
    const client = { clientId: client_id, clientSecret: client_secret, clientName: client_name, scope };
    const { secrets } = details;
    const problem = (field: string, message: string) => addIssue({ code: 'custom', path: [field], message });
    const unlocked = unlock(client_secret);
    const broken = brokenRulesOf(client);
    for (const { field, rule } of broken) problem(FIELD_NAMES[field], rule);
    if (broken.some(({ field }) => field === 'clientSecret')) {
      // It cannot be read.
    } else if (unlocked !== NO_SECRET && StoredSecret.parse(unlocked).kind === 'unusable') {
      problem(FIELD_NAMES.clientSecret, UNUSABLE_SECRET);
    } else if (hasUnprintable(client_secret)) problem(FIELD_NAMES.clientSecret, NO_UNPRINTABLE);
    if (unlocked !== NO_SECRET && secrets?.length === DETAILS_MAX.secrets) {
      problem('secrets', TOO_MANY_BESIDE);
    }
    const checked = checkDetails({ ...NO_DETAILS, ...details });
    if (!checked.ok) {
      const { kind, position, rule } = checked.problem;
      problem(kind, position === undefined ? rule : `entry ${position} ${rule}`);
    }
    return Object.keys(details).length === 0 ? client : { ...client, details };
  },
);

/** A client that authenticates in another way needs no secret. */
const ENTRY = z.preprocess((entry) => {
  if (typeof entry !== 'object' || entry === null || 'client_secret' in entry) return entry;
  const { secrets, jwks, federated_subjects } = entry as Readonly<Record<string, unknown>>;
  const keys = (jwks as { readonly keys?: unknown } | null | undefined)?.keys ?? jwks;
  const authenticates = [secrets, keys, federated_subjects].some(
    (entries) => entries !== undefined && !(Array.isArray(entries) && entries.length === 0),
  );
  return authenticates ? { ...entry, client_secret: NO_SECRET } : entry;
}, CLIENT);

/**
 * Writes what readClientsFile reads: an entry on one line, or why it would be refused. It has each list, so that it
 * says all of the client.
 */
export function formatClient({ details, ...client }: NewClient): Result<string, readonly string[]> {
  const text = JSON.stringify({
    client_id: client.clientId,
    client_secret: client.clientSecret,
    client_name: client.clientName,
    scope: client.scope,
    ...NO_DETAILS,
    ...details,
  });
  const printable = printableJsonText(text);
  if (Buffer.byteLength(printable) > ENTRY_BYTES_MAX) return failure([`it is longer than ${ENTRY_BYTES_MAX} bytes`]);
  const read = ENTRY.safeParse(JSON.parse(printable));
  return read.success ? success(printable) : failure(read.error.issues.map(describeIssue));
}

/** Reads the details of a stored client, or says what is wrong with them; never with a value. */
export const readDetails: ReadDetails = (document) => {
  const read = DOCUMENT.safeParse(document);
  return read.success ? success(read.data) : failure(read.error.issues.map(describeIssue));
};

/**
 * Reads the JSON of a clients file: an array of objects with the fields `client_id`, `client_secret` (a BCrypt encoding
 * of cost 4 to 14, also with a lock in front, or `{noop}` and the plain secret, or a reference to a secret, or `*` for
 * none), `client_name` and `scope`, and those that other methods need. Returns every problem of the file, each with the
 * entry's position, counted from 0, its client and its field; never with a value, which may be a secret.
 */
export function readClientsFile(json: string, secrets: SecretRules): Result<readonly NewClient[], readonly string[]> {
  const entries = parseJson(json);
  if (!Array.isArray(entries)) return failure(['must be a JSON array']);
  const read = entries.map((entry, position) => readEntry(entry, position, secrets));
  const problems = read.flatMap((entry) => (entry.ok ? [] : entry.problem.map(describe)));
  problems.push(...repeatedIds(entries));
  return problems.length === 0 ? success(read.flatMap((entry) => (entry.ok ? entry.value : []))) : failure(problems);
}

/**
 * Reads a file for the programs. The same entries are refused as above, except that repeated ids are not found here.
 * One client may stand without an array, and in YAML each document may be a client or a list of them.
 */
export async function readClientEntries(
  bytes: Uint8Array,
  format: ClientsFormat,
  secrets: SecretRules,
): Promise<readonly ImportEntry[]> {
  const values = await valuesOf(bytes, format);
  if (!values.ok) return [failure([{ text: values.problem }])];
  return values.value.map((entry, position) => readEntry(entry, position, secrets));
}

async function valuesOf(bytes: Uint8Array, format: ClientsFormat): Promise<Result<readonly unknown[], string>> {
  if (bytes.length > FILE_BYTES_MAX[format]) return failure(TOO_LONG[format]);
  if ((bytes[0] ?? 0) >= 0xfe) return failure('is in UTF-16: save it as UTF-8');
  if (!isUtf8(bytes)) return failure('is not in UTF-8: save it as UTF-8');
  const text = Buffer.from(bytes).toString();
  if (format === 'json') {
    const value = parseJson(text);
    if (value === undefined) return failure(`is not JSON: ${jsonFault(text)}`);
    if (typeof value !== 'object' || value === null) return failure('must be a JSON array');
    return success(Array.isArray(value) ? value : [value]);
  }
  // Loaded here: it takes long, and the service does not need it.
  const { readYaml } = await import('./read-yaml.ts');
  const read = readYaml(text);
  if (!read.ok) return failure(read.problem);
  if (read.value.length === 0) return failure('the text is empty: write [] for a file without clients');
  return success(read.value.flat());
}

/** What is wrong with an entry names its client, if it has an id. */
function readEntry(entry: unknown, position: number, secrets: SecretRules): ImportEntry {
  const named = nameOf(entry);
  const resolved = withSecrets(entry, secrets);
  if (!resolved.ok) return failure(resolved.problem.map((texts) => ({ position, text: named + texts.join(' ') })));
  const client = ENTRY.safeParse(resolved.value.entry);
  const { generateTo } = resolved.value;
  if (client.success) {
    if (generateTo === undefined) return success(client.data);
    if (client.data.details?.secrets?.length !== DETAILS_MAX.secrets) return success({ ...client.data, generateTo });
    return failure([{ position, text: `${named}secrets ${TOO_MANY_BESIDE}` }]);
  }
  return failure(client.error.issues.map((issue) => ({ position, text: named + describeIssue(issue) })));
}

/**
 * A client whose secrets are encodings, or everything that is wrong with its entry. The code `secret` is that of each
 * secret that is none.
 */
export function checkEntry(entry: unknown) {
  const resolved = withSecrets(entry, { plain: 'refused', read: () => failure('') });
  const ofSecrets = resolved.ok ? [] : resolved.problem.map(([path]) => ({ path, code: 'secret', text: '' }));
  const given = resolved.ok ? resolved.value.entry : entry;
  const client = ENTRY.safeParse(given);
  const unknown =
    client.error?.issues.flatMap((issue) =>
      issue.code === 'unrecognized_keys' && issue.path.length === 0 ? issue.keys : [],
    ) ?? [];
  // The rules of values are checked only where no field is unknown.
  const known = Object.fromEntries(Object.entries(Object(given)).filter(([name]) => !unknown.includes(name)));
  const found = [
    ...(client.error?.issues ?? []),
    ...((unknown.length > 0 && ENTRY.safeParse(known).error?.issues) || []),
  ];
  const texts = new Map(found.map((issue) => [describeIssue(issue), issue]));
  const issues = [...texts.values()].map(({ path, code, message: text }) => ({ path: path.join('.'), code, text }));
  const others = issues.filter(({ path }) => ofSecrets.every((secret) => secret.path !== path));
  return { entry: client.data, problems: [...ofSecrets, ...others] };
}

/** Who an entry is about, if its id can be shown. */
function nameOf(entry: unknown): string {
  const id: unknown = Object(entry).client_id;
  return typeof id === 'string' && isClientId(id) && !hasUnprintable(id) ? `client ${id}: ` : '';
}

function describeIssue({ path: [field = 'it', ...inner], message }: z.core.$ZodIssue): string {
  return `${[field, ...inner].map(String).join('.')} ${message}`;
}

function describe({ position, text }: ImportProblem): string {
  return `entry ${position}: ${text}`;
}

/** Compares the ids of entries with other problems too. */
function repeatedIds(entries: readonly unknown[]): readonly string[] {
  const positions = new Map<unknown, number>();
  return entries.flatMap((entry, position) => {
    const { client_id: id } = (entry ?? {}) as { readonly client_id?: unknown };
    const first = positions.get(id) ?? position;
    positions.set(id, first);
    const text = `entry ${position}: ${nameOf(entry)}client_id is that of entry ${first}`;
    return typeof id === 'string' && first < position ? [text] : [];
  });
}
