import { beforeEach, describe, expect, it } from '@jest/globals';
import bcrypt from 'bcrypt';
import { bcryptEncoder } from '../../../adapters/secrets/bcrypt-secret-verifier.ts';
import { RandomIdGenerator } from '../../../adapters/system/system.ts';
import type { CheckRule } from '../../../application/clients-program/change-client.ts';
import {
  type ImportOptions,
  importClients,
  PROBLEMS_MAX,
} from '../../../application/clients-program/import-clients.ts';
import type { ImportEntry } from '../../../application/ports/client-store.ts';
import type { NewClient } from '../../../domain/client-registration.ts';
import { failure, success } from '../../../domain/result.ts';
import { lock, NO_SECRET } from '../../../domain/stored-secret.ts';
import { atOnce } from '../../support/at-once.ts';
import { collect } from '../../support/collect.ts';
import { InMemoryClientStore } from '../../support/in-memory-client-store.ts';
import { REGISTERED_CLIENT } from '../../support/registered-client.ts';
import { secretEdit } from '../../support/secret-edit.ts';

const COST = 4;
const HASH = REGISTERED_CLIENT.clientSecret;
const SUBJECT = { issuer: 'https://issuer.example', subject: 'a', claims: { '/team': 'b' } };
const checkRule: CheckRule = ({ subject }) => (subject === 'weak' ? 'matches everybody' : undefined);

let store: InMemoryClientStore;
beforeEach(() => {
  store = new InMemoryClientStore(new RandomIdGenerator());
});

function client(clientId: string, more: Partial<NewClient> = {}): NewClient {
  return { clientId, clientSecret: HASH, clientName: 'A client', scope: 'read', ...more };
}

const file = () => ({ name: 'clients.json', sha256: '0'.repeat(64) });

/** Imports batches of valid clients, or of other entries. */
function importAll(
  batches: readonly (readonly (NewClient | ImportEntry)[])[],
  existing: ImportOptions['existing'] = 'refuse',
) {
  async function* entries() {
    for (const batch of batches) yield batch.map((entry) => ('ok' in entry ? entry : success(entry)));
  }
  return importClients({ store, encodeSecret: bcryptEncoder(atOnce), checkRule }, entries(), {
    cost: COST,
    existing,
    file,
  });
}

async function storedIds(): Promise<readonly string[]> {
  return (await collect(store.list({ prefix: '' }))).map(({ clientId }) => clientId);
}

const bad = (position: number): ImportEntry => failure([{ position, text: 'is bad' }]);

