import { describe, expect, it } from '@jest/globals';
import { type ListRequest, listClients } from '../../../application/clients-program/list-clients.ts';
import type { ClientRange, ClientStore, ValidDetails } from '../../../application/ports/client-store.ts';
import type { ClientRegistrationFields } from '../../../domain/client-registration.ts';
import { NO_SECRET } from '../../../domain/stored-secret.ts';
import { collect } from '../../support/collect.ts';
import { FixedClock } from '../../support/fixed-clock.ts';
import { REGISTERED_CLIENT } from '../../support/registered-client.ts';

const NOW = 1_800_000_000;
const ALL: ListRequest = { prefix: '' };
const notUnique = 'client_id must be unique';

function stored(clientId: string, more: Partial<ClientRegistrationFields> = {}): ClientRegistrationFields {
  return { ...REGISTERED_CLIENT, id: '1', clientId, ...more };
}
const disabled = (clientId: string) => stored(clientId, { clientSecret: `!${REGISTERED_CLIENT.clientSecret}` });

const NOTHING: ValidDetails = { secret: false, key: false, subject: false };
const VALID: Readonly<Record<string, ValidDetails>> = {
  'with-a-secret': { ...NOTHING, secret: true },
  'with-a-key': { ...NOTHING, key: true },
  'with-a-subject': { ...NOTHING, subject: true },
};

/** A storage with these pages, in which ids may repeat. Counts the pages that are read, and keeps the range. */
function listing(...pages: readonly (readonly ClientRegistrationFields[])[]) {
  const seen = { pages: 0, range: undefined as ClientRange | undefined };
  const store: Pick<ClientStore, 'list' | 'summarize'> = {
    async *list(range) {
      seen.range = range;
      for (const page of pages) {
        seen.pages += 1;
        yield page;
      }
    },
    summarize: async (clients, now) => clients.map(({ clientId }) => (now === NOW && VALID[clientId]) || NOTHING),
  };
  const pagesOf = (request: ListRequest) => listClients({ store, clock: new FixedClock(NOW) }, request);
  const list = (request: ListRequest = ALL) => collect(pagesOf(request));
  const ids = async (request: ListRequest = ALL) => (await list(request)).map(({ client_id }) => client_id);
  const pageSizes = async () => {
    const sizes: number[] = [];
    for await (const page of pagesOf(ALL)) sizes.push(page.length);
    return sizes;
  };
  return { list, ids, seen, pageSizes };
}

describe('listClients', () => {
  it('describes the clients of all pages in order, each once', async () => {
    const { ids } = listing([stored('a'), stored('b')], [stored('c')], [stored('d'), stored('e')]);
    expect(await ids()).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  it('yields no empty page, and nothing if there is no client', async () => {
    expect(await listing([stored('a')], [stored('b')]).pageSizes()).toEqual([1, 1]);
    expect(await listing().pageSizes()).toEqual([]);
  });

  it.each([
    ['on one page', [[stored('a'), stored('b'), stored('b'), stored('c')]]],
    [
      'at the border of two pages',
      [
        [stored('a'), stored('b')],
        [stored('b'), stored('c')],
      ],
    ],
    ['on pages of their own', [[stored('a')], [stored('b')], [stored('b')], [stored('c')]]],
  ])('two clients with one id, %s: each is broken, and no other', async (_where, pages) => {
    const problems = (await listing(...pages).list()).map(({ client_id, problem }) => [client_id, problem]);
    expect(problems).toEqual([
      ['a', null],
      ['b', notUnique],
      ['b', notUnique],
      ['c', null],
    ]);
  });

  it('three clients with one id on three pages: each is broken', async () => {
    const clients = await listing([stored('a')], [stored('a')], [stored('a')]).list();
    expect(clients.map(({ problem }) => problem)).toEqual([notUnique, notUnique, notUnique]);
  });

  it('selects the clients of a state', async () => {
    const { ids } = listing([stored('a'), disabled('b')], [stored('c', { scope: '' }), disabled('d')]);
    expect(await ids({ ...ALL, state: 'enabled' })).toEqual(['a']);
    expect(await ids({ ...ALL, state: 'disabled' })).toEqual(['b', 'd']);
    expect(await ids({ ...ALL, state: 'broken' })).toEqual(['c']);
  });

  it('ends at the limit, which counts the selected clients, and reads no further page', async () => {
    const pages = [[stored('a'), disabled('b')], [disabled('c')], [disabled('d')], [disabled('e')], [disabled('f')]];
    const { ids, seen } = listing(...pages);
    expect(await ids({ ...ALL, state: 'disabled', limit: 2 })).toEqual(['b', 'c']);
    expect(seen.pages).toBeLessThan(pages.length);
    expect(await ids({ ...ALL, limit: 1 })).toEqual(['a']);
    expect(await listing([stored('a'), stored('b'), stored('c'), stored('d')]).ids({ ...ALL, limit: 2 })).toEqual([
      'a',
      'b',
    ]);
    expect(await ids({ ...ALL, limit: 6 })).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
  });

  it('names the methods for which each client has something that is valid now', async () => {
    const clients = [...Object.keys(VALID), 'with-nothing'].map((clientId) =>
      stored(clientId, { clientSecret: NO_SECRET }),
    );
    const { list } = listing([stored('a'), disabled('b')], clients.slice(0, 2), clients.slice(2));
    expect((await list()).map(({ client_id, authentication_methods }) => [client_id, authentication_methods])).toEqual([
      ['a', ['client_secret_post', 'client_secret_basic']],
      ['b', ['client_secret_post', 'client_secret_basic']],
      ['with-a-secret', ['client_secret_post', 'client_secret_basic']],
      ['with-a-key', ['private_key_jwt']],
      ['with-a-subject', ['federated_jwt']],
      ['with-nothing', []],
    ]);
  });

  it('asks the storage for the range, and for nothing else', async () => {
    const { ids, seen } = listing([stored('b')]);
    await ids({ prefix: 'b', after: 'a', limit: 3, state: 'enabled' });
    expect(seen.range).toEqual({ prefix: 'b', after: 'a' });
  });
});
