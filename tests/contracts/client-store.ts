import { isDeepStrictEqual } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ClientPlan } from '../../application/clients-program/client-plan.ts';
import type { ChangeRecorder } from '../../application/ports/change-recorder.ts';
import {
  type ClientChange,
  type ClientEdit,
  type ClientStore,
  type PlannedAction,
  type PlannedClient,
  type StoredClient,
  ValueRefused,
} from '../../application/ports/client-store.ts';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import { type ClientDetails, type NamedSecret, NO_DETAILS } from '../../domain/client-details.ts';
import { NO_FIELDS } from '../../domain/client-fields.ts';
import type { ClientColumns, NewClient } from '../../domain/client-registration.ts';
import { failure, type Result, success } from '../../domain/result.ts';
import { lock, NO_SECRET, replaceSecret, unlock } from '../../domain/stored-secret.ts';
import { collect } from '../support/collect.ts';
import { secretEdit } from '../support/secret-edit.ts';
import { A_CLIENT } from './client-repository.ts';

/** An empty store. */
interface ClientStoreUnderTest {
  readonly store: ClientStore;
  /** Another store with the same clients, as a second administrator has. */
  another(): Promise<ClientStore>;
  close(): Promise<void>;
}

const HASH = A_CLIENT.clientSecret;
const ANOTHER: NewClient = { ...A_CLIENT, clientId: 'client-2', clientName: 'Second client' };
const AT_ONCE = 5;

