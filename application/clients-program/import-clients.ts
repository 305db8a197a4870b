import { DETAIL_FIELDS, type NamedSecret } from '../../domain/client-details.ts';
import { FIELD_NAMES, type NewClient } from '../../domain/client-registration.ts';
import { failure, type Result, success } from '../../domain/result.ts';
import { StoredSecret } from '../../domain/stored-secret.ts';
import type {
  ClientImport,
  ExistingClients,
  FileClient,
  ImportCounts,
  ImportEntry,
  ImportedFile,
  ImportProblem,
  PlannedClient,
  StoredClient,
} from '../ports/client-store.ts';
import { type CheckRule, type ManagementParts, problemOfRules } from './change-client.ts';

/** The import ends after so many problems. */
export const PROBLEMS_MAX = 100;

export interface ImportOptions {
  /** BCrypt cost of plain secrets, 4 to 14. */
  readonly cost: number;
  readonly existing: ExistingClients;
  /** What was read, for the audit log; called when all entries have been read. Undefined for a rehearsal, which stores nothing. */
  readonly file: (() => ImportedFile) | undefined;
}

/** What an import has done. The ids can be read until the store is closed. */
export interface ImportedClients extends Pick<ClientImport, 'ids'> {
  readonly counts: ImportCounts;
}

type ImportParts = Pick<ManagementParts, 'store' | 'encodeSecret' | 'checkRule'>;

/**
 * Registers clients with their details, all or none. Plain secrets are hashed, BCrypt encodings and locks are stored as they
 * are. One batch of entries is held in memory at a time.
 *
 * @returns at most PROBLEMS_MAX problems, if there is any.
 */
export async function importClients(
  parts: ImportParts,
  batches: AsyncIterable<readonly ImportEntry[]>,
  { cost, existing, file }: ImportOptions,
): Promise<Result<ImportedClients, readonly ImportProblem[]>> {
  const clients = await parts.store.startImport();
  const encode = encoderOf(parts, file && cost);
  const hashed = (batch: readonly FileClient[]) =>
    Promise.all(batch.map(async (client) => success(await withHashes(client, encode))));
  const problems = await addAll(parts, clients, batches, hashed);
  if (problems.length > 0) return failure(problems.slice(0, PROBLEMS_MAX));
  const saved = await clients.save(file?.(), existing);
  if (saved.ok) return success({ counts: saved.value, ids: (kind) => clients.ids(kind) });
  const text = `${FIELD_NAMES.clientId} is registered already`;
  return failure(saved.problem.slice(0, PROBLEMS_MAX).map((position) => ({ position, text })));
}

/** What is added of the clients of a batch, each or why not. */
type Prepare = (batch: readonly FileClient[]) => Promise<readonly Result<NewClient | PlannedClient, string>[]>;

/** Adds the entries, as they are prepared, and returns their problems. After the first problem, entries are only checked. */
export async function addAll(
  { checkRule }: Pick<ImportParts, 'checkRule'>,
  clients: ClientImport,
  batches: AsyncIterable<readonly ImportEntry[]>,
  prepare: Prepare,
): Promise<readonly ImportProblem[]> {
  const problems: ImportProblem[] = [];
  let position = 0;
  for await (const batch of batches) {
    const found = batch.flatMap((entry, index) =>
      entry.ok ? problemsOf(entry.value, position + index, checkRule) : entry.problem,
    );
    problems.push(...found.slice(0, PROBLEMS_MAX));
    if (problems.length === 0) {
      const prepared = await prepare(batch.flatMap((entry) => (entry.ok ? entry.value : [])));
      for (const [index, one] of prepared.entries()) {
        if (!one.ok) problems.push({ position: position + index, text: one.problem });
      }
      const valid = problems.length === 0 ? prepared.flatMap((one) => (one.ok ? one.value : [])) : [];
      problems.push(...(await clients.add(valid)).map(describeRepetition));
    }
    if (problems.length >= PROBLEMS_MAX) break;
    position += batch.length;
  }
  return problems;
}

/** What is stored of a secret of a file, which is a BCrypt encoding, or none. */
export type Encode = (given: string, stored?: string) => Promise<string>;

/** Hashes plain secrets. Without a cost, no secret leaves this process. */
export function encoderOf({ encodeSecret }: Pick<ImportParts, 'encodeSecret'>, cost: number | undefined): Encode {
  return async (text) => {
    const secret = StoredSecret.parse(text);
    if (secret.kind !== 'plain') return text;
    return cost === undefined ? UNMATCHED : encodeSecret(secret.reveal(), cost);
  };
}

/** The client with what is stored of its secrets. @param stored the client as it is stored, if it is. */
export async function withHashes(client: FileClient, encode: Encode, stored?: StoredClient): Promise<FileClient> {
  const encodeNamed = async (secret: NamedSecret) => {
    const same = stored?.details.secrets.find(({ secret_id }) => secret_id === secret.secret_id);
    return { ...secret, encoded: await encode(secret.encoded, same?.encoded) };
  };
  const clientSecret = await encode(client.clientSecret, stored?.client.clientSecret);
  const { details } = client;
  if (!details?.secrets) return { ...client, clientSecret };
  return {
    ...client,
    clientSecret,
    details: { ...details, secrets: await Promise.all(details.secrets.map(encodeNamed)) },
  };
}

function problemsOf(client: NewClient, position: number, checkRule: CheckRule): readonly ImportProblem[] {
  const weak = problemOfRules(client.details?.subjects ?? [], checkRule);
  const text = weak && `client ${client.clientId}: ${DETAIL_FIELDS[weak.kind]} entry ${weak.position} ${weak.rule}`;
  return [...unstorableFields(client, position), ...(text === undefined ? [] : [{ position, text }])];
}

/**
 * What a rehearsal sends in place of a plain secret: a BCrypt encoding that nothing matches. What is rolled back stays in the
 * files of the database for a while.
 */
const UNMATCHED = `$2b$10$${'.'.repeat(53)}`;

/** Texts that a database cannot store: a NUL, and half of a surrogate pair. */
function unstorableFields(client: NewClient, position: number): readonly ImportProblem[] {
  return (['clientId', 'clientName'] as const)
    .filter((field) => !client[field].isWellFormed() || client[field].includes('\0'))
    .map((field) => ({ position, text: `${FIELD_NAMES[field]} must be Unicode text without NUL` }));
}

function describeRepetition({ position, first }: { position: number; first: number }): ImportProblem {
  return { position, text: `${FIELD_NAMES.clientId} is that of`, other: first };
}