describe('importClients', () => {
  it('stores the clients of all batches, and names them', async () => {
    const imported = await importAll([[client('b'), client('a')], [], [client('c')]]);
    expect(imported).toMatchObject({ ok: true, value: { counts: { added: 3, replaced: 0, locked: 0 } } });
    expect(imported.ok && (await collect(imported.value.ids('added')))).toEqual(['a', 'b', 'c']);
    expect(await storedIds()).toEqual(['a', 'b', 'c']);
  });

  it('hashes plain secrets at the given cost, and stores BCrypt encodings as they are', async () => {
    await importAll([[client('plain', { clientSecret: '{noop}a-secret' }), client('hashed')]]);
    const [plain, hashed] = (await collect(store.list({ prefix: '' }))).toReversed();
    expect(plain).toMatchObject({ ...client('plain'), clientSecret: expect.stringMatching(/^\$2b\$04\$.{53}$/) });
    expect(hashed).toMatchObject(client('hashed'));
  });

  it('sends no plain secret to the store in a rehearsal, since what is rolled back stays in its files', async () => {
    const sent: string[] = [];
    const rehearsed = {
      startImport: async () => {
        const started = await store.startImport();
        const add: typeof started.add = (clients) => {
          sent.push(...clients.map(({ clientSecret }) => clientSecret));
          return started.add(clients);
        };
        return { add, save: started.save.bind(started), ids: started.ids.bind(started) };
      },
    } as typeof store;
    const entries = (async function* () {
      yield [success(client('plain', { clientSecret: '{noop}a-secret' }))];
    })();
    const options = { cost: COST, existing: 'refuse', file: undefined } as const;
    const parts = { store: rehearsed, encodeSecret: bcryptEncoder(atOnce), checkRule };
    const imported = await importClients(parts, entries, options);
    expect(imported).toMatchObject({ ok: true, value: { counts: { added: 1 } } });
    expect(sent).toEqual([expect.stringMatching(/^\$2b\$10\$\.{53}$/)]);
  });

  it('refuses all clients if one is registered already, with its position over all batches', async () => {
    await importAll([[client('b')]]);
    const text = 'client_id is registered already';
    expect(await importAll([[client('a')], [client('c'), client('b')]])).toEqual(failure([{ position: 2, text }]));
    expect(await storedIds()).toEqual(['b']);
  });

  it('gives a registered client the imported secret, name and scope on request, and keeps a locked one locked', async () => {
    await importAll([[client('a'), client('b')]]);
    await store.change('b', secretEdit(lock));
    const renamed = [client('a', { clientName: 'New', scope: 'write' }), client('b'), client('c')];
    const imported = await importAll([renamed], 'replace');
    expect(imported).toMatchObject({ ok: true, value: { counts: { added: 1, replaced: 2, locked: 1 } } });
    expect((await store.find('a')).clients[0]).toMatchObject({ clientName: 'New', scope: 'write' });
    expect((await store.find('b')).clients[0]?.clientSecret).toBe(`!${HASH}`);
  });

  it('refuses an id that an earlier entry has, with the positions of both', async () => {
    const imported = await importAll([
      [client('a'), client('b')],
      [client('c'), client('b')],
    ]);
    expect(imported).toEqual(failure([{ position: 3, text: 'client_id is that of entry 1' }]));
    expect(await storedIds()).toEqual([]);
  });

  it.each([
    ['a NUL', 'a\0b'],
    ['half of a surrogate pair', 'a\ud800b'],
  ])('refuses an id or a name with %s, which a database cannot store', async (_what, text) => {
    const entries = [client('a'), client(text), client('c', { clientName: text })];
    expect(await importAll([[client('first')], entries])).toEqual(
      failure([
        { position: 2, text: 'client_id must be Unicode text without NUL' },
        { position: 3, text: 'client_name must be Unicode text without NUL' },
      ]),
    );
    expect(await storedIds()).toEqual([]);
  });

  it('stores details, hashes the plain ones of the secrets, and sends none of them in a rehearsal', async () => {
    const secrets = [{ secret_id: 'id', name: 'of spring', encoded: '{noop}id.plain' }];
    const given = client('a', { clientSecret: NO_SECRET, details: { secrets, subjects: [SUBJECT] } });
    expect((await importAll([[given]])).ok).toBe(true);
    const { details } = await store.find('a');
    expect(details).toMatchObject({ secrets: [{ secret_id: 'id', encoded: expect.stringMatching(/^\$2b\$04\$/) }] });
    expect(await bcrypt.compare('id.plain', String(details.secrets[0]?.encoded))).toBe(true);
    expect(details.subjects).toEqual([SUBJECT]);
  });

  it('replaces the kinds of details that an entry has, also by none, and keeps the others', async () => {
    const resources = ['https://api.example/'];
    await importAll([[client('a', { details: { subjects: [SUBJECT], resources } })]]);
    await importAll([[client('a', { details: { subjects: [] } })]], 'replace');
    expect((await store.find('a')).details).toMatchObject({ subjects: [], resources });
  });

  it('refuses a federated subject that the rules of the service refuse', async () => {
    const weak = { ...SUBJECT, subject: 'weak' };
    expect(await importAll([[client('a'), client('b', { details: { subjects: [SUBJECT, weak] } })]])).toEqual(
      failure([{ position: 1, text: 'federated_subjects entry 1 matches everybody' }]),
    );
    expect(await storedIds()).toEqual([]);
  });

  it('reports the problems of all batches, and looks for no repeated ids behind the first problem', async () => {
    const imported = await importAll([[client('a'), bad(1)], [client('a')], [client('b'), bad(4)]]);
    expect(imported).toEqual(failure([1, 4].map((position) => ({ position, text: 'is bad' }))));
    expect(await storedIds()).toEqual([]);
  });

  it.each([50, 60])('stops at a hundred problems, and reports no more: %s in each batch', async (size) => {
    const batches = Array.from({ length: 3 }, (_, batch) =>
      Array.from({ length: size }, (_, at) => bad(size * batch + at)),
    );
    let read = 0;
    async function* counted() {
      for (const batch of batches) {
        read += 1;
        yield batch;
      }
    }
    const parts = { store, encodeSecret: bcryptEncoder(atOnce), checkRule };
    const imported = await importClients(parts, counted(), { cost: COST, existing: 'refuse', file });
    const positions = Array.from({ length: PROBLEMS_MAX }, (_, position) => ({ position, text: 'is bad' }));
    expect(imported).toEqual(failure(positions));
    expect(read).toBe(2);
  });

  it('reports at most a hundred registered ids', async () => {
    const clients = Array.from({ length: PROBLEMS_MAX + 1 }, (_, number) => client(`client-${number}`));
    await importAll([clients]);
    const refused = await importAll([clients]);
    expect(!refused.ok && refused.problem).toHaveLength(PROBLEMS_MAX);
  });
});
