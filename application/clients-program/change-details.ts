import {
  type ClientDetails,
  checkDetails,
  type DetailsProblem,
  type FederatedSubject,
} from '../../domain/client-details.ts';
import { failure, type Result, success } from '../../domain/result.ts';
import { NO_SECRET, replaceSecret } from '../../domain/stored-secret.ts';
import type { ChangedCredentials, ClientStore, StoredCredentials } from '../ports/client-store.ts';
import type { Clock } from '../ports/clock.ts';
import { type DescribedClient, describeWithCredentials, hasSecretWithoutId } from './describe-client.ts';

/** Entries to add. */
export type AddedDetails = Partial<Pick<ClientDetails, 'keys' | 'subjects' | 'resources'>>;

/** The entry to remove. */
type RemovedDetail =
  | { readonly keyId: string }
  | { readonly issuer: string; readonly subject: string }
  | { readonly resource: string }
  /** Undefined for the secret without an id. */
  | { readonly secretId: string | undefined };

export type ChangeDetailsProblem = 'client_unknown' | 'entry_unknown' | DetailsProblem;

/** Why a rule for identities of another issuer may not be added; undefined if it may. */
export type CheckRule = (rule: FederatedSubject) => string | undefined;

interface ChangeDetailsParts {
  readonly store: ClientStore;
  readonly clock: Clock;
  readonly checkRule: CheckRule;
}

/** Adds keys, subjects and resources to a client, or removes one of them or a secret. Takes effect at the next request. */
export class ChangeDetails {
  readonly #parts: ChangeDetailsParts;

  constructor(parts: ChangeDetailsParts) {
    this.#parts = parts;
  }

  /** Refused if the details would break a rule, such as too many entries or one that is there already. */
  async execute(
    clientId: string,
    request: { readonly add: AddedDetails } | { readonly remove: RemovedDetail },
  ): Promise<Result<DescribedClient, ChangeDetailsProblem>> {
    const { store, clock, checkRule } = this.#parts;
    const weakRule = 'add' in request ? problemOfRules(request.add.subjects ?? [], checkRule) : undefined;
    if (weakRule !== undefined) return failure(weakRule);
    const changed = await store.changeDetails<ChangeDetailsProblem>(clientId, (stored) =>
      'add' in request ? including(stored, request.add) : without(stored, request.remove),
    );
    return changed.ok ? describeWithCredentials(changed.value, clock.now()) : changed;
  }
}

/** The first rule that may not be added, by its position among those that are added. */
export function problemOfRules(rules: readonly FederatedSubject[], checkRule: CheckRule): DetailsProblem | undefined {
  for (const [position, added] of rules.entries()) {
    const rule = checkRule(added);
    if (rule !== undefined) return { kind: 'subjects', position, rule };
  }
  return undefined;
}

function including(
  { clientSecret, details }: StoredCredentials,
  { keys = [], subjects = [], resources = [] }: AddedDetails,
): Result<ChangedCredentials, DetailsProblem> {
  const next = checkDetails({
    ...details,
    keys: [...details.keys, ...keys],
    subjects: [...details.subjects, ...subjects],
    resources: [...details.resources, ...resources],
  });
  return next.ok ? success({ clientSecret, details: next.value }) : next;
}

function without(
  { clientSecret, details }: StoredCredentials,
  entry: RemovedDetail,
): Result<ChangedCredentials, 'entry_unknown'> {
  if ('secretId' in entry && entry.secretId === undefined) {
    if (!hasSecretWithoutId(clientSecret)) return failure('entry_unknown');
    return success({ clientSecret: replaceSecret(clientSecret, NO_SECRET), details });
  }
  const left = withoutEntry(details, entry);
  const kinds = ['secrets', 'keys', 'subjects', 'resources'] as const;
  return kinds.some((kind) => left[kind].length < details[kind].length)
    ? success({ clientSecret, details: left })
    : failure('entry_unknown');
}

function withoutEntry(details: StoredCredentials['details'], entry: RemovedDetail): ClientDetails {
  const { secrets, keys, subjects, resources } = details;
  if ('secretId' in entry)
    return { ...details, secrets: secrets.filter(({ secret_id }) => secret_id !== entry.secretId) };
  if ('keyId' in entry) return { ...details, keys: keys.filter(({ key_id }) => key_id !== entry.keyId) };
  if ('resource' in entry) return { ...details, resources: resources.filter((one) => one !== entry.resource) };
  const isOther = ({ issuer, subject }: FederatedSubject) => issuer !== entry.issuer || subject !== entry.subject;
  return { ...details, subjects: subjects.filter(isOther) };
}
