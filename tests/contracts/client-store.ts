import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { ClientStore } from '../../application/ports/client-store.ts';
import type { ClientRegistrationFields, NewClient } from '../../domain/client-registration.ts';
import { lock, replaceSecret, unlock } from '../../domain/stored-secret.ts';
import { A_CLIENT } from './client-repository.ts';

/** An empty store. */
export interface ClientStoreUnderTest {
  readonly store: ClientStore;
  /** Another store with the same clients, as a second administrator has. */
  another(): Promise<ClientStore>;
  close(): Promise<void>;
}

const HASH = A_CLIENT.clientSecret;
const ANOTHER: NewClient = { ...A_CLIENT, clientId: 'client-2', clientName: 'Second client' };
const AT_ONCE = 5;

/** What every ClientStore promises. `fresh` gives an empty one. */
export function describeClientStore(name: string, fresh: () => Promise<ClientStoreUnderTest>): void {
  describe(`${name} as ClientStore`, () => {
    let under: ClientStoreUnderTest;
    let store: ClientStore;
    beforeEach(async () => {
      under = await fresh();
      store = under.store;
    });
    afterEach(() => under.close());

    it('has no client at first', async () => {
      expect(await list()).toEqual([]);
      expect(await store.find('client-1')).toEqual([]);
    });

    it('stores clients unchanged, each with its own id, and finds them', async () => {
      const saved = await store.save([A_CLIENT, ANOTHER]);
      if (!saved.ok) throw new Error('taken');
      expect(saved.value.added).toHaveLength(2);
      expect(saved.value.added).toEqual(expect.arrayContaining([stored(A_CLIENT), stored(ANOTHER)]));
      expect(saved.value.replaced).toEqual([]);
      expect(await store.find('client-1')).toEqual([stored(A_CLIENT)]);
      expect(new Set((await list()).map(({ id }) => id)).size).toBe(2);
    });

    it('stores nothing if it is given no clients', async () => {
      expect(await store.save([])).toEqual({ ok: true, value: { added: [], replaced: [] } });
      expect(await store.save([], replaceSecret)).toEqual({ ok: true, value: { added: [], replaced: [] } });
    });

    it('stores clients that break a rule of the service', async () => {
      const broken = { clientId: '', clientSecret: '', clientName: '', scope: '' };
      await store.save([broken]);
      expect(await list()).toEqual([stored(broken)]);
    });

    it('lists clients by their ids, byte by byte', async () => {
      const ids = ['', 'B', 'Z', 'a', 'a ', 'aa', 'b', 'é', '\uffee', '\u{1F511}'];
      await store.save(ids.toReversed().map((clientId) => ({ ...A_CLIENT, clientId })));
      expect((await list()).map(({ clientId }) => clientId)).toEqual(ids);
    });

    it.each(['CLIENT-1', 'client-1 ', ' client-1', 'client', 'client-_', '%', ''])(
      'does not confuse %j with another client id',
      async (clientId) => {
        await store.save([A_CLIENT]);
        expect(await store.find(clientId)).toEqual([]);
        expect(await store.remove(clientId)).toEqual([]);
        expect(await store.changeSecret(clientId, lock)).toEqual({ clients: [], changed: false });
        expect((await store.save([{ ...A_CLIENT, clientId }])).ok).toBe(true);
        expect(await store.find('client-1')).toEqual([stored(A_CLIENT)]);
      },
    );

    it('refuses ids that are already registered, returns them, and stores none of the clients', async () => {
      await store.save([A_CLIENT]);
      const before = await list();
      const refused = await store.save([ANOTHER, { ...A_CLIENT, clientName: 'Renamed' }]);
      expect(refused).toEqual({ ok: false, problem: new Set(['client-1']) });
      expect(await list()).toEqual(before);
    });

    it('replaces secret, name and scope of stored clients, and keeps their ids', async () => {
      await store.save([A_CLIENT]);
      const [before] = await store.find('client-1');
      const renamed = { ...A_CLIENT, clientSecret: 'new', clientName: 'Renamed', scope: 'admin' };
      const saved = await store.save([ANOTHER, renamed], (old, given) => `${given} instead of ${old}`);
      const replaced = { ...renamed, id: before?.id, clientSecret: `new instead of ${HASH}` };
      expect(saved).toEqual({ ok: true, value: { added: [stored(ANOTHER)], replaced: [replaced] } });
      expect(await store.find('client-1')).toEqual([replaced]);
    });

    it('keeps a locked client locked when it is replaced', async () => {
      await store.save([{ ...A_CLIENT, clientSecret: lock(HASH) }]);
      await store.save([{ ...A_CLIENT, clientSecret: '$2b$new' }], replaceSecret);
      expect(await secretOf('client-1')).toBe('!$2b$new');
    });

    it('changes nothing if the replacement of one secret throws', async () => {
      await store.save([A_CLIENT, ANOTHER]);
      const before = await list();
      const clients = [ANOTHER, { ...A_CLIENT, clientName: 'Renamed' }, { ...A_CLIENT, clientId: 'client-3' }];
      const saved = store.save(clients, () => {
        throw new TypeError('no replacement');
      });
      await expect(saved).rejects.toThrow('no replacement');
      expect(await list()).toEqual(before);
    });

    it('changes a secret and nothing else', async () => {
      await store.save([A_CLIENT, ANOTHER]);
      const changed = await store.changeSecret('client-1', (secret) => `${secret} changed`);
      const expected = stored({ ...A_CLIENT, clientSecret: `${HASH} changed` });
      expect(changed).toEqual({ clients: [expected], changed: true });
      expect(await list()).toEqual([expected, stored(ANOTHER)]);
    });

    it('reports whether a change made a difference to the secret', async () => {
      await store.save([A_CLIENT]);
      expect(await store.changeSecret('client-1', lock)).toMatchObject({ changed: true });
      expect(await store.changeSecret('client-1', lock)).toMatchObject({ changed: false });
      expect(await store.changeSecret('client-1', unlock)).toMatchObject({ changed: true });
      expect(await store.changeSecret('client-1', unlock)).toMatchObject({ changed: false });
      expect(await secretOf('client-1')).toBe(HASH);
    });

    it('keeps a lock that has no hash behind it', async () => {
      await store.save([{ ...A_CLIENT, clientSecret: '!locked by hand' }]);
      expect(await store.changeSecret('client-1', unlock)).toMatchObject({ changed: false });
      expect(await secretOf('client-1')).toBe('!locked by hand');
    });

    it('changes nothing if the change of a secret throws, and works afterwards', async () => {
      await store.save([A_CLIENT]);
      const change = store.changeSecret('client-1', () => {
        throw new TypeError('no change');
      });
      await expect(change).rejects.toThrow('no change');
      expect(await secretOf('client-1')).toBe(HASH);
      expect(await store.changeSecret('client-1', lock)).toMatchObject({ changed: true });
    });

    it('removes a client once, and returns what was removed', async () => {
      await store.save([A_CLIENT, ANOTHER]);
      expect(await store.remove('client-1')).toEqual([stored(A_CLIENT)]);
      expect(await store.remove('client-1')).toEqual([]);
      expect(await list()).toEqual([stored(ANOTHER)]);
    });

    it('adds a client only once if many add it at the same time', async () => {
      const stores = await severalStores();
      const saves = await Promise.all(
        stores.map((rival, number) => rival.save([{ ...A_CLIENT, clientName: `name ${number}` }])),
      );
      const winners = saves.flatMap((saved) => (saved.ok ? saved.value.added : []));
      expect(winners).toHaveLength(1);
      expect(await store.find('client-1')).toEqual(winners);
    });

    it('loses no change if many are made at the same time', async () => {
      await store.save([{ ...A_CLIENT, clientSecret: '' }]);
      const stores = await severalStores();
      await Promise.all(stores.map((rival) => rival.changeSecret('client-1', (secret) => `${secret}x`)));
      expect(await secretOf('client-1')).toBe('x'.repeat(AT_ONCE));
    });

    it('keeps both the lock and the new secret if they are set at the same time', async () => {
      await store.save([A_CLIENT]);
      const [one, two, three] = await severalStores();
      await Promise.all([
        one?.changeSecret('client-1', (secret) => replaceSecret(secret, '$2b$new')),
        two?.changeSecret('client-1', lock),
        three?.save([{ ...A_CLIENT, clientSecret: '$2b$new' }], replaceSecret),
      ]);
      expect(await secretOf('client-1')).toBe('!$2b$new');
    });

    it('stores all clients of one import and none of the other if two overlapping imports run at the same time', async () => {
      const [one, two] = await severalStores();
      const imports = await Promise.all([
        one?.save([A_CLIENT, ANOTHER]),
        two?.save([ANOTHER, { ...A_CLIENT, clientId: 'client-3' }]),
      ]);
      expect(imports.map((saved) => saved?.ok).sort()).toEqual([false, true]);
      expect(await list()).toHaveLength(2);
    });

    /** Each store has been used once, so all of them have a connection. */
    async function severalStores(): Promise<readonly ClientStore[]> {
      const stores = await Promise.all(Array.from({ length: AT_ONCE }, () => under.another()));
      await Promise.all(stores.map((another) => another.find('client-1')));
      return stores;
    }

    function list(): Promise<readonly ClientRegistrationFields[]> {
      return store.list();
    }

    async function secretOf(clientId: string): Promise<string | undefined> {
      return (await store.find(clientId))[0]?.clientSecret;
    }
  });
}

function stored(client: NewClient) {
  return { ...client, id: expect.stringMatching(/./) };
}
