import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { ClientResources } from '../../application/ports/client-resources.ts';

/** A registration with resources. */
export interface ClientWithResources {
  readonly clientId: string;
  readonly resources: readonly string[];
}

/** The resources of these registrations. */
interface ClientResourcesUnderTest {
  readonly clientResources: ClientResources;
  /** The id of the row of a registration, as the repository of the same storage has it. */
  idOf(clientId: string): string;
  close(): Promise<void>;
}

const API = 'https://api.example.com';
const FILES = 'https://files.example.com/v1?a=%20b';
const MANY = Array.from({ length: 20 }, (_, number) => `https://${String(number).padStart(2, '0')}.example.com`);

const CLIENTS: readonly ClientWithResources[] = [
  { clientId: 'client-1', resources: [API, FILES] },
  { clientId: 'client-2', resources: [`${API}/`] },
  { clientId: 'client-3', resources: [] },
  { clientId: 'client-4', resources: MANY },
  { clientId: 'clïent-日本', resources: [API] },
];

/** What every ClientResources promises. */
export function describeClientResources(
  name: string,
  open: (clients: readonly ClientWithResources[]) => Promise<ClientResourcesUnderTest>,
): void {
  describe(`${name} as ClientResources`, () => {
    let under: ClientResourcesUnderTest;
    beforeEach(async () => {
      under = await open(CLIENTS);
    });
    afterEach(() => under.close());

    const find = async (clientId: string, id = under.idOf(clientId)) =>
      (await under.clientResources.findResources({ clientId, id })).toSorted();

    it('finds the resources of a registration, as they are spelled there', async () => {
      expect(await find('client-1')).toEqual([API, FILES]);
      expect(await find('client-2')).toEqual([`${API}/`]);
      expect(await find('clïent-日本')).toEqual([API]);
    });

    it('finds none for a registration without resources', async () => {
      expect(await find('client-3')).toEqual([]);
    });

    it('finds as many as a registration may have', async () => {
      expect(await find('client-4')).toEqual(MANY);
    });

    it.each(['CLIENT-1', 'client-1 ', 'client-_', '%', 'client-1\u0000x', '__proto__', 'unknown', ''])(
      'finds none for the client id %j',
      async (clientId) => {
        expect(await find(clientId.replace('\u0000', '_'), under.idOf('client-1'))).toEqual([]);
      },
    );

    it('gives each caller a list of its own', async () => {
      const first = await under.clientResources.findResources({ clientId: 'client-1', id: under.idOf('client-1') });
      expect(() => (first as string[]).splice(0)).not.toThrow();
      expect(await find('client-1')).toEqual([API, FILES]);
    });
  });
}
