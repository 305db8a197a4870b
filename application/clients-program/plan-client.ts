import {
  type ClientDetails,
  marksOf,
  type NamedSecret,
  NO_DETAILS,
  withMarks,
  withoutEmpty,
} from '../../domain/client-details.ts';
import { FIELD_NAMES, type NewClient } from '../../domain/client-registration.ts';
import { failure, type Result, success } from '../../domain/result.ts';
import { isLocked, NO_SECRET, replaceSecret, StoredSecret, unlock } from '../../domain/stored-secret.ts';
import type { FileClient, PlannedClient, StoredClient, VersionedClient } from '../ports/client-store.ts';
import type { MatchSecret } from '../ports/new-secrets.ts';
import type { SecretFiles } from '../ports/secret-files.ts';
import type { ManagementParts } from './change-client.ts';
import { hasSecretWithoutId } from './describe-client.ts';
import { newSecret } from './new-secret.ts';

export interface PlanOptions {
  /** BCrypt cost of plain secrets, 4 to 14; undefined if the plan is only shown. */
  readonly cost: number | undefined;
  /**
   * What happens to stored clients of the file. `refuse`: the file is refused. `replace` and `match`: they get exactly
   * what their entry says; only a lock stays, and whatever secrets a client has if its entry generates one. With
   * `replace`, whose they are does not count.
   */
  readonly existing: 'refuse' | 'replace' | 'match';
  /** Whose clients the file has; undefined: each entry says it, or nobody. */
  readonly owner?: string | undefined;
  /** `adopt`: the file may have stored clients without an owner. */
  readonly unowned?: 'refuse' | 'adopt';
  /** What happens to stored clients of the owner that the file does not have. */
  readonly others?: 'keep' | 'remove';
  /** Called with the number of plain secrets that were compared with stored ones, which takes long. */
  readonly onCompared?: (count: number) => void;
}

export interface PlanParts
  extends Pick<
    ManagementParts,
    'store' | 'tokens' | 'lastUsed' | 'encodeSecret' | 'generateSecret' | 'clock' | 'checkRule'
  > {
  readonly matchSecret: MatchSecret;
  readonly secretFiles: SecretFiles;
}

/** The most secrets that one plan generates: they wait in memory until they are written. */
export const GENERATED_MAX = 10_000;

const GENERATE = `${FIELD_NAMES.clientSecret}.generate`;
export const TOO_MANY_GENERATED = `${GENERATE} is for at most ${GENERATED_MAX} clients at once: split the file`;

/** Plans the clients of one file, each by itself. */
export class ClientPlanner {
  /** Generated secrets that are not written yet, by their files. */
  readonly generated = new Map<string, string>();
  /** Whether nothing will come of the plan: secrets are neither compared, hashed nor generated any more. */
  isRefused = false;
  readonly #parts: PlanParts;
  readonly #options: PlanOptions;
  #compared = 0;

  constructor(parts: PlanParts, options: PlanOptions) {
    this.#parts = parts;
    this.#options = options;
  }

  /** What becomes of a client, or why its entry is refused. @param stored the client as it is stored, if it is. */
  async plan(given: FileClient, stored: VersionedClient | undefined): Promise<Result<PlannedClient, string>> {
    const { existing } = this.#options;
    const refused = (rule: string) => failure(`client ${given.clientId}: ${rule}`);
    if (stored !== undefined && existing === 'refuse') return refused('it is registered already: --replace changes it');
    if (stored?.problem !== undefined) return refused('its stored details cannot be read: show says why');
    const owner = existing === 'match' ? this.#ownerOf(given, stored) : success(given.details?.owner);
    if (!owner.ok) return refused(owner.problem);
    const { generateTo, ...client } = await this.#withHashes(given, stored);
    const secret = generateTo === undefined ? success({}) : await this.#secretFor(generateTo, stored);
    if (!secret.ok) return refused(secret.problem);
    const { clientSecret = client.clientSecret, details: ofSecret }: SecretOfClient = secret.value;
    const details = {
      ...NO_DETAILS,
      ...ofSecret,
      ...client.details,
      ...(owner.value !== undefined && { owner: owner.value }),
    };
    const next = {
      ...client,
      clientSecret: replaceSecret(stored?.clientSecret ?? '', clientSecret),
      details: withoutEmpty(keepingMarks(details, clientSecret, stored)),
    };
    if (stored === undefined) return success({ ...next, plan: { action: 'added', version: undefined, changes: [] } });
    const changes = changesOf(stored, next);
    const replaced = isLocked(stored.clientSecret) ? 'locked' : 'replaced';
    const action = existing === 'replace' ? replaced : changes.length > 0 ? 'changed' : 'unchanged';
    return success({ ...next, plan: { action, version: stored.version, changes } });
  }

