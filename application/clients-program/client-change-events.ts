import type { RecordedClient } from '../../domain/client-document.ts';
import { CLIENT_FIELD_NAMES, type ClientFieldName, recordedFieldsOf } from '../../domain/client-fields.ts';
import { unlock } from '../../domain/stored-secret.ts';
import { printableJsonText } from '../../domain/unprintable.ts';
import type { ChangeEvent, ChangeMade } from '../ports/change-log.ts';
import type { ClientChange, PlanEntry, StoredClient } from '../ports/client-store.ts';
import { describeClient } from './describe-client.ts';

/** What a change did to which client, before and after. Never a secret and never a hash. */
export function clientChangeEvents(change: ClientChange, common: ChangeMade): readonly ChangeEvent[] {
  if (change.kind === 'client') return eventOf(change, common);
  if (change.kind === 'tokens') return [{ event: 'client_tokens_revoked', ...common, client_id: change.clientId }];
  const { name: file, sha256 } = change.file;
  return [...pagesOf(change.clients)].map((clients) => {
    const ofFile = { ...common, file, sha256 };
    const { added, changed, replaced, locked, removed } = change.counts;
    return change.kind === 'apply'
      ? { event: 'clients_applied', ...ofFile, added, changed, removed, clients }
      : {
          event: 'clients_imported',
          ...ofFile,
          added,
          replaced: replaced + locked,
          still_disabled: locked,
          clients,
        };
  });
}

/**
 * The most bytes of the clients of one event, so that its line has less than 4,096: a longer one would mix with those
 * of others in a pipe. A client of long names outside ASCII has a line of its own, of less than 8,192. All clients are
 * named, in as many lines as it takes: a cut could hide one of them behind many others.
 */
const CLIENTS_BYTES_MAX = 3_000;

/** At least one page. */
function* pagesOf(planned: readonly PlanEntry[]) {
  let page: ReturnType<typeof entryOf>[] = [];
  let bytes = 0;
  for (const entry of planned.map(entryOf)) {
    const added = new TextEncoder().encode(printableJsonText(JSON.stringify(entry))).length + 1;
    if (page.length > 0 && bytes + added > CLIENTS_BYTES_MAX) {
      yield page;
      [page, bytes] = [[], 0];
    }
    page.push(entry);
    bytes += added;
  }
  yield page;
}

function entryOf({ clientId: client_id, changes: fields, action, ...names }: PlanEntry) {
  // Nobody records a client that stays as it is.
  const done = action === 'locked' || action === 'unchanged' ? 'replaced' : action;
  return { client_id, action: done, ...(fields.length > 0 && { fields }), ...names } as const;
}

/** None if nothing is different. */
function eventOf(changed: ClientChange & { readonly kind: 'client' }, common: ChangeMade): readonly ChangeEvent[] {
  const [before, after] = [recorded(changed.before, common.at), recorded(changed.after, common.at)];
  const client_id = (changed.after ?? changed.before)?.clientId ?? '';
  if (after === undefined) return before ? [{ event: 'client_removed', ...common, client_id, before }] : [];
  if (before === undefined) return [{ event: 'client_added', ...common, client_id, after }];
  const fields = differing(before, after);
  // What is shown of a value may be the same.
  const isHidden = (name: ClientFieldName) => textOf(changed.before, name) !== textOf(changed.after, name);
  fields.push(...CLIENT_FIELD_NAMES.filter((name) => !fields.includes(name) && isHidden(name)));
  // A lock, which changes the stored text too, is shown as the state.
  const isNewSecret = secretOf(changed.before) !== secretOf(changed.after);
  const names = isNewSecret ? [...fields, 'client_secret' as const] : fields;
  if (names.length === 0) return [];
  const parts = { before: pick(before, fields), after: pick(after, fields) };
  return [{ event: 'client_changed', ...common, client_id, changed: names, ...parts }];
}

function recorded(stored: StoredClient | undefined, now: number): RecordedClient | undefined {
  if (stored === undefined) return undefined;
  const client = describeClient(stored, now);
  const { client_name, scope, state, bcrypt_cost, secrets, keys, federated_subjects, resources } = client;
  return {
    client_name,
    scope,
    state,
    bcrypt_cost,
    secrets: secrets.map(({ secret_id, name, expires_at }) => ({ secret_id, name, expires_at })),
    keys: keys.map(({ key_id, kid, expires_at }) => ({ key_id, kid, expires_at })),
    federated_subjects,
    resources,
    ...recordedFieldsOf(client),
  };
}

function secretOf(stored: StoredClient | undefined): string {
  return unlock(stored?.clientSecret ?? '');
}

function textOf(stored: StoredClient | undefined, name: ClientFieldName): string {
  return JSON.stringify(stored?.details[name]);
}

function differing(before: RecordedClient, after: RecordedClient): (keyof RecordedClient)[] {
  const fields = Object.keys(after) as (keyof RecordedClient)[];
  return fields.filter((field) => JSON.stringify(before[field]) !== JSON.stringify(after[field]));
}

function pick(client: RecordedClient, fields: readonly (keyof RecordedClient)[]): Partial<RecordedClient> {
  return Object.fromEntries(fields.map((field) => [field, client[field]]));
}
