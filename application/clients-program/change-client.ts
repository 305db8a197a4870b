import {
  type ClientDetails,
  entriesOf,
  type FederatedSubject,
  hasExpired,
  marksOf,
  type NamedSecret,
  type SecretMarks,
  withMarks,
} from '../../domain/client-details.ts';
import type { ClientDocument } from '../../domain/client-document.ts';
import { ClientRegistration, type RegistrationProblem } from '../../domain/client-registration.ts';
import { checkDetails, type DetailsProblem } from '../../domain/details-rules.ts';
import { uriOf } from '../../domain/resource-indicator.ts';
import { failure, type Result, success } from '../../domain/result.ts';
import { lock, NO_SECRET, replaceSecret, unlock } from '../../domain/stored-secret.ts';
import type { ClientEdit, ClientStore, StoredClient } from '../ports/client-store.ts';
import type { IdGenerator } from '../ports/id-generator.ts';
import type { LastUsed } from '../ports/last-used.ts';
import type { ClientTokens } from '../ports/revocations.ts';
import { describeClient, hasSecretWithoutId } from './describe-client.ts';
import { type NamedSecretRequest, newSecret, type SecretParts, type SecretRequest } from './new-secret.ts';

/** Valid secrets that a client may have: the one in use, and the one that replaces it. */
const VALID_SECRETS_MAX = 2;

/** Entries to add, and what replaces the simple fields. */
export type AddedDetails = Partial<
  Omit<ClientDetails, 'client_secret_expires_at' | 'client_secret_generated' | 'secrets'>
>;

/** What replaces the name or the scope; undefined for what stays. */
type Names = Readonly<Record<'clientName' | 'scope', string | undefined>>;

/** An entry to remove, by the fields that identify it. */
export type RemovedDetail =
  | { readonly key_id: string }
  | { readonly issuer: string; readonly subject: string }
  | { readonly resource: string }
  /** Undefined for the secret without an id. */
  | { readonly secret_id: string | undefined };

/** One edit of name, scope and entries. What is removed makes room for what is added. */
export interface ClientUpdate {
  readonly set?: Names;
  readonly remove?: readonly RemovedDetail[];
  readonly add?: AddedDetails;
  /** Revokes all tokens that the client holds. */
  readonly revokesTokens?: boolean | undefined;
}

/**
 * What to change. A secret without an id replaces all secrets of the client: they are refused from the next request on.
 * One with an id stands beside the one that the client has, for good or for a while. A disabled client keeps its secret
 * behind a lock.
 */
export type ChangeRequest =
  | { readonly give: SecretRequest | NamedSecretRequest }
  | { readonly state: 'enabled' | 'disabled' }
  | ClientUpdate;

/**
 * `details_unreadable`: what another program has written as its details. `hash_missing`: the lock has no hash behind
 * it, so that unlocking would enable nothing. The client needs a new secret. `revocation_unknown`: this database keeps
 * no revoked tokens. `secret_missing`: the client authenticates in another way. `too_many_secrets`: the client has two
 * already.
 */
export type ChangeProblem =
  | 'client_unknown'
  | 'details_unreadable'
  | 'entry_unknown'
  | 'hash_missing'
  | 'revocation_unknown'
  | 'secret_missing'
  | 'secret_unknown'
  | 'too_many_secrets'
  | RegistrationProblem
  | DetailsProblem;

/** A client after a change. */
export interface ChangedClient {
  readonly client: ClientDocument;
  /** Whether the secret without an id is another text, such as one with a lock. */
  readonly changed: boolean;
  /** A new secret, which cannot be read again: only its hash is stored. */
  readonly secret: string | undefined;
}

/** Why a rule for identities of another issuer may not be added; undefined if it may. */
export type CheckRule = (rule: FederatedSubject) => string | undefined;

/** What the use cases that manage clients need. */
export interface ManagementParts extends SecretParts {
  readonly store: ClientStore;
  readonly tokens: ClientTokens;
  readonly lastUsed: LastUsed;
  readonly ids: IdGenerator;
  readonly checkRule: CheckRule;
}

/** What a change needs of them. */
type ChangeParts = Omit<ManagementParts, 'store' | 'ids' | 'lastUsed'> & {
  readonly store: Pick<ClientStore, 'change'>;
};

type Edit = (stored: StoredClient) => Result<ClientEdit, ChangeProblem>;

