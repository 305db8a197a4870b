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

/** The entry to remove, by the members that identify it. */
type RemovedDetail =
  | { readonly key_id: string }
  | { readonly issuer: string; readonly subject: string }
  | { readonly resource: string }
  /** Undefined for the secret without an id. */
  | { readonly secret_id: string | undefined };

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
  if ('secret_id' in entry && entry.secret_id === undefined) {
    if (!hasSecretWithoutId(clientSecret)) return failure('entry_unknown');
    return success({ clientSecret: replaceSecret(clientSecret, NO_SECRET), details });
  }
  const left = withoutEntry(details, entry);
  const kinds = ['secrets', 'keys', 'subjects', 'resources'] as const;
  return kinds.some((kind) => left[kind].length < details[kind].length)
    ? success({ clientSecret, details: left })
    : failure('entry_unknown');
}

/** The details without the entry that has these members. */
function withoutEntry({ secrets, keys, subjects, resources }: ClientDetails, entry: RemovedDetail): ClientDetails {
  const isOther = (one: object) => Object.entries(entry).some(([member, value]) => Reflect.get(one, member) !== value);
  return {
    secrets: secrets.filter(isOther),
    keys: keys.filter(isOther),
    subjects: subjects.filter(isOther),
    resources: resources.filter((resource) => isOther({ resource })),
  };
}
