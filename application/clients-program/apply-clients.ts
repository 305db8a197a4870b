import {
  type ClientDetails,
  DETAIL_FIELDS,
  type NamedSecret,
  NO_DETAILS,
  withoutEmpty,
} from '../../domain/client-details.ts';
import { FIELD_NAMES, type NewClient } from '../../domain/client-registration.ts';
import { documentOf } from '../../domain/details-document.ts';
import { failure, type Result, success } from '../../domain/result.ts';
import { NO_SECRET, replaceSecret, StoredSecret, unlock } from '../../domain/stored-secret.ts';
import type {
  ClientImport,
  FileClient,
  ImportEntry,
  ImportedFile,
  ImportProblem,
  PlanCounts,
  PlannedClient,
  StoredClient,
  VersionedClient,
} from '../ports/client-store.ts';
import type { MatchSecret } from '../ports/new-secrets.ts';
import type { SecretFiles } from '../ports/secret-files.ts';
import type { ManagementParts } from './change-client.ts';
import { hasSecretWithoutId } from './describe-client.ts';
import { addAll, type Encode, encoderOf, PROBLEMS_MAX, withHashes } from './import-clients.ts';
import { newSecret } from './new-secret.ts';

/** The most secrets that one plan generates: they wait in memory until they are written. */
export const GENERATED_MAX = 10_000;

export interface PlanOptions {
  /** BCrypt cost of plain secrets, 4 to 14; undefined if the plan is only shown. */
  readonly cost: number | undefined;
  /** Whose clients the file has; undefined: each entry says it, or nobody. */
  readonly owner: string | undefined;
  /** What happens to stored clients of the file without an owner. */
  readonly unowned: 'refuse' | 'adopt';
  /** What happens to stored clients of the owner that the file does not have. */
  readonly others: 'keep' | 'remove';
  /** Called with the number of plain secrets that were compared with stored ones, which takes long. */
  readonly onCompared: (count: number) => void;
}

/** What a file would change. It can be read until the store is closed. */
export interface ClientsPlan extends Pick<ClientImport, 'plan'> {
  readonly counts: PlanCounts;
  /**
   * Does it, all or nothing, and writes generated secrets to their files before. Fails if a client was changed since, or a
   * secret cannot be written. A fault leaves the files: nobody knows whether the change was made.
   */
  apply(file: ImportedFile): Promise<Result<PlanCounts, string>>;
}

export interface ApplyParts
  extends Pick<ManagementParts, 'store' | 'encodeSecret' | 'generateSecret' | 'clock' | 'checkRule'> {
  readonly matchSecret: MatchSecret;
  readonly secretFiles: SecretFiles;
}

/** A generated secret that is not written yet, by its file. */
type Generated = Map<string, string>;

/**
 * Compares the clients of a file with the stored ones. Each gets exactly what its entry says; only a lock stays, and whatever
 * secrets it has if the entry generates one. A plain secret that matches the stored encoding is unchanged. One batch of entries is
 * held in memory at a time.
 *
 * @returns at most PROBLEMS_MAX problems, if there is any.
 */
export async function planClients(
  parts: ApplyParts,
  batches: AsyncIterable<readonly ImportEntry[]>,
  options: PlanOptions,
): Promise<Result<ClientsPlan, readonly ImportProblem[]>> {
  const { store, secretFiles } = parts;
  const clients = await store.startImport();
  const generated: Generated = new Map();
  const encode = comparingEncoder(parts, options);
  const problems = await addAll(parts, clients, batches, async (batch) => {
    const found = await clients.find(batch.map(({ clientId }) => clientId));
    const stored = new Map(found.map((one) => [one.client.clientId, one]));
    const planned = batch.map((client) =>
      planOf(parts, client, stored.get(client.clientId), options, encode, generated),
    );
    return Promise.all(planned);
  });
  const tooMany = generated.size > GENERATED_MAX ? [{ text: TOO_MANY_GENERATED }] : [];
  if (problems.length + tooMany.length > 0) return failure([...tooMany, ...problems].slice(0, PROBLEMS_MAX));
  const pruned = options.others === 'remove' ? options.owner : undefined;
  if (pruned !== undefined) await clients.prune(pruned);
  return success({
    counts: await clients.countPlan(),
    plan: (kind) => clients.plan(kind),
    async apply(file) {
      const written: string[] = [];
      const undo = () => Promise.all(written.map((path) => secretFiles.remove(path)));
      for (const [path, secret] of generated) {
        const problem = await secretFiles.write(path, secret);
        if (problem !== undefined) {
          await undo();
          return failure(problem);
        }
        written.push(path);
      }
      let isCommitting = false;
      const onCommit = () => {
        isCommitting = true;
      };
      const applied = await clients.apply(file, pruned, onCommit).catch(async (fault: unknown) => {
        // Otherwise nobody knows whether it is stored.
        if (!isCommitting) await undo();
        throw fault;
      });
      if (applied.ok) return applied;
      await undo();
      return failure('Clients were changed after the plan was made: make another one.');
    },
  });
}