/**
 * Changes a client, from its next request on. Tokens that it holds stay valid until they expire, unless they are
 * revoked, as those of a client that is disabled. Refused if the client would break a rule, such as too many entries or
 * one that is there already.
 */
export async function changeClient(
  parts: ChangeParts,
  clientId: string,
  request: ChangeRequest,
): Promise<Result<ChangedClient, ChangeProblem>> {
  const { store, tokens, clock, checkRule } = parts;
  const weakRule = 'add' in request ? problemOfRules(request.add?.federated_subjects ?? [], checkRule) : undefined;
  if (weakRule !== undefined) return failure(weakRule);
  const { secret, edit } = 'give' in request ? await giving(parts, request.give) : { edit: editOf(request) };
  const revokes = 'revokesTokens' in request && request.revokesTokens === true;
  if (revokes && !(await tokens.areKept())) return failure('revocation_unknown');
  const losing = revokes || ('state' in request && request.state === 'disabled') ? [clientId] : [];
  let changed = false;
  const editStored: Edit = (stored) => {
    const edited = edit(stored);
    changed ||= edited.ok && (edited.value.clientSecret ?? stored.clientSecret) !== stored.clientSecret;
    return edited;
  };
  // Before the commit, so that no change is stored without it; and after it, for what was issued meanwhile.
  const found = await store.change(clientId, editStored, () => tokens.revokeAll(losing));
  if (!found.ok) return found;
  await tokens.revokeAll(losing);
  if (revokes) await tokens.settled();
  const client = describeClient(found.value, clock.now());
  const isStillLocked = 'state' in request && request.state === 'enabled' && client.state === 'disabled';
  return isStillLocked && !changed ? failure('hash_missing') : success({ client, changed, secret });
}

async function giving(parts: SecretParts, request: SecretRequest | NamedSecretRequest) {
  const { secret, clientSecret, marks, secrets } = await newSecret(parts, request);
  if ('secret' in request) return { secret, edit: replacingSecrets(clientSecret, marks) };
  const now = parts.clock.now();
  const { keepOldSeconds } = request;
  const isBeside = keepOldSeconds === undefined;
  return { secret, edit: isBeside ? besideOther(secrets, now) : replacingLater(secrets, now, now + keepOldSeconds) };
}

/** The first rule that may not be added, by its position among those that are added. */
export function problemOfRules(rules: readonly FederatedSubject[], checkRule: CheckRule): DetailsProblem | undefined {
  for (const [position, added] of rules.entries()) {
    const rule = checkRule(added);
    if (rule !== undefined) return { kind: 'federated_subjects', position, rule };
  }
  return undefined;
}

function editOf(request: Exclude<ChangeRequest, { readonly give: unknown }>): Edit {
  if ('state' in request) {
    const change = request.state === 'disabled' ? lock : unlock;
    return ({ clientSecret }) => success({ clientSecret: change(clientSecret) });
  }
  return updating(request);
}

function updating({ set, remove = [], add }: ClientUpdate): Edit {
  return (stored) => {
    const names = set === undefined ? success({}) : renamed(set);
    if (!names.ok) return names;
    let left = stored;
    let edit: ClientEdit = names.value;
    for (const entry of remove) {
      const edited = without(entry, left);
      if (!edited.ok) return edited;
      left = { ...left, ...edited.value };
      edit = { ...edit, ...edited.value };
    }
    const added = including(add ?? {}, left.details);
    return added.ok ? success({ ...edit, ...added.value }) : added;
  };
}

/** Other fields of the client may break a rule already, which `show` reports. */
function renamed({ clientName, scope }: Names): Result<ClientEdit, RegistrationProblem> {
  const given = { ...(clientName !== undefined && { clientName }), ...(scope !== undefined && { scope }) };
  const registration = ClientRegistration.of({
    ...{ id: 'any', clientId: 'any', clientSecret: NO_SECRET, clientName: 'any', scope: 'any' },
    ...given,
  });
  return registration.ok ? success(given) : registration;
}

/** Nothing is checked if nothing is added: entries of another program may break a rule, and can be removed. */
function including(
  { jwks: { keys } = { keys: [] }, federated_subjects: subjects = [], resources = [], ...fields }: AddedDetails,
  details: ClientDetails,
): Result<ClientEdit, DetailsProblem> {
  if (keys.length + subjects.length + resources.length + Object.keys(fields).length === 0) return success({});
  return detailsEdit({
    ...details,
    ...fields,
    jwks: { keys: [...details.jwks.keys, ...keys] },
    federated_subjects: [...details.federated_subjects, ...subjects],
    resources: [...details.resources, ...resources],
  });
}

