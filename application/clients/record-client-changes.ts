import { unlock } from '../../domain/stored-secret.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { ChangeRecorder, RecordedClient } from '../ports/change-event.ts';
import type { ClientChange, StoredClient } from '../ports/client-store.ts';
import type { Clock } from '../ports/clock.ts';
import type { IdGenerator } from '../ports/id-generator.ts';
import { describeWithCredentials } from './described-credentials.ts';

export interface RecordChangesParts {
  readonly auditLog: AuditLog;
  readonly clock: Clock;
  readonly ids: IdGenerator;
}

const NO_DETAILS = { secrets: [], keys: [], subjects: [], resources: [] };

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
      auditLog.record({ event: 'clients_imported', ...common, ...change.counts });
      return;
    }
    const [before, after] = [this.#shown(change.before), this.#shown(change.after)];
    const clientId = (change.after ?? change.before)?.client.clientId ?? '';
    if (before === undefined && after !== undefined) {
      auditLog.record({ event: 'client_added', ...common, clientId, after });
    } else if (before !== undefined && after === undefined) {
      auditLog.record({ event: 'client_removed', ...common, clientId, before });
    } else if (before !== undefined && after !== undefined) {
      const members = differing(before, after);
      // A lock, which changes the stored text too, is shown as the state.
      const isNewSecret = secretOf(change.before) !== secretOf(change.after);
      const changed = isNewSecret ? [...members, 'clientSecret' as const] : members;
      if (changed.length === 0) return;
      const parts = { before: pick(before, members), after: pick(after, members) };
      auditLog.record({ event: 'client_changed', ...common, clientId, changed, ...parts });
    }
  }

  unconfirmed(): void {
    const { auditLog, clock } = this.#parts;
    auditLog.record({ event: 'change_unconfirmed', at: clock.now(), changeId: this.#changeId });
  }

  #shown(stored: StoredClient | undefined): RecordedClient | undefined {
    if (stored === undefined) return undefined;
    const { client, details = NO_DETAILS } = stored;
    const described = describeWithCredentials({ clients: [client], details }, this.#parts.clock.now());
    if (!described.ok) return undefined;
    const { clientName, scope, state, bcryptCost } = described.value.client;
    const { secrets, keys, subjects, resources } = described.value.credentials;
    return {
      clientName,
      scope,
      state,
      bcryptCost,
      secrets: secrets.map(({ secretId, name, expiresAt }) => ({ secretId, name, expiresAt })),
      keys: keys.map(({ keyId, kid, expiresAt }) => ({ keyId, kid, expiresAt })),
      subjects,
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
