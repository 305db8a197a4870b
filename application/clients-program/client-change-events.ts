import type { RecordedClient } from '../../domain/client-document.ts';
import { CLIENT_FIELD_NAMES, type ClientFieldName, recordedFieldsOf } from '../../domain/client-fields.ts';
import { unlock } from '../../domain/stored-secret.ts';
import type { ChangeEvent, ChangeMade } from '../ports/change-log.ts';
import type { ClientChange, StoredClient } from '../ports/client-store.ts';
import { describeClient } from './describe-client.ts';

/** What a change did to which client, before and after. Never a secret and never a hash. */
export function clientChangeEvents(change: ClientChange, common: ChangeMade): readonly ChangeEvent[] {
  if (change.kind === 'client') return eventOf(change, common);
  const { name: file, sha256 } = change.file;
  if (change.kind === 'apply') {
    const { added, changed, removed } = change.counts;
    return [{ event: 'clients_applied', ...common, file, sha256, added, changed, removed }];
  }
  const { added, replaced, locked: still_disabled } = change.counts;
  return [{ event: 'clients_imported', ...common, file, sha256, added, replaced, still_disabled }];
}

/** None if nothing is different. */
function eventOf(changed: ClientChange & { readonly kind: 'client' }, common: ChangeMade): readonly ChangeEvent[] {
  const [before, after] = [recorded(changed.before, common.at), recorded(changed.after, common.at)];
  const client_id = (changed.after ?? changed.before)?.client.clientId ?? '';
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
  const { client, credentials } = describeClient(stored, now);
  const { client_name, scope, state, bcrypt_cost } = client;
  const { secrets, keys, federated_subjects, resources } = credentials;
  return {
    client_name,
    scope,
    state,
    bcrypt_cost,
    secrets: secrets.map(({ secret_id, name, expires_at }) => ({ secret_id, name, expires_at })),
    keys: keys.map(({ key_id, kid, expires_at }) => ({ key_id, kid, expires_at })),
    federated_subjects,
    resources,
    ...recordedFieldsOf(credentials),
  };
}

function secretOf(stored: StoredClient | undefined): string {
  return unlock(stored?.client.clientSecret ?? '');
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
