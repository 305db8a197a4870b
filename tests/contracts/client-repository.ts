import { afterEach, beforeEach, describe, expect, it, test } from '@jest/globals';
import { type ClientRepository, FEDERATED_CANDIDATES_MAX } from '../../application/ports/client-repository.ts';
import type { ClientDetails, ClientKey, FederatedSubject, NamedSecret } from '../../domain/client-details.ts';
import type { NewClient } from '../../domain/client-registration.ts';
import { lock, NO_SECRET } from '../../domain/stored-secret.ts';
import { generateSigningKey } from '../support/assertions.ts';
import { until } from '../support/until.ts';

export type { NewClient };

/** An empty repository, and the changes that another program makes to its registrations. */
interface ClientRepositoryUnderTest {
  readonly repository: ClientRepository;
  add(client: NewClient): Promise<void>;
  change(clientId: string, changes: Partial<NewClient>): Promise<void>;
  /** Gives the client these details and no others. */
  setDetails(clientId: string, details: Partial<ClientDetails>): Promise<void>;
  remove(clientId: string): Promise<void>;
  close(): Promise<void>;
}

const RULE: FederatedSubject = { issuer: 'https://issuer.test', subject: 'workload', claims: { '/a~1b': 'c "d"' } };

const KEYS: readonly ClientKey[] = [
  { ...{ ...generateSigningKey('ES256').jwk, kid: 'one', alg: 'ES256' } },
  { ...generateSigningKey('RS256').jwk, expires_at: 1_900_000_000 },
  { ...generateSigningKey('EdDSA').jwk, expires_at: 1 },
];

export const A_CLIENT: NewClient = {
  clientId: 'client-1',
  clientSecret: '$2b$04$1a0o6Bc5JolBzzqrgo7CPeXkdMBwN8LGiwUfu.MrnWzF4mbUTljwy',
  clientName: 'First client',
  scope: 'read write',
};