function without(
  entry: RemovedDetail,
  { clientSecret, details, keyIds }: StoredClient,
): Result<Partial<StoredClient>, ChangeProblem> {
  const isOther = (one: object) => Object.entries(entry).some(([field, value]) => Reflect.get(one, field) !== value);
  if ('secret_id' in entry && entry.secret_id === undefined) {
    if (!hasSecretWithoutId(clientSecret)) return failure('secret_unknown');
    return success(withoutOwn({ clientSecret, details }));
  }
  const isOtherKey = (key_id: string | undefined) => isOther({ key_id });
  const left = {
    ...details,
    secrets: details.secrets.filter(isOther),
    jwks: { keys: details.jwks.keys.filter((_, index) => isOtherKey(keyIds[index])) },
    federated_subjects: details.federated_subjects.filter(isOther),
    resources: details.resources.filter((resource) => isOther({ resource: uriOf(resource) })),
  };
  const countOf = (one: ClientDetails) => Object.values(entriesOf(one)).flat().length;
  if (countOf(left) < countOf(details)) return success({ details: left, keyIds: keyIds.filter(isOtherKey) });
  return failure('secret_id' in entry ? 'secret_unknown' : 'entry_unknown');
}

function replacingSecrets(encoded: string, marks: SecretMarks | undefined): Edit {
  return ({ clientSecret, details }) => {
    const { secrets, jwks, federated_subjects: subjects } = details;
    const hasSecret = hasSecretWithoutId(clientSecret) || secrets.length > 0;
    if (!hasSecret && jwks.keys.length + subjects.length > 0) return failure('secret_missing');
    const left = withMarks({ ...details, secrets: [] }, marks ?? {});
    return success({ clientSecret: replaceSecret(clientSecret, encoded), details: left });
  };
}

/** @param end when the old secret expires, in seconds since the epoch. */
function replacingLater(added: readonly NamedSecret[], now: number, end: number): Edit {
  return (stored) => {
    const { clientSecret, details } = withoutExpired(stored, now);
    const hasOwn = hasSecretWithoutId(clientSecret);
    const count = Number(hasOwn) + details.secrets.length;
    if (count === 0) return failure('secret_missing');
    if (count > 1) return failure('too_many_secrets');
    const ending = <Marks extends SecretMarks>(old: Marks) => {
      return { ...old, expires_at: Math.min(old.expires_at ?? Infinity, end) };
    };
    const next = { ...details, secrets: [...details.secrets.map(ending), ...added] };
    return success({ clientSecret, details: hasOwn ? withMarks(next, ending(marksOf(details))) : next });
  };
}

function besideOther(added: readonly NamedSecret[], now: number): Edit {
  return (stored) => {
    const { clientSecret, details } = withoutExpired(stored, now);
    const count = Number(hasSecretWithoutId(clientSecret)) + details.secrets.length;
    if (count >= VALID_SECRETS_MAX) return failure('too_many_secrets');
    const edited = detailsEdit({ ...details, secrets: [...details.secrets, ...added] });
    return edited.ok ? success({ clientSecret, ...edited.value }) : edited;
  };
}

/** The secrets that are valid, and everything else. */
function withoutExpired(stored: StoredClient, now: number): StoredClient {
  const { clientSecret, details } = hasExpired(marksOf(stored.details), now) ? withoutOwn(stored) : stored;
  return { ...stored, clientSecret, details: { ...details, secrets: validSecrets(details, now) } };
}

/** Without the secret that has no id, and what the details say of it. A lock stays. */
function withoutOwn({ clientSecret, details }: Pick<StoredClient, 'clientSecret' | 'details'>) {
  return { clientSecret: replaceSecret(clientSecret, NO_SECRET), details: withMarks(details, {}) };
}

function validSecrets({ secrets }: ClientDetails, now: number): readonly NamedSecret[] {
  return secrets.filter((secret) => !hasExpired(secret, now));
}

function detailsEdit(details: ClientDetails): Result<ClientEdit, DetailsProblem> {
  const checked = checkDetails(details);
  return checked.ok ? success({ details: checked.value }) : checked;
}
