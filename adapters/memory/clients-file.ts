import { z } from 'zod';
import type { ImportEntry } from '../../application/clients/import-clients.ts';
import { ClientRegistration, MEMBER_NAMES, type NewClient } from '../../domain/client-registration.ts';
import { failure, type Result, success } from '../../domain/result.ts';
import { type JsonEntry, readJsonArray } from './read-json-array.ts';

const OTHER_MEMBERS = 'has members other than client_id, client_secret, client_name and scope';
const UNUSABLE_SECRET = 'must be a BCrypt encoding of cost 4 to 14, or {noop} and a secret of 1 to 72 bytes';

const TEXT = z.string({ error: ({ input }) => (input === undefined ? 'is missing' : 'must be a string') });

const ENTRY = z
  .strictObject(
    { client_id: TEXT, client_secret: TEXT, client_name: TEXT, scope: TEXT },
    { error: ({ code }) => (code === 'unrecognized_keys' ? OTHER_MEMBERS : 'must be an object') },
  )
  .transform(({ client_id, client_secret, client_name, scope }) => {
    return { clientId: client_id, clientSecret: client_secret, clientName: client_name, scope };
  })
  .superRefine((client, { addIssue }) => {
    // The id is assigned later; the invariants of the other fields do not depend on it.
    const registration = ClientRegistration.of({ ...client, id: 'unregistered' });
    if (!registration.ok) {
      const { field, rule } = registration.problem;
      addIssue({ code: 'custom', path: [MEMBER_NAMES[field]], message: rule });
    } else if (registration.value.clientSecret.kind === 'unusable') {
      addIssue({ code: 'custom', path: [MEMBER_NAMES.clientSecret], message: UNUSABLE_SECRET });
    }
  });

/**
 * Reads the JSON of a clients file: an array of objects with the members `client_id`, `client_secret` (a BCrypt encoding
 * of cost 4 to 14, or `{noop}` and the plain secret), `client_name` and `scope`. Returns every problem of the file, each
 * with the entry's position, counted from 0, and its member; never with a value, which may be a secret.
 */
export function readClientsFile(json: string): Result<readonly NewClient[], readonly string[]> {
  const entries = parse(json);
  const file = z.array(ENTRY, 'must be a JSON array').safeParse(entries);
  const problems = [...(file.error?.issues ?? []).map(describe), ...repeatedIds(entries)];
  return file.success && problems.length === 0 ? success(file.data) : failure(problems);
}

/**
 * Reads a clients file of any size, one batch of entries at a time. The same entries are refused as above, except that
 * repeated ids are not found here.
 */
export async function* streamClientsFile(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<readonly ImportEntry[]> {
  let position = 0;
  for await (const batch of readJsonArray(chunks)) {
    yield batch.map((entry) => readEntry(entry, position++));
  }
}

function readEntry(entry: JsonEntry, position: number): ImportEntry {
  if (!entry.ok) {
    const { position: at, text } = entry.problem;
    return failure([at === undefined ? { text } : { position: at, text: `it ${text}` }]);
  }
  const client = ENTRY.safeParse(entry.value);
  if (client.success) return success(client.data);
  return failure(
    client.error.issues.map(({ path: [member = 'it'], message }) => ({
      position,
      text: `${String(member)} ${message}`,
    })),
  );
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    // The parser's message would quote the file.
    return undefined;
  }
}

function describe({ path: [position, member = 'it'], message }: z.core.$ZodIssue): string {
  return position === undefined ? message : `entry ${String(position)}: ${String(member)} ${message}`;
}

/** Compares the ids of entries with other problems too. */
function repeatedIds(entries: unknown): readonly string[] {
  if (!Array.isArray(entries)) return [];
  const positions = new Map<unknown, number>();
  return entries.flatMap((entry, position) => {
    const id = entry?.client_id;
    const first = positions.get(id) ?? position;
    positions.set(id, first);
    return typeof id === 'string' && first < position ? [`entry ${position}: client_id is that of entry ${first}`] : [];
  });
}
