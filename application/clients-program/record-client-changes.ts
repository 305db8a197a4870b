import { NO_DETAILS } from '../../domain/client-details.ts';
import type { RecordedClient } from '../../domain/client-document.ts';
import { unlock } from '../../domain/stored-secret.ts';
import type { ChangeEvent } from '../ports/change-event.ts';
import type { ChangeRecorder, RecordChangesParts } from '../ports/change-recorder.ts';
import type { ChangedRegistration, ClientChange, StoredClient } from '../ports/client-store.ts';
import { describeWithCredentials } from './describe-client.ts';

/** The same in all events of one change. */
type CommonMembers = Pick<ChangeEvent, 'at' | 'changeId' | 'databaseRole'>;

/** Records who changed which client, and what it was before and after. Never a secret and never a hash. */
export class RecordClientChanges implements ChangeRecorder<ClientChange> {
  readonly #parts: RecordChangesParts;
  #changeId = '';

  constructor(parts: RecordChangesParts) {
    this.#parts = parts;
  }

  record(change: ClientChange, databaseRole: string | undefined): void {
    const { auditLog, clock, ids } = this.#parts;
    this.#changeId = ids.uuid();
    const common = { at: clock.now(), changeId: this.#changeId, databaseRole };
    if (change.kind === 'import') {
      auditLog.record({ event: 'clients_imported', ...common, file: change.file, ...change.counts });
      return;
    }
    const events = change.clients.flatMap((client) => this.#eventOf(client, common));
    for (const [index, event] of events.entries()) {
      try {
        auditLog.record(event);
      } catch (fault) {
        // The events before this one are written, and nothing will be changed.
        if (index > 0) this.unconfirmed();
        throw fault;
      }
    }
  }

  unconfirmed(): void {
    const { auditLog, clock } = this.#parts;
    auditLog.record({ event: 'change_unconfirmed', at: clock.now(), changeId: this.#changeId });
  }

  #eventOf(changed: ChangedRegistration, common: CommonMembers): readonly ChangeEvent[] {
    const [before, after] = [this.#shown(changed.before), this.#shown(changed.after)];
    const clientId = (changed.after ?? changed.before)?.client.clientId ?? '';
    if (after === undefined) return before ? [{ event: 'client_removed', ...common, clientId, before }] : [];
    if (before === undefined) return [{ event: 'client_added', ...common, clientId, after }];
    const members = differing(before, after);
    // A lock, which changes the stored text too, is shown as the state.
    const isNewSecret = secretOf(changed.before) !== secretOf(changed.after);
    const names = isNewSecret ? [...members, 'client_secret' as const] : members;
    if (names.length === 0) return [];
    const parts = { before: pick(before, members), after: pick(after, members) };
    return [{ event: 'client_changed', ...common, clientId, changed: names, ...parts }];
  }

  #shown(stored: StoredClient | undefined): RecordedClient | undefined {
    if (stored === undefined) return undefined;
    const { client, details = NO_DETAILS } = stored;
    const described = describeWithCredentials({ clients: [client], details }, this.#parts.clock.now());
    if (!described.ok) return undefined;
    const { client_name, scope, state, bcrypt_cost } = described.value.client;
    const { secrets, keys, federated_subjects, resources } = described.value.credentials;
    return {
      client_name,
      scope,
      state,
      bcrypt_cost,
      secrets: secrets.map(({ expired: _expired, ...secret }) => secret),
      keys: keys.map(({ key_id, kid, expires_at }) => ({ key_id, kid, expires_at })),
      federated_subjects,
      resources,
    };
  }
}

function secretOf(stored: StoredClient | undefined): string {
  return unlock(stored?.client.clientSecret ?? '');
}

function differing(before: RecordedClient, after: RecordedClient): readonly (keyof RecordedClient)[] {
  const members = Object.keys(after) as (keyof RecordedClient)[];
  return members.filter((member) => JSON.stringify(before[member]) !== JSON.stringify(after[member]));
}

function pick(client: RecordedClient, members: readonly (keyof RecordedClient)[]): Partial<RecordedClient> {
  return Object.fromEntries(members.map((member) => [member, client[member]]));
}
