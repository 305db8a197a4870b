import { describe, expect, it } from '@jest/globals';
import type { ClientKeys } from '../../application/ports/client-keys.ts';
import { type ClientKey, NO_DETAILS } from '../../domain/client-details.ts';
import type { NewClient } from '../../domain/client-registration.ts';
import { NO_SECRET } from '../../domain/stored-secret.ts';
import { generateSigningKey } from '../support/assertions.ts';
import { REGISTERED_CLIENT } from '../support/registered-client.ts';

const NONE = { registrationId: undefined, keys: [] };

const KEYS: readonly ClientKey[] = [
  { jwk: { ...generateSigningKey('ES256').jwk, kid: 'one', alg: 'ES256' } },
  { jwk: generateSigningKey('RS256').jwk, expires_at: 1_900_000_000 },
  { jwk: generateSigningKey('EdDSA').jwk, expires_at: 1 },
];

const clientOf = (clientId: string, keys = KEYS, more: Partial<NewClient> = {}): NewClient => ({
  ...REGISTERED_CLIENT,
  clientId,
  clientSecret: NO_SECRET,
  details: { ...NO_DETAILS, keys },
  ...more,
});

/** What every source of clients' keys promises. `withClients` has these clients registered. */
export function describeClientKeys(
  name: string,
  withClients: (clients: readonly NewClient[]) => Promise<ClientKeys>,
): void {
  describe(`${name} keeps the promises of ClientKeys`, () => {
    it('finds a registration with all of its keys, expired ones too', async () => {
      const keys = await withClients([clientOf('a'), clientOf('b', KEYS.slice(0, 1))]);
      const found = await keys.findKeys('a');
      expect(found.registrationId).toMatch(/./);
      expect(found.keys).toHaveLength(KEYS.length);
      expect(found.keys).toEqual(expect.arrayContaining([...KEYS]));
      expect((await keys.findKeys('b')).keys).toEqual(KEYS.slice(0, 1));
    });

    it('finds a registration without keys', async () => {
      const found = await (await withClients([REGISTERED_CLIENT])).findKeys(REGISTERED_CLIENT.clientId);
      expect(found).toEqual({ registrationId: expect.stringMatching(/./), keys: [] });
    });

    it('finds nothing for another id, however similar', async () => {
      const keys = await withClients([clientOf('client')]);
      for (const id of ['', 'Client', 'client ', ' client', 'client\0', 'clien', 'clie%', '\ud800', 'x'.repeat(300)]) {
        expect(await keys.findKeys(id)).toEqual(NONE);
      }
    });

    it('finds the keys of a registration that breaks a rule: a caller without them does not learn of it', async () => {
      const keys = await withClients([clientOf('broken', KEYS, { scope: '' })]);
      const found = await keys.findKeys('broken');
      expect([found.registrationId, found.keys.length]).toEqual([expect.stringMatching(/./), KEYS.length]);
    });
  });
}
