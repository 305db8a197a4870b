import { beforeEach, describe, expect, it } from '@jest/globals';
import { RandomIdGenerator } from '../../../adapters/system/system.ts';
import { clientChangeEvents } from '../../../application/clients-program/client-change-events.ts';
import type { AuditEvent } from '../../../application/ports/audit-log.ts';
import type { ClientChange } from '../../../application/ports/client-store.ts';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';
import { RecordChanges } from '../../../application/record-changes.ts';
import { NO_DETAILS } from '../../../domain/client-details.ts';
import { failure, success } from '../../../domain/result.ts';
import { lock, NO_SECRET, unlock } from '../../../domain/stored-secret.ts';
import { A_CLIENT } from '../../contracts/client-repository.ts';
import { FixedClock } from '../../support/fixed-clock.ts';
import { InMemoryChangeLog } from '../../support/in-memory-audit-log.ts';
import { InMemoryClientStore } from '../../support/in-memory-client-store.ts';
import { secretEdit } from '../../support/secret-edit.ts';

const NOW = 1_800_000_000;
const ID = A_CLIENT.clientId;
const ANOTHER_HASH = `${A_CLIENT.clientSecret.slice(0, -1)}x`;

let changeLog: InMemoryChangeLog;
let store: InMemoryClientStore;
let recorder: RecordChanges<ClientChange>;
beforeEach(() => {
  changeLog = new InMemoryChangeLog();
  const ids = new RandomIdGenerator();
  recorder = new RecordChanges({ changeLog, clock: new FixedClock(NOW), ids }, clientChangeEvents);
  store = new InMemoryClientStore(ids, recorder);
});

const rowOf = (id: string) => ({ client: { ...A_CLIENT, id, clientName: `row ${id}` }, details: NO_DETAILS });