/** What every ClientRepository promises. `fresh` gives an empty one. */
export function describeClientRepository(name: string, fresh: () => Promise<ClientRepositoryUnderTest>): void {
  describe(`${name} as ClientRepository`, () => {
    let under: ClientRepositoryUnderTest;
    beforeEach(async () => {
      under = await fresh();
    });
    afterEach(() => under.close());

    /** Both ways to look a client up, which have to agree about its secret. */
    const find = async (clientId: string) => {
      const lookup = await under.repository.findByClientId(clientId);
      const secret = await under.repository.findSecret(clientId);
      expect(secret.isRegistered).toBe(lookup.kind !== 'unknown');
      if (lookup.kind === 'found') expect(secret.secret.reveal()).toBe(lookup.registration.clientSecret.reveal());
      return lookup;
    };

    test('finds no client if none is registered', async () => {
      expect(await find('client-1')).toEqual({ kind: 'unknown' });
    });

    test('finds a client with its whole registration', async () => {
      await under.add(A_CLIENT);
      const lookup = await find('client-1');
      if (lookup.kind !== 'found') throw new Error(lookup.kind);
      const { registration } = lookup;
      expect(registration.clientId).toBe('client-1');
      expect(registration.clientName).toBe('First client');
      expect(registration.clientSecret.reveal()).toBe(A_CLIENT.clientSecret);
      expect(registration.scope.toString()).toBe('read write');
    });

    test('gives each registration its own id that never changes', async () => {
      await under.add(A_CLIENT);
      await under.add({ ...A_CLIENT, clientId: 'client-2' });
      const ids = await Promise.all(['client-1', 'client-2', 'client-1'].map(async (id) => idOf(await find(id))));
      expect(ids[0]).not.toBe('');
      expect(ids[0]).not.toBe(ids[1]);
      expect(ids[0]).toBe(ids[2]);
    });

    test.each([
      ['another case', 'CLIENT-1'],
      ['a space after', 'client-1 '],
      ['a space before', ' client-1'],
      ['a part', 'client'],
      ['a wildcard', 'client-_'],
      ['another wildcard', '%'],
      ['an accent', 'clíent-1'],
      ['full-width letters', 'ｃlient-1'],
      ['a soft hyphen', 'cli\u00adent-1'],
      ['a quote', "client-1'"],
      ['a NUL', 'client-1\0'],
      ['half a surrogate pair', 'client-1\ud800'],
      ['nothing', ''],
      ['one character more than the longest id', 'x'.repeat(256)],
    ])('treats %s as a different client id', async (_what, clientId) => {
      await under.add(A_CLIENT);
      expect(await find(clientId)).toEqual({ kind: 'unknown' });
    });

    test.each([
      ['a space after', 'client '],
      ['capitals', 'CLIENT'],
      ['a composed letter', 'caf\u00e9'],
      ['a decomposed letter', 'cafe\u0301'],
      ['letters beyond the basic plane', '\u{1F511}\u{20000}'],
      ['all of RFC 6749 appendix A.1', String.fromCharCode(...Array.from({ length: 95 }, (_, code) => code + 0x20))],
      ['255 characters of four bytes', '\u{1F511}'.repeat(255)],
      ['the replacement character', '\ufffd'],
      ['the name of a prototype field', '__proto__'],
    ])('finds a client id with %s and distinguishes it from similar ids', async (_what, clientId) => {
      await under.add({ ...A_CLIENT, clientId });
      for (const similar of ['client', 'caf\u00e9', 'cafe\u0301', '\ud800', 'toString'].filter(
        (id) => id !== clientId,
      )) {
        expect(await find(similar)).toEqual({ kind: 'unknown' });
      }
      expect((await find(clientId)).kind).toBe('found');
    });

    test('distinguishes registrations that differ only in case', async () => {
      await under.add({ ...A_CLIENT, clientName: 'lower' });
      await under.add({ ...A_CLIENT, clientId: 'Client-1', clientName: 'upper' });
      expect(await nameOf('client-1')).toBe('lower');
      expect(await nameOf('Client-1')).toBe('upper');
    });

    test('notices at the next look-up that a registration was added, changed or removed', async () => {
      expect((await find('client-1')).kind).toBe('unknown');
      await under.add(A_CLIENT);
      expect(await nameOf('client-1')).toBe('First client');
      await under.change('client-1', { clientName: 'Renamed', scope: 'admin' });
      expect(await nameOf('client-1')).toBe('Renamed');
      await under.remove('client-1');
      expect((await find('client-1')).kind).toBe('unknown');
    });

    test('finds a client whose stored secret cannot match: it is locked, not broken', async () => {
      await under.add({ ...A_CLIENT, clientSecret: '!locked' });
      const lookup = await find('client-1');
      expect(lookup.kind === 'found' && lookup.registration.clientSecret.kind).toBe('unusable');
    });

    test.each([
      ['clientSecret', { clientSecret: '' }],
      ['clientName', { clientName: '' }],
      ['scope', { scope: '' }],
      ['scope', { scope: 'read  write' }],
      ['scope', { scope: 'say "please"' }],
      ['clientSecret', { clientSecret: `!${'x'.repeat(20_000)}` }],
      ['clientName', { clientName: 'é'.repeat(20_001) }],
      ['scope', { scope: 's'.repeat(20_001) }],
      ['scope', { scope: 'scope '.repeat(500_000).trim() }],
    ])('reports that a registration is broken by its %s, and still finds the others', async (field, changes) => {
      await under.add({ ...A_CLIENT, ...changes });
      await under.add({ ...A_CLIENT, clientId: 'client-2' });
      expect(await find('client-1')).toMatchObject({ kind: 'broken', problem: { field } });
      expect((await find('client-2')).kind).toBe('found');
    });

    test('finds a registration whose texts are as long as they may be', async () => {
      await under.add({ ...A_CLIENT, clientName: '\u20ac'.repeat(20_000), scope: 's'.repeat(20_000) });
      expect((await find('client-1')).kind).toBe('found');
    });

    test('finds the secret of a broken registration, so that it is refused like any other', async () => {
      await under.add({ ...A_CLIENT, scope: '' });
      expect((await under.repository.findSecret('client-1')).secret.reveal()).toBe(A_CLIENT.clientSecret);
    });

    test('answers each of many concurrent look-ups with the right client', async () => {
      const ids = Array.from({ length: 50 }, (_, number) => `client-${number}`);
      await Promise.all(ids.map((clientId) => under.add({ ...A_CLIENT, clientId, clientName: `name of ${clientId}` })));
      const names = await Promise.all([...ids, ...ids].map(nameOf));
      expect(names).toEqual([...ids, ...ids].map((clientId) => `name of ${clientId}`));
    });

    describe('secrets with ids', () => {
      const secret = (secret_id: string, number: number, expiresAt?: number): NamedSecret => ({
        secret_id,
        name: `number ${number}`,
        client_secret: encodingOf(number),
        ...(expiresAt !== undefined && { expires_at: expiresAt }),
      });
      /** The stored secret that an id selects, which both ways to look a client up have to agree about. */
      const select = async (secretId?: string, clientId = 'client-1') => {
        const lookup = await under.repository.findByClientId(clientId, secretId);
        const found = await under.repository.findSecret(clientId, secretId);
        const registered = lookup.kind === 'found' ? lookup.registration.clientSecret.reveal() : undefined;
        expect(found.isRegistered ? found.secret.reveal() : undefined).toBe(registered);
        return registered;
      };

      test('selects the secret of an id, and otherwise the one without an id', async () => {
        await under.add(A_CLIENT);
        await under.setDetails('client-1', { secrets: [secret('first-id', 1), secret('second-id', 2)] });
        expect(await select('first-id')).toBe(encodingOf(1));
        expect(await select('second-id')).toBe(encodingOf(2));
        expect(await select()).toBe(A_CLIENT.clientSecret);
        for (const secretId of ['third-id', 'FIRST-ID', 'first', 'first-i_', '%', 'client-1']) {
          expect(await select(secretId)).toBe(A_CLIENT.clientSecret);
        }
      });

      test('finds the whole registration with the selected secret', async () => {
        await under.add(A_CLIENT);
        await under.setDetails('client-1', { secrets: [secret('first-id', 1)] });
        const lookup = await under.repository.findByClientId('client-1', 'first-id');
        if (lookup.kind !== 'found') throw new Error(lookup.kind);
        const { registration } = lookup;
        expect([registration.clientName, registration.scope.toString()]).toEqual(['First client', 'read write']);
      });

      test('never selects a secret of another client', async () => {
        await under.add(A_CLIENT);
        await under.add({ ...A_CLIENT, clientId: 'client-2' });
        await under.setDetails('client-2', { secrets: [secret('first-id', 1)] });
        expect(await select('first-id')).toBe(A_CLIENT.clientSecret);
        expect(await select('first-id', 'client-2')).toBe(encodingOf(1));
        expect(await select('first-id', 'client-3')).toBeUndefined();
      });

      test('refuses the secret without an id once it has expired, and takes another one', async () => {
        await under.add(A_CLIENT);
        await under.add({ ...A_CLIENT, clientId: 'client-2' });
        await under.setDetails('client-1', {
          client_secret_expires_at: 1_000_000_000,
          secrets: [secret('second-id', 2)],
        });
        await under.setDetails('client-2', { client_secret_expires_at: 4_000_000_000 });
        const registered = async (clientId: string, secretId?: string) => {
          const lookup = await under.repository.findByClientId(clientId, secretId);
          return lookup.kind === 'found' ? lookup.registration.clientSecret.reveal() : lookup.kind;
        };
        expect(await registered('client-1')).toBe(NO_SECRET);
        expect(await registered('client-1', 'another-id')).toBe(NO_SECRET);
        expect(await registered('client-1', 'second-id')).toBe(secret('second-id', 2).client_secret);
        expect(await registered('client-2')).toBe(A_CLIENT.clientSecret);
      });

      test('selects a secret until it expires, and not one second longer', async () => {
        await under.add({ ...A_CLIENT, clientSecret: NO_SECRET });
        const secrets = [secret('expired', 1, 1_000_000_000), secret('valid', 2, 4_000_000_000)];
        await under.setDetails('client-1', { secrets });
        expect(await select('expired')).toBe(NO_SECRET);
        expect(await select('valid')).toBe(encodingOf(2));
      });

      test('selects nothing that matches for a disabled client, whatever the id', async () => {
        await under.add({ ...A_CLIENT, clientSecret: lock(A_CLIENT.clientSecret) });
        await under.setDetails('client-1', { secrets: [secret('first-id', 1)] });
        expect((await under.repository.findSecret('client-1', 'first-id')).secret.kind).toBe('unusable');
        await under.change('client-1', { clientSecret: lock(NO_SECRET) });
        expect((await under.repository.findSecret('client-1', 'first-id')).secret.kind).toBe('unusable');
        await under.change('client-1', { clientSecret: NO_SECRET });
        expect(await select('first-id')).toBe(encodingOf(1));
      });

      test('selects no secret of an earlier registration with the same client id', async () => {
        await under.add(A_CLIENT);
        await under.setDetails('client-1', { secrets: [secret('first-id', 1)] });
        await under.remove('client-1');
        expect(await select('first-id')).toBeUndefined();
        await under.add(A_CLIENT);
        expect(await select('first-id')).toBe(A_CLIENT.clientSecret);
      });
    });

    describe('resources', () => {
      it('come with the registration, as they are spelled there', async () => {
        const resources = ['https://api.example.com', 'https://files.example.com/v1?a=%20b', 'urn:x'];
        await under.add(A_CLIENT);
        await under.add({ ...A_CLIENT, clientId: 'client-2' });
        await under.setDetails('client-2', { resources });
        const found = await Promise.all(['client-1', 'client-2'].map(find));
        expect(found.map((lookup) => lookup.kind === 'found' && lookup.registration.resources)).toEqual([
          [],
          resources,
        ]);
      });
    });

    describe('what tokens of the client have', () => {
      const claims = { tenant: 'é"', groups: ['a', 'b'], limits: { rate: 0.5, burst: null } };
      const resources = ['urn:x', { resource: 'https://files.example.com', scope: 'read files' }];

      it('comes with the registration, however the client authenticates', async () => {
        await under.add(A_CLIENT);
        await under.setDetails('client-1', {
          jwks: { keys: KEYS },
          federated_subjects: [RULE],
          claims,
          token_lifetime_seconds: 60,
          resources,
        });
        const [candidate] = await under.repository.findBySubject(RULE);
        for (const found of [await find('client-1'), candidate?.lookup]) {
          expect(found?.kind === 'found' && found.registration).toMatchObject({
            claims,
            resources,
            tokenLifetimeSeconds: 60,
          });
        }
      });

      it.each([
        ['claims', { claims: { iss: 'https://other.example' } }],
        ['claims', { claims: { a: 2 ** 53 } }],
        ['token_lifetime_seconds', { token_lifetime_seconds: 0 }],
      ])('breaks the registration if it breaks a rule: %s %j', async (field, details) => {
        await under.add(A_CLIENT);
        await under.setDetails('client-1', details);
        expect(await find('client-1')).toMatchObject({ kind: 'broken', problem: { field } });
      });
    });

    describe('an unknown client', () => {
      it('has the secrets and keys of registered ones read in its place: each of them for some ids, and the same for one id', async () => {
        const count = 5;
        for (let number = 0; number < count; number += 1) {
          const clientId = `client-${number}`;
          await under.add({ ...A_CLIENT, clientId, clientSecret: encodingOf(number) });
          await under.setDetails(clientId, {
            jwks: { keys: [{ ...{ ...generateSigningKey('ES256').jwk, kid: `${number}` } }] },
          });
        }
        const ids = Array.from({ length: 60 }, (_, number) => `nobody-${number}`);
        let reads = await Promise.all(ids.map(read));
        // A repository may know only after a moment how many clients there are.
        await until(async () => {
          reads = await Promise.all(ids.map(read));
          return new Set(reads.map(({ secret }) => secret)).size === count;
        }, 'the row of each client is read for some id');
        expect(reads.every(({ isRegistered }) => !isRegistered)).toBe(true);
        expect(reads.map(({ secret, kid }) => secret === encodingOf(Number(kid)))).not.toContain(false);
        expect(await Promise.all(ids.map(read))).toEqual(reads);
      });

      it('has a secret that matches nothing, and no key, if no client is registered', async () => {
        const { secret, isRegistered } = await under.repository.findSecret('nobody');
        expect([secret.kind, isRegistered]).toEqual(['unusable', false]);
        expect(await under.repository.findKeys('nobody')).toEqual({ keys: [], isRegistered: false });
      });

      const read = async (clientId: string) => {
        const { secret, isRegistered } = await under.repository.findSecret(clientId);
        const { keys } = await under.repository.findKeys(clientId);
        return { secret: secret.reveal(), isRegistered, kid: keys[0]?.kid };
      };
    });

    describe('keys', () => {
      const keysOf = async (clientId: string, kid?: string) => {
        const { keys, isRegistered } = await under.repository.findKeys(clientId, kid);
        return isRegistered ? keys : 'unknown';
      };

      it('are found, expired ones too', async () => {
        await under.add({ ...A_CLIENT, clientSecret: NO_SECRET });
        await under.setDetails('client-1', { jwks: { keys: KEYS }, resources: ['https://api.example.com'] });
        expect(await keysOf('client-1')).toEqual(KEYS);
      });

      it('are those of one kid, if one is asked for', async () => {
        await under.add(A_CLIENT);
        await under.setDetails('client-1', { jwks: { keys: KEYS } });
        for (const kid of [...KEYS.map((key) => key.kid ?? ''), 'another']) {
          expect(await keysOf('client-1', kid)).toEqual(KEYS.filter((key) => key.kid === kid));
          expect(await keysOf('nobody', kid)).toBe('unknown');
        }
      });

      it('are none for a registration without keys, and those of nobody for another id, however similar', async () => {
        await under.add(A_CLIENT);
        await under.add({ ...A_CLIENT, clientId: 'client' });
        await under.setDetails('client', { jwks: { keys: KEYS } });
        expect(await keysOf('client-1')).toEqual([]);
        for (const id of [
          '',
          'Client',
          'client ',
          ' client',
          'client\0',
          'clien',
          'clie%',
          '\ud800',
          'x'.repeat(300),
        ]) {
          expect(await keysOf(id)).toBe('unknown');
        }
      });

      it('are found of a registration that breaks a rule: a caller without them does not learn of it', async () => {
        await under.add({ ...A_CLIENT, scope: '' });
        await under.setDetails('client-1', { jwks: { keys: KEYS } });
        expect(await keysOf('client-1')).toEqual(KEYS);
      });

      it('are those of each client if many are looked up at the same time, some of them unknown', async () => {
        const ids = Array.from({ length: 10 }, (_, number) => `client-${number}`);
        for (const [number, clientId] of ids.entries()) {
          await under.add({ ...A_CLIENT, clientId });
          await under.setDetails(clientId, { jwks: { keys: KEYS.slice(0, number % 3) } });
        }
        const found = await Promise.all([...ids, 'unknown', ...ids].map((id) => keysOf(id)));
        const expected = ids.map((_, number) => KEYS.slice(0, number % 3));
        expect(found).toEqual([...expected, 'unknown', ...expected]);
      });
    });

    describe('identities of other issuers', () => {
      const register = async (clientId: string, subjects: readonly FederatedSubject[]) => {
        await under.add({ ...A_CLIENT, clientId });
        await under.setDetails(clientId, { federated_subjects: subjects });
      };
      const candidatesOf = (subject: string, clientId?: string, issuer = RULE.issuer) =>
        under.repository.findBySubject({ issuer, subject, clientId });
      const idsOf = async (...args: Parameters<typeof candidatesOf>) =>
        (await candidatesOf(...args)).map(({ clientId }) => clientId);

      test('finds nobody if there is no rule', async () => {
        expect(await candidatesOf('workload')).toEqual([]);
      });

      test('finds a client by a rule, with its registration and its conditions', async () => {
        await register('billing', [RULE]);
        const [candidate, ...others] = await candidatesOf('workload');
        expect(others).toEqual([]);
        expect(candidate).toMatchObject({ clientId: 'billing', claims: RULE.claims, lookup: { kind: 'found' } });
        expect(candidate?.lookup.kind === 'found' && candidate.lookup.registration.clientId).toBe('billing');
      });

      test('finds every client of a subject in the order of ids, or the one that is named', async () => {
        for (const clientId of ['b', 'a', 'B', 'é'])
          await register(clientId, [{ ...RULE, claims: { '/x': clientId } }]);
        await register('other', [{ ...RULE, subject: 'other' }]);
        expect(await idsOf('workload')).toEqual(['B', 'a', 'b', 'é']);
        expect(await candidatesOf('workload', 'b')).toMatchObject([{ clientId: 'b', claims: { '/x': 'b' } }]);
        for (const clientId of ['other', 'c', 'A', 'b ', '', '\0', '%']) {
          if (clientId !== '') expect(await candidatesOf('workload', clientId)).toEqual([]);
        }
      });

      test('finds a client by each of its subjects', async () => {
        await register('billing', [RULE, { ...RULE, subject: 'second', claims: {} }, { ...RULE, issuer: 'other' }]);
        expect(await candidatesOf('second')).toMatchObject([{ clientId: 'billing', claims: {} }]);
        expect(await idsOf('workload', undefined, 'other')).toEqual(['billing']);
      });

      test.each([
        ['another case', 'Workload'],
        ['a space after', 'workload '],
        ['a part', 'work'],
        ['more', 'workload2'],
        ['a wildcard', '%'],
        ['another wildcard', 'workloa_'],
        ['a star', '*'],
        ['a NUL', 'workload\0'],
        ['half a surrogate pair', 'workload\ud800'],
        ['full-width letters', 'ｗorkload'],
        ['a quote', "workload'"],
        ['nothing', ''],
      ])('treats %s as another subject', async (_what, subject) => {
        await register('billing', [RULE]);
        await register('star', [{ ...RULE, subject: 'a*' }]);
        expect(await candidatesOf(subject)).toEqual([]);
      });

      test.each(['https://issuer.test/', 'https://ISSUER.test', 'https://issuer.tes', '', '%', '\ud800', '\0'])(
        'treats "%s" as another issuer',
        async (issuer) => {
          await register('billing', [RULE]);
          expect(await candidatesOf('workload', undefined, issuer)).toEqual([]);
        },
      );

      test('distinguishes the replacement character from half a surrogate pair', async () => {
        await register('billing', [{ ...RULE, subject: '\ufffd' }]);
        expect(await idsOf('\ufffd')).toEqual(['billing']);
        expect(await idsOf('\ud800')).toEqual([]);
      });

      test('finds no more clients than the limit', async () => {
        const ids = Array.from(
          { length: FEDERATED_CANDIDATES_MAX + 2 },
          (_, n) => `client-${String(n).padStart(2, '0')}`,
        );
        for (const clientId of ids) await register(clientId, [RULE]);
        expect(await idsOf('workload')).toEqual(ids.slice(0, FEDERATED_CANDIDATES_MAX));
        expect(await idsOf('workload', ids.at(-1))).toEqual(ids.slice(-1));
      });
    });

    async function nameOf(clientId: string): Promise<string> {
      const lookup = await find(clientId);
      return lookup.kind === 'found' ? lookup.registration.clientName : lookup.kind;
    }

    function idOf(lookup: Awaited<ReturnType<typeof find>>): string {
      return lookup.kind === 'found' ? lookup.registration.id : '';
    }
  });
}

/** A BCrypt encoding that differs for each number. */
function encodingOf(number: number): string {
  return A_CLIENT.clientSecret.replace('1a0o6B', `${number}a0o6C`);
}
