import { type ClientDetails, checkDetails, type DetailsProblem } from '../../domain/client-details.ts';
import { failure, type Result, success } from '../../domain/result.ts';
import type { ClientStore, StoredDetails } from '../ports/client-store.ts';
import type { Clock } from '../ports/clock.ts';
import { type DescribedClient, describeWithCredentials } from './described-credentials.ts';
import { type CheckRule, problemOfRules } from './federated-rules.ts';

/** Entries to add. */
export type AddedDetails = Partial<Pick<ClientDetails, 'keys' | 'subjects' | 'resources'>>;

/** The entry to remove. */
export type RemovedDetail =
  | { readonly keyId: string }
  | { readonly issuer: string; readonly subject: string }
  | { readonly resource: string };

export type ChangeDetailsProblem = 'client_unknown' | 'entry_unknown' | DetailsProblem;

/** Adds or removes keys, subjects and resources of a client. A change takes effect at the next request. */
export class ChangeDetails {
  readonly #store: ClientStore;
  readonly #clock: Clock;
  readonly #checkRule: CheckRule;

  constructor(store: ClientStore, clock: Clock, checkRule: CheckRule) {
    this.#store = store;
    this.#clock = clock;
    this.#checkRule = checkRule;
  }

  /** Refused if the details would break a rule, such as too many entries or one that is there already. */
  async execute(
    clientId: string,
    request: { readonly add: AddedDetails } | { readonly remove: RemovedDetail },
  ): Promise<Result<DescribedClient, ChangeDetailsProblem>> {
    const weakRule = 'add' in request ? problemOfRules(request.add.subjects ?? [], this.#checkRule) : undefined;
    if (weakRule !== undefined) return failure(weakRule);
    const changed = await this.#store.changeDetails<ChangeDetailsProblem>(clientId, ({ clientSecret, details }) => {
      const next = 'add' in request ? checkDetails(including(details, request.add)) : without(details, request.remove);
      return next.ok ? success({ clientSecret, details: next.value }) : next;
    });
    return changed.ok ? describeWithCredentials(changed.value, this.#clock.now()) : changed;
  }
}

function including(stored: StoredDetails, { keys = [], subjects = [], resources = [] }: AddedDetails): ClientDetails {
  return {
    ...stored,
    keys: [...stored.keys, ...keys],
    subjects: [...stored.subjects, ...subjects],
    resources: [...stored.resources, ...resources],
  };
}

function without(stored: StoredDetails, entry: RemovedDetail): Result<ClientDetails, 'entry_unknown'> {
  const left = withoutEntry(stored, entry);
  const kinds = ['keys', 'subjects', 'resources'] as const;
  return kinds.some((kind) => left[kind].length < stored[kind].length) ? success(left) : failure('entry_unknown');
}

function withoutEntry(details: StoredDetails, entry: RemovedDetail): StoredDetails {
  if ('keyId' in entry) return { ...details, keys: details.keys.filter(({ keyId }) => keyId !== entry.keyId) };
  if ('resource' in entry) {
    return { ...details, resources: details.resources.filter((resource) => resource !== entry.resource) };
  }
  const isOther = ({ issuer, subject }: typeof entry) => issuer !== entry.issuer || subject !== entry.subject;
  return { ...details, subjects: details.subjects.filter(isOther) };
}
