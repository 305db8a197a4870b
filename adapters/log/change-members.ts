import type { ChangeEvent } from '../../application/ports/change-event.ts';

/** What an audit line says of a change, beyond its event and time. JSON leaves out a member that is undefined. */
export function changeMembers(event: ChangeEvent): object {
  const { changeId: change_id, databaseRole: database_role } = event;
  const common = { change_id, database_role };
  switch (event.event) {
    case 'client_added':
      return { ...common, client_id: event.clientId, after: event.after };
    case 'client_changed': {
      const { clientId: client_id, changed, before, after } = event;
      return { ...common, client_id, changed, before, after };
    }
    case 'client_removed':
      return { ...common, client_id: event.clientId, before: event.before };
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
