import type { ChangeEvent, RecordedClient } from '../../application/ports/change-event.ts';

const NAMES: Readonly<Record<keyof RecordedClient | 'clientSecret', string>> = {
  clientName: 'client_name',
  scope: 'scope',
  state: 'state',
  bcryptCost: 'bcrypt_cost',
  secrets: 'secrets',
  keys: 'keys',
  subjects: 'federated_subjects',
  resources: 'resources',
  clientSecret: 'client_secret',
};

/** What an audit line says of a change, beyond its event and time. */
export function changeMembers(event: ChangeEvent): object {
  const { changeId: change_id, databaseRole: database_role } = event;
  const common = { change_id, database_role };
  switch (event.event) {
    case 'client_added':
      return { ...common, client_id: event.clientId, after: clientMembers(event.after) };
    case 'client_removed':
      return { ...common, client_id: event.clientId, before: clientMembers(event.before) };
    case 'client_changed':
      return {
        ...common,
        client_id: event.clientId,
        changed: event.changed.map((name) => NAMES[name]),
        before: clientMembers(event.before),
        after: clientMembers(event.after),
      };
    case 'clients_imported':
      return {
        ...common,
        file: event.file.name,
        sha256: event.file.sha256,
        added: event.added,
        replaced: event.replaced,
        still_disabled: event.locked,
      };
    case 'directory_key_revoked':
      return { ...common, key_id: event.keyId, replica: event.replica, trusted_until: event.trustedUntil };
  }
}

/** Members as in a clients file and in `npm run clients -- show --json`. JSON leaves out those that are undefined. */
function clientMembers({ clientName, bcryptCost, secrets, keys, subjects, ...rest }: Partial<RecordedClient>): object {
  return {
    client_name: clientName,
    scope: rest.scope,
    state: rest.state,
    bcrypt_cost: bcryptCost,
    secrets: secrets?.map(({ secretId, name, expiresAt }) => ({ secret_id: secretId, name, expires_at: expiresAt })),
    keys: keys?.map(({ keyId, kid, expiresAt }) => ({ key_id: keyId, kid, expires_at: expiresAt })),
    federated_subjects: subjects,
    resources: rest.resources,
  };
}