  /** Who owns the client from now on. */
  #ownerOf({ details }: FileClient, stored: StoredClient | undefined): Result<string | null, string> {
    const given = details?.owner ?? null;
    const wanted = this.#options.owner ?? given;
    if (given !== null && given !== wanted)
      return failure(`owner must be ${wanted}, or left out, with --owner ${wanted}`);
    const current = stored === undefined ? wanted : stored.details.owner;
    if (current === wanted) return success(wanted);
    if (current !== null)
      return failure(
        `owner is ${current}: only a file with this owner can change it: if that is you, add --owner ${current}`,
      );
    if (this.#options.unowned === 'adopt') return success(wanted);
    return failure(`owner is nobody yet: --adopt makes it ${wanted}`);
  }

  /** The secrets that a client has, or a new one, which has no id. */
  async #secretFor(path: string, stored: StoredClient | undefined): Promise<Result<SecretOfClient, string>> {
    if (stored !== undefined && (hasSecretWithoutId(stored.clientSecret) || stored.details.secrets.length > 0)) {
      const { clientSecret, details } = stored;
      return success({ clientSecret, details: withMarks({ secrets: details.secrets }, marksOf(details)) });
    }
    const { generated } = this;
    const taken = failure(`${GENERATE} must name a file that does not exist, for this client alone`);
    if (generated.has(path)) return taken;
    // The plan is refused.
    if (generated.size > GENERATED_MAX) return success({});
    // Before the next client of the batch looks: of two with one file, always the second is refused.
    generated.set(path, '');
    if (await this.#parts.secretFiles.exists(path)) return taken;
    if (this.isRefused) return success({});
    const { secret, clientSecret, marks } = await newSecret(this.#parts, { secret: undefined, cost: undefined });
    generated.set(path, secret);
    return success({ clientSecret, details: withMarks({}, marks ?? {}) });
  }

  /** The client with what is stored of its secrets. */
  async #withHashes(client: FileClient, stored: StoredClient | undefined): Promise<FileClient> {
    const clientSecret = await this.#encode(client.clientSecret, stored?.clientSecret);
    const { details } = client;
    if (!details?.secrets) return { ...client, clientSecret };
    const encodeNamed = async (secret: NamedSecret) => {
      const same = stored?.details.secrets.find(({ secret_id }) => secret_id === secret.secret_id);
      return { ...secret, client_secret: await this.#encode(secret.client_secret, same?.client_secret) };
    };
    const secrets = await Promise.all(details.secrets.map(encodeNamed));
    return { ...client, clientSecret, details: { ...details, secrets } };
  }

  /** A BCrypt encoding, or none: the stored one if a plain secret matches it. Without a cost, nothing is hashed. */
  async #encode(given: string, stored = NO_SECRET): Promise<string> {
    const { encodeSecret, matchSecret } = this.#parts;
    const { cost, onCompared } = this.#options;
    const [plain, encoding] = [StoredSecret.parse(given), StoredSecret.parse(unlock(stored))];
    if (plain.kind !== 'plain') return given;
    if (this.isRefused) return UNMATCHED;
    if (encoding.kind === 'bcrypt') {
      const isSame = await matchSecret(plain.reveal(), encoding);
      this.#compared += 1;
      onCompared?.(this.#compared);
      if (isSame) return unlock(stored);
    }
    return cost === undefined ? UNMATCHED : encodeSecret(plain.reveal(), cost);
  }
}

type SecretOfClient = Partial<Pick<NewClient, 'clientSecret' | 'details'>>;

/**
 * What stands in a plan that is only shown or refused, in place of a plain secret: a rehearsal sends it to the
 * database, which may keep it in its files for a while.
 */
const UNMATCHED = `$2b$10$${'.'.repeat(53)}`;

/** That a secret was generated stays true as long as it is the same one. */
function keepingMarks(details: ClientDetails, clientSecret: string, stored: StoredClient | undefined): ClientDetails {
  if (stored === undefined) return details;
  const isSame = unlock(clientSecret) === unlock(stored.clientSecret);
  const kept = isSame && stored.details.client_secret_generated ? { generated: true as const } : {};
  const isGenerated = ({ client_secret: encoded }: NamedSecret) =>
    stored.details.secrets.some(({ client_secret, generated }) => generated && client_secret === encoded);
  return {
    ...withMarks(details, { ...marksOf(details), ...kept }),
    secrets: details.secrets.map((secret) => (isGenerated(secret) ? { ...secret, generated: true } : secret)),
  };
}

/** The names of the fields that differ, as in a clients file. */
function changesOf(stored: StoredClient, next: NewClient): readonly string[] {
  const [before, after] = [fieldsOf(stored), fieldsOf(next)];
  return Object.keys({ ...before, ...after }).filter((field) => sorted(before[field]) !== sorted(after[field]));
}

function fieldsOf({
  clientSecret,
  clientName,
  scope,
  details = {},
}: Omit<NewClient, 'clientId'>): Readonly<Record<string, unknown>> {
  const { clientSecret: secret, clientName: name } = FIELD_NAMES;
  return { [secret]: clientSecret, [name]: clientName, scope, ...withoutEmpty(details) };
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