describe('clientChangeEvents', () => {
  it('records a new client, a change and a removal, each with an id of its own', async () => {
    await store.add(A_CLIENT);
    await store.change(ID, secretEdit(lock));
    await store.remove(ID);
    const events = changeLog.events();
    expect(events).toMatchObject([
      { event: 'client_added', at: NOW, client_id: ID, after: { client_name: A_CLIENT.clientName, state: 'enabled' } },
      {
        event: 'client_changed',
        client_id: ID,
        changed: ['state'],
        before: { state: 'enabled' },
        after: { state: 'disabled' },
      },
      { event: 'client_removed', client_id: ID, before: { client_name: A_CLIENT.clientName, state: 'disabled' } },
    ]);
    expect(new Set(events.map((event) => 'change_id' in event && event.change_id)).size).toBe(3);
  });

  it('says that a secret was replaced, and never shows it or its hash', async () => {
    await store.add(A_CLIENT);
    await store.change(
      ID,
      secretEdit(() => ANOTHER_HASH),
    );
    expect(changeLog.events().at(-1)).toMatchObject({ changed: ['client_secret'], before: {}, after: {} });
    const text = JSON.stringify(changeLog.events());
    for (const hash of [A_CLIENT.clientSecret, ANOTHER_HASH]) expect(text).not.toContain(hash);
  });

  it('says that a secret was replaced when a client was disabled by the same change', async () => {
    await store.add(A_CLIENT);
    await store.change(
      ID,
      secretEdit(() => lock(ANOTHER_HASH)),
    );
    expect(changeLog.events().at(-1)).toMatchObject({ changed: ['state', 'client_secret'] });
    await store.change(ID, secretEdit(unlock));
    expect(changeLog.events().at(-1)).toMatchObject({ changed: ['state'] });
  });

  it('shows only the members that differ', async () => {
    await store.add(A_CLIENT);
    const resources = ['https://api.example/'];
    await store.change(ID, ({ clientSecret }) => success({ clientSecret, details: { ...NO_DETAILS, resources } }));
    const event = changeLog.events().at(-1);
    expect(event).toMatchObject({ changed: ['resources'], before: { resources: [] }, after: { resources } });
    await store.change(ID, () => success({ clientSecret: NO_SECRET, details: { ...NO_DETAILS, resources } }));
    expect(changeLog.events().at(-1)).toMatchObject({ changed: ['bcrypt_cost', 'secrets', 'client_secret'] });
  });

  it('shows secrets and keys by their ids, names and ends', async () => {
    await store.add(A_CLIENT);
    const { clientName: client_name, scope } = A_CLIENT;
    const credentials = {
      secrets: [{ secret_id: null, name: null, expires_at: null }],
      keys: [],
      federated_subjects: [],
      resources: [],
    };
    const after = { client_name, scope, state: 'enabled', bcrypt_cost: 4, ...credentials };
    expect(changeLog.events()).toEqual([expect.objectContaining({ after })]);
    const jwk = { kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo', kid: 'k' } as const;
    const keys = [{ jwk, expires_at: NOW + 60 }];
    await store.change(ID, ({ clientSecret }) => success({ clientSecret, details: { ...NO_DETAILS, keys } }));
    const key_id = 'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k';
    expect(changeLog.events().at(-1)).toMatchObject({ after: { keys: [{ key_id, kid: 'k', expires_at: NOW + 60 }] } });
  });

  it('records how many clients an import has stored', async () => {
    const imported = await store.startImport();
    await imported.add([A_CLIENT]);
    const file = { name: 'clients.json', sha256: 'a'.repeat(64) };
    await imported.save(file, 'refuse');
    const counts = { added: 1, replaced: 0, still_disabled: 0 };
    const { name, sha256 } = file;
    expect(changeLog.events()).toMatchObject([{ event: 'clients_imported', at: NOW, file: name, sha256, ...counts }]);
  });

  it('records nothing of a change that changes nothing', async () => {
    await store.add(A_CLIENT);
    await store.change(ID, (stored) => success(stored));
    await store.change(ID, () => failure('a problem'));
    expect(changeLog.events()).toHaveLength(1);
  });

  it('lets a change fail that cannot be recorded', async () => {
    changeLog.full = true;
    await expect(store.add(A_CLIENT)).rejects.toBeInstanceOf(DependencyUnavailable);
    expect((await store.find(ID)).clients).toEqual([]);
    changeLog.full = false;
    expect(changeLog.events()).toEqual([]);
  });

  it('records each of several clients with one id, as one change', () => {
    recorder.record({ kind: 'clients', clients: [{ before: rowOf('1') }, { before: rowOf('2') }] }, 'alice');
    const events = changeLog.events();
    expect(events).toMatchObject([
      { event: 'client_removed', client_id: ID, database_role: 'alice', before: { client_name: 'row 1' } },
      { event: 'client_removed', client_id: ID, database_role: 'alice', before: { client_name: 'row 2' } },
    ]);
    expect(new Set(events.map((event) => 'change_id' in event && event.change_id)).size).toBe(1);
  });

  it('says that a change was not made if only the first of its events can be recorded', () => {
    const events: AuditEvent[] = [];
    const record = (event: AuditEvent) => {
      if (events.length === 1 && event.event !== 'change_unconfirmed') throw new Error('no space left');
      events.push(event);
    };
    const ids = new RandomIdGenerator();
    const failing = new RecordChanges({ changeLog: { record }, clock: new FixedClock(NOW), ids }, clientChangeEvents);
    const clients = [{ before: rowOf('1') }, { before: rowOf('2') }];
    expect(() => failing.record({ kind: 'clients', clients }, undefined)).toThrow('no space left');
    expect(events.map(({ event }) => event)).toEqual(['client_removed', 'change_unconfirmed']);
    expect(new Set(events.map((event) => 'change_id' in event && event.change_id)).size).toBe(1);
  });

  it('names the change that was not confirmed', async () => {
    await store.add(A_CLIENT);
    recorder.unconfirmed();
    const [added, unconfirmed] = changeLog.events();
    expect(unconfirmed).toEqual({
      event: 'change_unconfirmed',
      at: NOW,
      change_id: added && 'change_id' in added ? added.change_id : 'none',
    });
  });
});