const A_SECRET: NamedSecret = { secret_id: 'an-id', name: 'of spring', client_secret: HASH, expires_at: 2_000_000_000 };
// RFC 8037 appendix A.2, with its thumbprint of appendix A.3.
const A_KEY = { kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo', kid: 'k1' } as const;
const A_KEY_ID = 'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k';
const ANOTHER_KEY = { ...A_KEY, x: '22qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo', kid: 'k2' } as const;
const A_SUBJECT = { issuer: 'https://issuer.example', subject: 'repo:a/b', claims: { 'a.b': 'x="y"', c: 'é' } };
const DETAILS: ClientDetails = {
  secrets: [A_SECRET],
  jwks: { keys: [{ ...A_KEY, expires_at: 2_000_000_001 }] },
  federated_subjects: [A_SUBJECT],
  resources: ['https://api.example/', { resource: 'https://files.example', scope: 'read files' }],
  claims: { tenant: 'é"', groups: ['a', 'b'], limits: { rate: 0.5, burst: null } },
  token_lifetime_seconds: 60,
  grant_types: ['client_credentials'],
  audiences: ['https://api.example/'],
  owner: 'team-a',
};
/** A database may order the names of an object. */
const CLAIM_NAMES = expect.arrayContaining(['tenant', 'groups', 'limits']);
/** Of the store. */
const STORED_DETAILS = { details: DETAILS, keyIds: [A_KEY_ID] };

const A_FILE = { name: 'clients.json', sha256: '0'.repeat(64) };
export const A_SOURCE = { kind: 'import', file: A_FILE } as const;
const AN_APPLY = { kind: 'apply', file: A_FILE } as const;
export const NONE = { added: 0, changed: 0, replaced: 0, locked: 0, unchanged: 0, removed: 0 };

/** Keeps what a store tells it, and refuses the changes of some client ids. */
class ListingRecorder implements ChangeRecorder<ClientChange> {
  readonly changes: ClientChange[] = [];
  refuses = false;

  record(change: ClientChange): void {
    if (this.refuses) throw new DependencyUnavailable('audit log', new Error('no space left'));
    this.changes.push(structuredClone(change));
  }

  unconfirmed(): void {
    throw new Error('every change is confirmed here');
  }
}

/** What every ClientStore promises. `fresh` gives an empty one. */
export function describeClientStore(
  name: string,
  fresh: (recorder: ChangeRecorder<ClientChange>) => Promise<ClientStoreUnderTest>,
): void {
  describe(`${name} as ClientStore`, () => {
    let under: ClientStoreUnderTest;
    let store: ClientStore;
    let recorder: ListingRecorder;
    beforeEach(async () => {
      recorder = new ListingRecorder();
      under = await fresh(recorder);
      store = under.store;
    });
    afterEach(() => under.close());

    it('has no client at first', async () => {
      expect(await list()).toEqual([]);
      expect(await clientsOf('client-1')).toEqual([]);
    });

    it('stores a client unchanged with its own id, and finds it', async () => {
      expect(await store.add(A_CLIENT)).toEqual({ ...stored(A_CLIENT), details: NO_DETAILS });
      expect(await store.add(ANOTHER)).toMatchObject({ ...stored(ANOTHER) });
      expect(await clientsOf('client-1')).toEqual([stored(A_CLIENT)]);
      expect(new Set((await list()).map(({ id }) => id)).size).toBe(2);
    });

    it('stores the clients of a plan unchanged, in several batches, and names them in order', async () => {
      const plan = new ClientPlan(store);
      expect(plan.add([added(ANOTHER)])).toEqual([]);
      expect(plan.add([added(A_CLIENT), added({ ...A_CLIENT, clientId: 'Z' })])).toEqual([]);
      expect(await list()).toEqual([]);
      expect(await plan.apply(A_SOURCE)).toEqual(success({ ...NONE, added: 3 }));
      expect(idsOf(plan, 'added')).toEqual(['Z', 'client-1', 'client-2']);
      expect(idsOf(plan, 'replaced')).toEqual([]);
      expect(await clientsOf('client-2')).toEqual([stored(ANOTHER)]);
    });

    it('stores more clients than one batch or page holds', async () => {
      const many = Array.from({ length: 5_003 }, (_, number) => ({ ...A_CLIENT, clientId: String(number) }));
      const plan = new ClientPlan(store);
      expect(plan.add(many.map(added))).toEqual([]);
      expect(await plan.apply(A_SOURCE)).toMatchObject({ value: { added: 5_003 } });
      const ids = many.map(({ clientId }) => clientId).sort();
      expect(idsOf(plan, 'added')).toEqual(ids);
      expect((await list()).map(({ clientId }) => clientId)).toEqual(ids);
      expect(await storeAll(many.slice(1_000))).toMatchObject({ value: { replaced: 4_003 } });
      expect(await list()).toHaveLength(5_003);
    });

    it('stores clients with their details, and lists both unchanged', async () => {
      await storeAll([ANOTHER, { ...A_CLIENT, details: DETAILS }]);
      expect(await detailsOf('client-1')).toEqual(DETAILS);
      expect(await exported()).toMatchObject([
        { ...stored(A_CLIENT), details: DETAILS },
        { ...stored(ANOTHER), details: NO_DETAILS },
      ]);
      expect(await exported('client-2')).toMatchObject([{ clientId: 'client-2' }]);
    });

    it('lists more clients than a page holds, each once and with its own details', async () => {
      const many = Array.from({ length: 1_203 }, (_, number) => ({
        ...A_CLIENT,
        clientId: `client-${number}`,
        details: { resources: [`https://api.example/${number}`] },
      }));
      await storeAll(many);
      const found = await exported();
      const sorted = many.toSorted((one, other) => (one.clientId < other.clientId ? -1 : 1));
      expect(found.map(({ clientId, details }) => [clientId, details.resources])).toEqual(
        sorted.map(({ clientId, details }) => [clientId, details.resources]),
      );
    });

    it('stores nothing if it is given no clients', async () => {
      expect(await storeAll([])).toEqual(success(NONE));
    });

    it('returns clients of a plan that repeat an id, with both positions, in one batch or in two', async () => {
      const plan = new ClientPlan(store);
      const first = [A_CLIENT, ANOTHER, A_CLIENT].map(added);
      expect(plan.add(first)).toEqual([{ clientId: A_CLIENT.clientId, position: 2, first: 0 }]);
      expect(plan.add([undefined])).toEqual([]);
      expect(plan.add([added({ ...A_CLIENT, clientId: 'new' }), undefined, added(ANOTHER)])).toEqual([
        { clientId: ANOTHER.clientId, position: 6, first: 1 },
      ]);
    });

    it('stores clients that break a rule of the service', async () => {
      const broken = { clientId: '', clientSecret: '', clientName: '', scope: '' };
      await store.add(broken);
      expect(await list()).toEqual([stored(broken)]);
      await storeAll([{ ...broken, clientId: ' ' }, broken]);
      expect(await list()).toEqual([stored(broken), stored({ ...broken, clientId: ' ' })]);
    });

    it('lists only ids that begin with a text, and only those behind an id', async () => {
      const ids = ['A%', 'A%1', 'A_', 'A_1', 'Ab', 'a_', '\\'];
      await storeAll(ids.map((clientId) => ({ ...A_CLIENT, clientId })));
      const listed = async (prefix: string, after?: string) =>
        (await collect(store.list({ prefix, after }))).map(({ clientId }) => clientId);
      expect(await listed('A')).toEqual(['A%', 'A%1', 'A_', 'A_1', 'Ab']);
      expect(await listed('A_')).toEqual(['A_', 'A_1']);
      expect(await listed('A%')).toEqual(['A%', 'A%1']);
      expect(await listed('\\')).toEqual(['\\']);
      expect(await listed('', 'A_1')).toEqual(['Ab', '\\', 'a_']);
      expect(await listed('A', 'A_')).toEqual(['A_1', 'Ab']);
      expect(await listed('A', '')).toHaveLength(5);
      expect(await listed('A', 'B')).toEqual([]);
    });

    it('lists clients by their ids, byte by byte', async () => {
      const ids = ['', 'B', 'Z', 'a', 'a ', 'aa', 'b', 'é', '\uffee', '\u{1F511}'];
      await storeAll(ids.toReversed().map((clientId) => ({ ...A_CLIENT, clientId })));
      expect((await list()).map(({ clientId }) => clientId)).toEqual(ids);
    });

    it.each(['CLIENT-1', 'client-1 ', ' client-1', 'client', 'client-_', '%', ''])(
      'does not confuse %j with another client id',
      async (clientId) => {
        await store.add(A_CLIENT);
        expect(await clientsOf(clientId)).toEqual([]);
        expect(await store.remove(clientId)).toBeUndefined();
        expect(await store.change(clientId, secretEdit(lock))).toEqual({ ok: false, problem: 'client_unknown' });
        expect(await store.add({ ...A_CLIENT, clientId })).toMatchObject({
          ...stored({ ...A_CLIENT, clientId }),
        });
        expect(await clientsOf('client-1')).toEqual([stored(A_CLIENT)]);
      },
    );

    it('refuses to add an id that is registered already', async () => {
      await store.add(A_CLIENT);
      expect(await store.add({ ...A_CLIENT, clientName: 'Renamed' })).toBeUndefined();
      expect(await list()).toEqual([stored(A_CLIENT)]);
    });

    it('changes a secret and nothing else', async () => {
      await storeAll([A_CLIENT, ANOTHER]);
      const changed = await store.change(
        'client-1',
        secretEdit((secret) => `${secret} changed`),
      );
      const expected = stored({ ...A_CLIENT, clientSecret: `${HASH} changed` });
      expect(changed).toEqual({ ok: true, value: { ...expected, details: NO_DETAILS } });
      expect(await list()).toEqual([expected, stored(ANOTHER)]);
    });

    it('locks a secret once, and unlocks it', async () => {
      await store.add(A_CLIENT);
      for (const change of [lock, lock]) await store.change('client-1', secretEdit(change));
      expect(await secretOf('client-1')).toBe(lock(HASH));
      for (const change of [unlock, unlock]) await store.change('client-1', secretEdit(change));
      expect(await secretOf('client-1')).toBe(HASH);
    });

    it('changes name and scope, and nothing else', async () => {
      await storeAll([{ ...A_CLIENT, clientName: "O'Neill, \\ $1" }, ANOTHER]);
      const [before] = await clientsOf('client-1');
      await store.change('client-1', () => success({ clientName: 'Re$1named, "x"', scope: 'admin' }));
      expect(await clientsOf('client-1')).toEqual([{ ...before, clientName: 'Re$1named, "x"', scope: 'admin' }]);
      expect(await clientsOf('client-2')).toEqual([stored(ANOTHER)]);
    });

    it('keeps a lock that has no hash behind it', async () => {
      await store.add({ ...A_CLIENT, clientSecret: '!locked by hand' });
      await store.change('client-1', secretEdit(unlock));
      expect(await secretOf('client-1')).toBe('!locked by hand');
    });

    it('changes nothing if the change of a secret throws, and works afterwards', async () => {
      await store.add(A_CLIENT);
      const change = store.change('client-1', () => {
        throw new TypeError('no change');
      });
      await expect(change).rejects.toThrow('no change');
      expect(await secretOf('client-1')).toBe(HASH);
      expect(await store.change('client-1', secretEdit(lock))).toMatchObject({ ok: true });
    });

    it('removes a client once, and returns what was removed', async () => {
      await storeAll([A_CLIENT, ANOTHER]);
      expect(await store.remove('client-1')).toMatchObject({ ...stored(A_CLIENT) });
      expect(await store.remove('client-1')).toBeUndefined();
      expect(await list()).toEqual([stored(ANOTHER)]);
    });

    it('stores a client with its details unchanged, and finds them', async () => {
      const added = { ...stored(A_CLIENT), ...STORED_DETAILS };
      expect(await store.add({ ...A_CLIENT, details: DETAILS })).toEqual(added);
      await store.add(ANOTHER);
      expect(await detailsOf('client-1')).toEqual(DETAILS);
      expect(await detailsOf('client-2')).toEqual(NO_DETAILS);
      expect(await detailsOf('CLIENT-1')).toEqual(NO_DETAILS);
      expect(await detailsOf('client-1', await under.another())).toEqual(DETAILS);
    });

    it('changes details and secret of one client, and returns both', async () => {
      await store.add({ ...A_CLIENT, details: DETAILS });
      await store.add({ ...ANOTHER, details: DETAILS });
      const next: ClientDetails = {
        secrets: [{ secret_id: 'another-id', name: 'without end', client_secret: HASH }],
        jwks: { keys: [ANOTHER_KEY] },
        federated_subjects: [{ ...A_SUBJECT, claims: {} }],
        resources: ['https://a.example/', 'https://z.example/'],
        ...NO_FIELDS,
      };
      const seen: StoredClient[] = [];
      const changed = await store.change('client-1', (client) => {
        seen.push(client);
        return success({ clientSecret: NO_SECRET, details: next });
      });
      expect(seen).toMatchObject([{ ...A_CLIENT, ...STORED_DETAILS }]);
      const keyIds = [expect.stringMatching(/^[\w-]{43}$/)];
      const client = stored({ ...A_CLIENT, clientSecret: NO_SECRET });
      expect(changed).toEqual({ ok: true, value: { ...client, details: next, keyIds } });
      expect(await clientsOf('client-1')).toEqual([client]);
      expect(await detailsOf('client-1')).toEqual(next);
      expect(await detailsOf('client-2')).toEqual(DETAILS);
    });

    it('changes the expiry of what is stored already, and keeps the rest', async () => {
      await store.add({ ...A_CLIENT, details: { ...DETAILS, jwks: { keys: [A_KEY, ANOTHER_KEY] } } });
      const changed = await store.change('client-1', ({ clientSecret, details }) => {
        const secrets = details.secrets.map((secret) => ({ ...secret, expires_at: 7 }));
        const keys = details.jwks.keys.map((key) => (isDeepStrictEqual(key, A_KEY) ? { ...key, expires_at: 8 } : key));
        return success({ clientSecret, details: { ...details, secrets, jwks: { keys } } });
      });
      expect(changed.ok).toBe(true);
      const { secrets, jwks, federated_subjects } = await detailsOf('client-1');
      expect(secrets).toEqual([{ ...A_SECRET, expires_at: 7 }]);
      expect(jwks.keys).toEqual([{ ...A_KEY, expires_at: 8 }, ANOTHER_KEY]);
      expect(federated_subjects).toEqual([A_SUBJECT]);
    });

    it('changes nothing if the change of details fails or throws, or the client is unknown', async () => {
      await store.add({ ...A_CLIENT, details: DETAILS });
      const refused = await store.change('client-1', () => failure('too many' as const));
      expect(refused).toEqual({ ok: false, problem: 'too many' });
      const thrown = store.change('client-1', () => {
        throw new TypeError('no change');
      });
      await expect(thrown).rejects.toThrow('no change');
      expect(await store.change('client-2', withoutDetails)).toEqual({ ok: false, problem: 'client_unknown' });
      expect(await clientsOf('client-1')).toEqual([stored(A_CLIENT)]);
      expect(await detailsOf('client-1')).toEqual(DETAILS);
    });

    it('leaves details alone when a secret changes', async () => {
      await store.add({ ...A_CLIENT, details: DETAILS });
      await store.change('client-1', secretEdit(lock));
      expect(await detailsOf('client-1')).toEqual(DETAILS);
    });

    it('removes details with their client: a new client of the same id has none', async () => {
      await store.add({ ...A_CLIENT, details: DETAILS });
      await store.remove('client-1');
      await store.add(A_CLIENT);
      expect(await detailsOf('client-1')).toEqual(NO_DETAILS);
    });

    it('stores no details of a client whose id is taken', async () => {
      await store.add(A_CLIENT);
      expect(await store.add({ ...A_CLIENT, details: DETAILS })).toBeUndefined();
      expect(await detailsOf('client-1')).toEqual(NO_DETAILS);
    });

    it('loses no change of details if many are made at the same time', async () => {
      await store.add({ ...A_CLIENT, clientSecret: '' });
      const stores = await severalStores();
      await Promise.all(
        stores.map((rival, number) =>
          rival.change('client-1', ({ clientSecret, details }) => {
            const resources = [...details.resources, `https://${number}.example/`];
            return success({ clientSecret: `${clientSecret}x`, details: { ...details, resources } });
          }),
        ),
      );
      expect((await detailsOf('client-1')).resources).toHaveLength(AT_ONCE);
      expect(await secretOf('client-1')).toBe('x'.repeat(AT_ONCE));
    });

    it('has details either of the client or none if it is changed and removed at the same time', async () => {
      await store.add(A_CLIENT);
      const [one, two] = await severalStores();
      await Promise.all([
        one?.change('client-1', ({ clientSecret }) => success({ clientSecret, details: DETAILS })),
        two?.remove('client-1'),
      ]);
      await store.add(A_CLIENT);
      expect(await detailsOf('client-1')).toEqual(NO_DETAILS);
    });

    it('adds a client only once if many add it at the same time', async () => {
      const stores = await severalStores();
      const saves = await Promise.all(
        stores.map((rival, number) => rival.add({ ...A_CLIENT, clientName: `name ${number}` })),
      );
      const winners = saves.filter((added) => added !== undefined);
      expect(winners).toHaveLength(1);
      expect(await clientsOf('client-1')).toEqual(winners.map(columnsOf));
    });

    it('loses no change if many are made at the same time', async () => {
      await store.add({ ...A_CLIENT, clientSecret: '' });
      const stores = await severalStores();
      await Promise.all(
        stores.map((rival) =>
          rival.change(
            'client-1',
            secretEdit((secret) => `${secret}x`),
          ),
        ),
      );
      expect(await secretOf('client-1')).toBe('x'.repeat(AT_ONCE));
    });

    it('keeps both the lock and the new secret if they are set at the same time', async () => {
      await store.add(A_CLIENT);
      const [one, two] = await severalStores();
      await Promise.all([
        one?.change(
          'client-1',
          secretEdit((secret) => replaceSecret(secret, '$2b$new')),
        ),
        two?.change('client-1', secretEdit(lock)),
      ]);
      expect(await secretOf('client-1')).toBe('!$2b$new');
    });

    it('stores all clients of one plan and none of the other if two that overlap are applied at the same time', async () => {
      const [one, two] = await severalStores();
      const plans = [one, two].map((rival) => new ClientPlan(rival ?? store));
      plans[0]?.add([A_CLIENT, ANOTHER].map(added));
      plans[1]?.add([ANOTHER, { ...A_CLIENT, clientId: 'client-3' }].map(added));
      const applied = await Promise.all(plans.map((plan) => plan.apply(A_SOURCE)));
      expect(applied.map((stored) => stored.ok).sort()).toEqual([false, true]);
      expect(await list()).toHaveLength(2);
    });

    it('completes one of several plans that replace the same clients at the same time', async () => {
      const many = Array.from({ length: 200 }, (_, number) => ({ ...A_CLIENT, clientId: `client-${number}` }));
      await storeAll(many);
      const stores = await severalStores();
      const plans = await Promise.all(
        stores.map((rival, number) => {
          const clients = many.map((client) => ({ ...client, clientName: `name ${number}` }));
          return planFor(number % 2 === 0 ? clients : clients.toReversed(), rival);
        }),
      );
      const applied = await Promise.all(plans.map((plan) => plan.apply(A_SOURCE)));
      expect(applied.filter(({ ok }) => ok)).toEqual([success({ ...NONE, replaced: 200 })]);
      expect(new Set((await list()).map(({ clientName }) => clientName)).size).toBe(1);
    });

    describe('and its changes', () => {
      const BEFORE = { ...stored(A_CLIENT), ...STORED_DETAILS };
      const LOCKED = { ...A_CLIENT, clientSecret: lock(HASH) };

      it.each<[string, () => Promise<unknown>, object]>([
        [
          'a new client',
          () => store.add({ ...ANOTHER, details: DETAILS }),
          { kind: 'client', after: { ...stored(ANOTHER), ...STORED_DETAILS } },
        ],
        [
          'another secret',
          () => store.change('client-1', secretEdit(lock)),
          { kind: 'client', before: BEFORE, after: { ...stored(LOCKED), ...STORED_DETAILS } },
        ],
        [
          'other details',
          () => store.change('client-1', withoutDetails),
          { kind: 'client', before: BEFORE, after: { ...stored(A_CLIENT), details: NO_DETAILS } },
        ],
        ['a removed client', () => store.remove('client-1'), { kind: 'client', before: BEFORE }],
        [
          'a plan',
          () =>
            storeAll([
              { ...A_CLIENT, details: { claims: {} } },
              { ...ANOTHER, details: DETAILS },
            ]),
          {
            ...A_SOURCE,
            counts: { ...NONE, added: 1, replaced: 1 },
            clients: [
              { clientId: 'client-1', action: 'replaced', changes: ['client_name', 'claims'], claims: [] },
              { clientId: 'client-2', action: 'added', changes: [], claims: CLAIM_NAMES, owner: 'team-a' },
            ],
          },
        ],
      ])('records %s before it is made, and does not make it if that fails', async (_what, change, recorded) => {
        await store.add({ ...A_CLIENT, details: DETAILS });
        recorder.changes.splice(0);
        recorder.refuses = true;
        await expect(change()).rejects.toMatchObject({ name: 'DependencyUnavailable', dependency: 'audit log' });
        expect(await list()).toEqual([stored(A_CLIENT)]);
        expect(await detailsOf('client-1')).toEqual(DETAILS);
        recorder.refuses = false;
        await change();
        expect(recorder.changes).toEqual([recorded]);
      });

      it('records nothing if nothing is changed', async () => {
        await store.add(A_CLIENT);
        recorder.changes.splice(0);
        await store.add(A_CLIENT);
        await store.change(
          'client-1',
          secretEdit((secret) => secret),
        );
        await store.change('unknown', secretEdit(lock));
        await store.change('client-1', () => failure('a problem'));
        await store.remove('unknown');
        expect(recorder.changes).toEqual([]);
      });
    });

    describe('and plans', () => {
      const OWNED = { ...A_CLIENT, details: DETAILS };
      /** A plan for stored clients, which get the fields that `next` gives. */
      async function planned(ids: readonly string[], next: Partial<NewClient>, changes: readonly string[]) {
        const plan = new ClientPlan(store);
        const found = await store.findAll(ids);
        const clients = found.map(({ id: _id, version, ...client }) => {
          return { ...client, ...next, plan: { action: 'changed' as const, version, changes } };
        });
        plan.add(clients);
        return plan;
      }

      it('finds stored clients as they are, and only exactly these', async () => {
        await storeAll([OWNED, ANOTHER]);
        const found = await store.findAll(['client-1', 'CLIENT-2', 'client-3', '']);
        expect(found).toMatchObject([{ ...stored(A_CLIENT), ...STORED_DETAILS }]);
        expect(await store.findAll([])).toEqual([]);
      });

      it('adds, changes, removes and keeps what was planned, and counts and records it', async () => {
        const [gone, same] = ['gone', 'same'].map((clientId) => ({ ...OWNED, clientId })) as [NewClient, NewClient];
        await storeAll([OWNED, gone, same, { ...ANOTHER, details: { owner: 'team-b' } }]);
        const [before] = await clientsOf('client-1');
        const plan = await planned(['client-1'], { clientName: 'New', details: { owner: 'team-a' } }, [
          'client_name',
          'jwks',
        ]);
        const [unchanged] = await store.findAll(['same']);
        plan.add([
          { ...same, plan: { action: 'unchanged', version: unchanged?.version, changes: [] } },
          added({ ...OWNED, clientId: 'new' }),
        ]);
        await plan.prune('team-a');
        const counts = { ...NONE, added: 1, changed: 1, removed: 1, unchanged: 1 };
        expect(plan.counts).toEqual(counts);
        expect(plan.entries('added')).toMatchObject([{ clientId: 'new', changes: [] }]);
        expect(plan.entries('changed')).toMatchObject([{ clientId: 'client-1', changes: ['client_name', 'jwks'] }]);
        expect(plan.entries('removed')).toMatchObject([{ clientId: 'gone', changes: [] }]);
        expect(plan.entries('unchanged')).toMatchObject([{ clientId: 'same', changes: [] }]);
        expect(await list()).toHaveLength(4);
        recorder.changes.length = 0;
        expect(await plan.apply(AN_APPLY, 'team-a')).toEqual(success(counts));
        const clients = [
          { clientId: 'client-1', action: 'changed', changes: ['client_name', 'jwks'] },
          { clientId: 'gone', action: 'removed', changes: [] },
          { clientId: 'new', action: 'added', changes: [], claims: CLAIM_NAMES, owner: 'team-a' },
        ];
        expect(recorder.changes).toEqual([{ ...AN_APPLY, counts, clients }]);
        expect((await list()).map(({ clientId }) => clientId)).toEqual(['client-1', 'client-2', 'new', 'same']);
        expect(await clientsOf('client-1')).toEqual([{ ...before, clientName: 'New', keyIds: [] }]);
        expect(await detailsOf('client-1')).toEqual({ ...NO_DETAILS, owner: 'team-a' });
        expect(await detailsOf('new')).toEqual(DETAILS);
        expect(await detailsOf('same')).toEqual(DETAILS);
      });

      it.each<[string, () => Promise<unknown>]>([
        ['a client that changes has another secret', () => store.change('client-1', secretEdit(lock))],
        ['a client that stays has other details', () => store.change('same', withoutDetails)],
        ['a client that goes has another name', () => store.change('gone', () => success({ clientName: 'Other' }))],
        ['a client that goes is gone', () => store.remove('gone')],
        ['a client that comes is there', () => store.add({ ...A_CLIENT, clientId: 'new' })],
        ['the owner has another one', () => store.add({ ...OWNED, clientId: 'other' })],
      ])('does nothing of a plan if meanwhile %s', async (_what, meanwhile) => {
        const [gone, same] = ['gone', 'same'].map((clientId) => ({ ...OWNED, clientId })) as [NewClient, NewClient];
        await storeAll([OWNED, gone, same]);
        const plan = await planned(['client-1'], { clientName: 'New' }, ['client_name']);
        const [unchanged] = await store.findAll(['same']);
        plan.add([
          { ...same, plan: { action: 'unchanged', version: unchanged?.version, changes: [] } },
          added({ ...OWNED, clientId: 'new' }),
        ]);
        await plan.prune('team-a');
        await meanwhile();
        const before = await list();
        recorder.changes.length = 0;
        expect(await plan.apply(AN_APPLY, 'team-a')).toEqual({ ok: false, problem: 'plan_outdated' });
        expect(await list()).toEqual(before);
        expect(recorder.changes).toEqual([]);
      });

      it('counts what a rehearsal would do, stores and records nothing of it, and does it afterwards', async () => {
        await storeAll([OWNED, { ...OWNED, clientId: 'gone' }]);
        const before = await list();
        const plan = await planned(['client-1'], { clientName: 'New' }, ['client_name']);
        await plan.prune('team-a');
        recorder.changes.length = 0;
        const counts = { ...NONE, changed: 1, removed: 1 };
        expect(await plan.apply(undefined, 'team-a')).toEqual(success(counts));
        expect(await list()).toEqual(before);
        expect(recorder.changes).toEqual([]);
        expect(await plan.apply(AN_APPLY, 'team-a')).toEqual(success(counts));
        expect((await list()).map(({ clientName }) => clientName)).toEqual(['New']);
      });

      it('records the names of changed claims, and whose an adopted client is', async () => {
        await storeAll([{ ...A_CLIENT, details: { claims: { tenant: 'acme' } } }, ANOTHER]);
        const claims = { plan: 'gold' };
        const plan = await planned(['client-1'], { details: { claims, owner: 'team-a' } }, ['claims', 'owner']);
        const [other] = await store.findAll(['client-2']);
        plan.add([
          { ...ANOTHER, details: {}, plan: { action: 'changed', version: other?.version, changes: ['claims'] } },
        ]);
        recorder.changes.length = 0;
        expect(await plan.apply(AN_APPLY)).toMatchObject({ ok: true });
        expect(recorder.changes).toMatchObject([
          {
            clients: [
              { clientId: 'client-1', changes: ['claims', 'owner'], claims: ['plan'], owner: 'team-a' },
              { clientId: 'client-2', changes: ['claims'], claims: [] },
            ],
          },
        ]);
      });

      it('records many clients, each once', async () => {
        const many = Array.from({ length: 4_500 }, (_, n) => ({ ...A_CLIENT, clientId: `c${n}` }));
        const plan = new ClientPlan(store);
        plan.add(many.map(added));
        expect(await plan.apply(AN_APPLY)).toMatchObject({ ok: true });
        const ids = recorder.changes.flatMap((change) => ('clients' in change ? change.clients : []));
        expect(ids.map(({ clientId }) => clientId)).toEqual(many.map(({ clientId }) => clientId).sort());
      });

      it('does nothing of a plan that cannot be recorded', async () => {
        const plan = new ClientPlan(store);
        plan.add([added(OWNED)]);
        recorder.refuses = true;
        await expect(plan.apply(AN_APPLY)).rejects.toThrow(DependencyUnavailable);
        expect(await list()).toEqual([]);
      });

      it('prepares a change once it is made and before it is stored, and stores nothing if that fails', async () => {
        await storeAll([OWNED]);
        recorder.changes.splice(0);
        const plan = await planned(['client-1'], { clientName: 'New' }, ['client_name']);
        const changes: readonly ((prepare: () => Promise<void>) => Promise<unknown>)[] = [
          (prepare) => plan.apply(AN_APPLY, undefined, undefined, prepare),
          (prepare) => store.change('client-1', secretEdit(lock), prepare),
          (prepare) => store.remove('client-1', prepare),
        ];
        for (const change of changes) {
          await expect(change(() => Promise.reject(new ValueRefused('no')))).rejects.toThrow(ValueRefused);
          expect(await list()).toEqual([stored(A_CLIENT)]);
        }
        expect(recorder.changes).toEqual([]);
        const prepared: unknown[] = [];
        const another = await under.another();
        // Nobody else sees the change yet.
        const prepare = async () => void prepared.push((await another.find('client-1'))?.clientName);
        await plan.apply(undefined, undefined, undefined, prepare);
        await store.change('client-1', () => failure('a problem'), prepare);
        await store.remove('unknown', prepare);
        expect(prepared).toEqual([]);
        await plan.apply(AN_APPLY, undefined, undefined, prepare);
        await store.remove('client-1', prepare);
        expect(prepared).toEqual([A_CLIENT.clientName, 'New']);
      });

      it('removes the other clients of an owner whatever their ids begin with, and lists them', async () => {
        const ids = [
          '',
          ' ',
          'Z',
          'é',
          'x'.repeat(251),
          '\u{FFFD}',
          '\u{10FFFE}',
          '\u{10FFFF}',
          '\u{10FFFF}'.repeat(251),
        ];
        const others = ids.map((id) => ({ ...OWNED, clientId: `${id}\u{10FFFF}` }));
        await storeAll([OWNED, ...others]);
        expect(await list()).toHaveLength(others.length + 1);
        const plan = await planned(['client-1'], { clientName: 'New' }, ['client_name']);
        await plan.prune('team-a');
        expect(plan.counts).toMatchObject({ removed: others.length });
        expect(await plan.apply(AN_APPLY, 'team-a')).toMatchObject({ ok: true });
        expect((await list()).map(({ clientId }) => clientId)).toEqual(['client-1']);
      });

      it('keeps apart columns whose texts are together the same', async () => {
        await storeAll([{ ...A_CLIENT, clientName: 'ab', scope: 'c' }]);
        const plan = await planned(['client-1'], { clientSecret: 'x' }, ['client_secret']);
        await store.change('client-1', () => success({ clientName: 'a', scope: 'bc' }));
        expect(await plan.apply(AN_APPLY)).toMatchObject({ ok: false });
      });
    });

    /** Each store has been used once, so all of them have a connection. */
    async function severalStores(): Promise<readonly ClientStore[]> {
      const stores = await Promise.all(Array.from({ length: AT_ONCE }, () => under.another()));
      await Promise.all(stores.map((another) => another.find('client-1')));
      return stores;
    }

    async function clientsOf(clientId: string): Promise<readonly ClientColumns[]> {
      const found = await store.find(clientId);
      return found === undefined ? [] : [columnsOf(found)];
    }

    async function detailsOf(clientId: string, found = store): Promise<ClientDetails> {
      return (await found.find(clientId))?.details ?? NO_DETAILS;
    }

    function exported(prefix = ''): Promise<readonly StoredClient[]> {
      return collect(store.list({ prefix }));
    }

    async function list(): Promise<readonly ClientColumns[]> {
      return (await exported()).map(columnsOf);
    }

    /** Applies a plan that adds these clients, or replaces all of them. */
    async function storeAll(given: readonly NewClient[]) {
      return (await planFor(given)).apply(A_SOURCE);
    }

    async function planFor(given: readonly NewClient[], into = store): Promise<ClientPlan> {
      const plan = new ClientPlan(into);
      const found = await into.findAll(given.map(({ clientId }) => clientId));
      const versions = new Map(found.map(({ clientId, version }) => [clientId, version]));
      const planned = given.map((client): PlannedClient => {
        const version = versions.get(client.clientId);
        const changes = ['client_name', ...Object.keys(client.details ?? {})];
        return version === undefined ? added(client) : { ...client, plan: { action: 'replaced', version, changes } };
      });
      plan.add(planned);
      return plan;
    }

    function idsOf(plan: ClientPlan, action: PlannedAction): readonly string[] {
      return plan.entries(action).map(({ clientId }) => clientId);
    }

    async function secretOf(clientId: string): Promise<string | undefined> {
      return (await clientsOf(clientId))[0]?.clientSecret;
    }
  });
}

function added(client: NewClient): PlannedClient {
  return { ...client, plan: { action: 'added', version: undefined, changes: [] } };
}

function columnsOf({ details: _details, problem: _problem, ...columns }: StoredClient): ClientColumns {
  return columns;
}

function stored(client: NewClient) {
  return { ...client, id: expect.stringMatching(/./), keyIds: expect.any(Array) };
}

function withoutDetails(): Result<ClientEdit, never> {
  return success({ details: NO_DETAILS });
}