async function planOf(
  parts: ApplyParts,
  given: FileClient,
  stored: VersionedClient | undefined,
  options: PlanOptions,
  encode: Encode,
  generated: Generated,
): Promise<Result<PlannedClient, string>> {
  const refused = (rule: string) => failure(`client ${given.clientId}: ${rule}`);
  if (stored?.problem !== undefined) return refused('its stored details cannot be read: show says why');
  const owner = ownerOf(given, stored, options);
  if (!owner.ok) return refused(owner.problem);
  const { generateTo, ...client } = await withHashes(given, encode, stored);
  const secret: Result<SecretOfClient, string> =
    generateTo === undefined ? success({}) : await secretFor(parts, generateTo, stored, generated);
  if (!secret.ok) return refused(secret.problem);
  const { clientSecret = client.clientSecret, ...ofSecret } = secret.value;
  const details = withMarks(
    { ...NO_DETAILS, ...ofSecret.details, ...client.details, owner: owner.value },
    clientSecret,
    stored,
  );
  const next = {
    ...client,
    clientSecret: stored === undefined ? clientSecret : replaceSecret(stored.client.clientSecret, clientSecret),
    details: withoutEmpty(details),
  };
  const changes = stored === undefined ? [] : changesOf(stored, next);
  return success({ ...next, plan: { version: stored?.version, changes } });
}

/** Who owns the client from now on. */
function ownerOf(
  { details }: FileClient,
  stored: StoredClient | undefined,
  options: PlanOptions,
): Result<string | null, string> {
  const given = details?.owner ?? null;
  const wanted = options.owner ?? given;
  if (given !== null && given !== wanted)
    return failure(`${DETAIL_FIELDS.owner} must be ${wanted}, or left out, with --owner ${wanted}`);
  const current = stored === undefined ? wanted : stored.details.owner;
  if (current === wanted) return success(wanted);
  if (current !== null)
    return failure(
      `${DETAIL_FIELDS.owner} is ${current}: only a file with this owner can change it: if that is you, add --owner ${current}`,
    );
  if (options.unowned === 'adopt') return success(wanted);
  return failure(`${DETAIL_FIELDS.owner} is nobody yet: --adopt makes it ${wanted}`);
}

type SecretOfClient = Partial<Pick<NewClient, 'clientSecret' | 'details'>>;

/** The secrets that a client has, or a new one, which has no id. */
async function secretFor(
  parts: ApplyParts,
  path: string,
  stored: StoredClient | undefined,
  generated: Generated,
): Promise<Result<SecretOfClient, string>> {
  if (stored !== undefined && (hasSecretWithoutId(stored.client.clientSecret) || stored.details.secrets.length > 0)) {
    const { clientSecret: marks, secrets } = stored.details;
    return success({
      clientSecret: stored.client.clientSecret,
      details: { secrets, ...(marks && { clientSecret: marks }) },
    });
  }
  const taken = failure(`${GENERATE} must name a file that does not exist, for this client alone`);
  if (generated.has(path)) return taken;
  // The plan is refused.
  if (generated.size > GENERATED_MAX) return success({});
  // Before the next client of the batch looks: of two with one file, always the second is refused.
  generated.set(path, '');
  if (await parts.secretFiles.exists(path)) return taken;
  const { secret, clientSecret, marks } = await newSecret(parts, { secret: undefined, cost: undefined });
  generated.set(path, secret);
  return success({ clientSecret, details: { ...(marks && { clientSecret: marks }) } });
}

const GENERATE = `${FIELD_NAMES.clientSecret}.generate`;
const TOO_MANY_GENERATED = `${GENERATE} is for at most ${GENERATED_MAX} clients at once: split the file`;

/** Recognizes the plain secret that a stored encoding is of. */
function comparingEncoder(parts: ApplyParts, { cost, onCompared }: PlanOptions): Encode {
  const encode = encoderOf(parts, cost);
  let compared = 0;
  return async (given, stored = NO_SECRET) => {
    const [plain, encoding] = [StoredSecret.parse(given), StoredSecret.parse(unlock(stored))];
    if (plain.kind !== 'plain' || encoding.kind !== 'bcrypt') return encode(given);
    const isSame = await parts.matchSecret(plain.reveal(), encoding);
    compared += 1;
    onCompared(compared);
    return isSame ? unlock(stored) : encode(given);
  };
}

/** That a secret was generated stays true as long as it is the same one. */
function withMarks(details: ClientDetails, clientSecret: string, stored: StoredClient | undefined): ClientDetails {
  const { clientSecret: marks, secrets } = details;
  if (stored === undefined) return details;
  const { clientSecret: before, secrets: others } = stored.details;
  const isSame = unlock(clientSecret) === unlock(stored.client.clientSecret);
  const kept = isSame && before?.generated ? { ...marks, generated: true as const } : marks;
  const isGenerated = (secret: NamedSecret) =>
    others.some(({ encoded, generated }) => generated && encoded === secret.encoded);
  return {
    ...details,
    ...(kept && { clientSecret: kept }),
    secrets: secrets.map((secret) => (isGenerated(secret) ? { ...secret, generated: true } : secret)),
  };
}

/** The names of the fields that differ, as in a clients file. */
function changesOf({ client, details }: StoredClient, next: NewClient): readonly string[] {
  const [before, after] = [fieldsOf({ ...client, details }), fieldsOf(next)];
  return Object.keys({ ...before, ...after }).filter((field) => sorted(before[field]) !== sorted(after[field]));
}

function fieldsOf({
  clientSecret,
  clientName,
  scope,
  details = {},
}: Omit<NewClient, 'clientId'>): Readonly<Record<string, unknown>> {
  const { clientSecret: secret, clientName: name } = FIELD_NAMES;
  return { [secret]: clientSecret, [name]: clientName, scope, ...documentOf(withoutEmpty(details)) };
}

/** The JSON of a value, whose names have an order: a database may change it. */
function sorted(value: unknown): string {
  return JSON.stringify(value, (_name, inner: unknown) => {
    const isObject = typeof inner === 'object' && inner !== null && !Array.isArray(inner);
    return isObject
      ? Object.fromEntries(Object.entries(inner).sort(([one], [other]) => (one < other ? -1 : 1)))
      : inner;
  });
}
