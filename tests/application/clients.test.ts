import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import bcrypt from 'bcrypt';
import { auditLine } from '../../adapters/log/json-audit-log.ts';
import { bcryptEncoder, bcryptMatcher } from '../../adapters/secrets/bcrypt-secret-verifier.ts';
import { secretFiles } from '../../adapters/system/secret-files.ts';
import { RandomIdGenerator, randomSecret } from '../../adapters/system/system.ts';
import type { ChangeRequest, CheckRule } from '../../application/clients-program/change-client.ts';
import { clientChangeEvents } from '../../application/clients-program/client-change-events.ts';
import { createClientManagement } from '../../application/clients-program/client-management.ts';
import { ClientPlan } from '../../application/clients-program/client-plan.ts';
import { describeClient } from '../../application/clients-program/describe-client.ts';
import { type ListedPage, type ListRequest, listClients } from '../../application/clients-program/list-clients.ts';
import { GENERATED_MAX, type PlanOptions } from '../../application/clients-program/plan-client.ts';
import { PROBLEMS_MAX, planClients } from '../../application/clients-program/plan-clients.ts';
import {
  type ClientChange,
  type ClientRange,
  type ClientStore,
  type FileClient,
  type ImportEntry,
  PLAN_CLIENTS_MAX,
  type StoredClient,
} from '../../application/ports/client-store.ts';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import type { LastUsed } from '../../application/ports/last-used.ts';
import type { EncodeSecret } from '../../application/ports/new-secrets.ts';
import type { ClientTokens } from '../../application/ports/revocations.ts';
import { RecordChanges } from '../../application/record-changes.ts';
import { DETAILS_MAX, type NamedSecret, NO_DETAILS } from '../../domain/client-details.ts';
import { NO_FIELDS, recordedFieldsOf } from '../../domain/client-fields.ts';
import type { ClientRegistrationFields, NewClient } from '../../domain/client-registration.ts';
import { weaknessByName } from '../../domain/federated-jwt/issuer-preset.ts';
import { failure, success } from '../../domain/result.ts';
import { lock, NO_SECRET, secretIdOf, unlock } from '../../domain/stored-secret.ts';
import { A_CLIENT } from '../contracts/client-repository.ts';
import { atOnce } from '../support/at-once.ts';
import { collect } from '../support/collect.ts';
import { FixedClock } from '../support/fixed-clock.ts';
import { InMemoryChangeLog } from '../support/in-memory-audit-log.ts';
import { REGISTERED_CLIENT } from '../support/registered-client.ts';
import { secretEdit } from '../support/secret-edit.ts';
import { openSqliteStore, type SqliteStore } from '../support/sqlite-file.ts';

/** The tokens in a deployment that keeps no revoked ones. */
const tokens: ClientTokens = { areKept: async () => false, revokeAll: async () => {}, settled: async () => {} };

/** A deployment that records no last use. */
const lastUsed: LastUsed = {
  record: async () => {},
  find: async () => ({ since: undefined, days: new Map() }),
  forget: async () => {},
};

/** Of the test that runs, if it needs one. */
let store: SqliteStore;
const opened: SqliteStore[] = [];
afterEach(() => opened.pop()?.close());

async function openStore(recorder?: RecordChanges<ClientChange>): Promise<void> {
  store = await openSqliteStore(recorder);
  opened.push(store);
}

describe('how clients are managed', () => {
  const COST = 4;
  const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
  const SECRET = 'a-secret-of-16-bytes';
  const NEW = { clientId: 'c', clientName: 'A client', scope: 'read write', secret: { secret: SECRET, cost: COST } };
  const ENABLED = {
    id: expect.stringMatching(/^\d+$/),
    client_id: 'c',
    client_name: 'A client',
    scope: 'read write',
    state: 'enabled',
    bcrypt_cost: COST,
    problem: null,
  };
  /** A secret without an id, and nothing else. */
  const PLAIN = {
    authentication_methods: ['client_secret_post', 'client_secret_basic'],
    secrets: [{ secret_id: null, name: null, expires_at: null, bcrypt_cost: 4, expired: false, generated: false }],
    keys: [],
    federated_subjects: [],
    resources: [],
    ...NO_FIELDS,
  };
  const UNKNOWN = { ok: false, problem: 'client_unknown' };

  let use: ReturnType<typeof useCases>;
  beforeEach(async () => {
    await openStore();
    use = useCases();
  });

  function useCases(more: { readonly tokens?: ClientTokens; readonly lastUsed?: LastUsed } = {}) {
    const ids = new RandomIdGenerator();
    const clock = new FixedClock();
    const sources = { clock, generateSecret: randomSecret, ids };
    const hashes = { encodeSecret: bcryptEncoder(atOnce), matchSecret: bcryptMatcher(atOnce), secretFiles };
    const parts = { store, lastUsed, tokens, ...more, ...hashes, checkRule: weaknessByName, ...sources };
    const management = createClientManagement(parts);
    return {
      store,
      management,
      add: management.addClient,
      show: management.showClient,
      change: management.changeClient,
      remove: management.removeClient,
    };
  }

  /** The stored secret of the client. */
  async function storedSecret(): Promise<string> {
    return (await use.store.find('c'))?.clientSecret ?? '';
  }

  describe('addClient', () => {
    it('stores a client with a hash of its secret, at the given cost, and returns the secret once', async () => {
      expect(await use.add(NEW)).toEqual({
        ok: true,
        value: { client: { ...ENABLED, ...PLAIN }, secret: SECRET },
      });
      expect(await storedSecret()).toMatch(/^\$2b\$04\$.{53}$/);
    });

    it('generates the client id and the secret that are not given', async () => {
      const added = await use.add({
        ...NEW,
        clientId: undefined,
        secret: { secret: undefined, cost: COST },
      });
      expect(added).toMatchObject({ value: { client: { client_id: expect.stringMatching(UUID) } } });
      expect(added.ok && added.value.secret).toMatch(/^[A-Za-z0-9]{43,72}$/);
    });

    it.each([
      ['a secret that somebody has chosen', SECRET, '10'],
      ['a generated one', undefined, '04'],
    ])('hashes %s at its own cost, if none is given', async (_what, secret, cost) => {
      await use.add({ ...NEW, secret: { secret, cost: undefined } });
      expect(await storedSecret()).toMatch(`$2b$${cost}$`);
    });

    it('refuses fields that break a rule, and stores nothing', async () => {
      const refused = await use.add({ ...NEW, scope: '' });
      expect(refused).toMatchObject({ ok: false, problem: { field: 'scope' } });
      expect(await use.show('c')).toEqual(UNKNOWN);
    });

    it('refuses a client id that is taken, and leaves its client as it is', async () => {
      await use.add(NEW);
      const before = await storedSecret();
      expect(await use.add({ ...NEW, clientName: 'Another' })).toEqual({ ok: false, problem: 'client_id_taken' });
      expect(await storedSecret()).toBe(before);
    });
  });

  describe('the tokens of a client', () => {
    let steps: unknown[];
    /** Revokes as it should, but fails for the client `away`. */
    const revocable: ClientTokens = {
      areKept: async () => true,
      async revokeAll(clientIds, change) {
        if (clientIds.includes('away')) throw new DependencyUnavailable('revocations', new Error('away'));
        for (const id of clientIds) steps.push([id, (await store.find(id))?.clientSecret.slice(0, 1), change?.kind]);
      },
      settled: async () => void steps.push('settled'),
    };
    beforeEach(async () => {
      steps = [];
      use = useCases({ tokens: revocable });
      for (const clientId of ['c', 'd', 'away']) await use.add({ ...NEW, clientId });
    });

    it('are revoked before a client is disabled or removed, so that this is never stored without it, and again afterwards', async () => {
      expect(await use.change('c', { state: 'disabled' })).toMatchObject({ ok: true });
      expect(steps.splice(0)).toEqual([
        ['c', '$', undefined],
        ['c', '!', undefined],
      ]);
      expect(await use.change('c', { state: 'enabled' })).toMatchObject({ ok: true });
      expect(await use.change('unknown', { state: 'disabled' })).toEqual(UNKNOWN);
      expect(steps).toEqual([]);
      expect(await use.remove('d')).toMatchObject({ ok: true });
      expect(await use.remove('d')).toEqual(UNKNOWN);
      expect(steps).toEqual([
        ['d', '$', undefined],
        ['d', undefined, undefined],
      ]);
    });

    it.each([
      ['disabled', () => use.change('away', { state: 'disabled' })],
      ['removed', () => use.remove('away')],
    ])('are still active, as the client, if they cannot be revoked when it is to be %s', async (_what, change) => {
      await expect(change()).rejects.toThrow(DependencyUnavailable);
      expect(await use.show('away')).toMatchObject({ value: { state: 'enabled' } });
    });

    it('are revoked by an apply for the clients that it disables or removes, and for no other', async () => {
      const owned = async (clientId: string) => {
        await use.add({ ...NEW, clientId });
        await store.change(clientId, ({ details }) => success({ details: { ...details, owner: 'team' } }));
      };
      for (const clientId of ['locked', 'removed', 'renamed']) await owned(clientId);
      const fields = async (clientId: string) => ({ ...NEW, ...(await store.find(clientId)), clientId });
      const entries = [
        success({ ...(await fields('renamed')), clientName: 'Renamed' }),
        success({ ...(await fields('locked')), clientSecret: lock((await fields('locked')).clientSecret ?? '') }),
      ] as ImportEntry[];
      const options = { cost: COST, existing: 'match', owner: 'team', others: 'remove' } as const;
      const planned = await use.management.planClients(
        (async function* () {
          yield entries;
        })(),
        options,
      );
      if (!planned.ok) throw new Error('no plan');
      expect(steps).toEqual([]);
      expect(await planned.value.apply({ name: 'clients.json', sha256: '0'.repeat(64) })).toMatchObject({ ok: true });
      expect(steps).toEqual([
        ['locked', '$', undefined],
        ['removed', '$', undefined],
        ['locked', '!', undefined],
        ['removed', undefined, undefined],
      ]);
    });

    it('are revoked when an operator asks for it, alone or with a secret, and those of later are active', async () => {
      expect(await use.management.revokeTokens('c')).toEqual({ ok: true, value: undefined });
      expect(steps.splice(0)).toEqual([['c', '$', 'tokens'], 'settled']);
      expect(await use.management.revokeTokens('unknown')).toEqual(UNKNOWN);
      const remove = (secret_id?: string) => use.change('c', { remove: [{ secret_id }], revokesTokens: true });
      expect(await remove('unknown')).toEqual({ ok: false, problem: 'secret_unknown' });
      expect(steps).toEqual([]);
      expect(await remove()).toMatchObject({ ok: true });
      expect(steps).toEqual([['c', '$', undefined], ['c', '*', undefined], 'settled']);
    });

    it('are not revoked where the database keeps none, which changes nothing if an operator asks for it', async () => {
      use = useCases();
      const unknown = { ok: false, problem: 'revocation_unknown' };
      expect(await use.management.revokeTokens('c')).toEqual(unknown);
      expect(await use.change('c', { remove: [{ secret_id: undefined }], revokesTokens: true })).toEqual(unknown);
      expect(await storedSecret()).toMatch(/^\$2b/);
    });
  });

  describe('showClient and removeClient', () => {
    it('describe the client without its secret', async () => {
      await use.add(NEW);
      expect(await use.show('c')).toEqual({ ok: true, value: { ...ENABLED, ...PLAIN } });
      expect(await use.remove('c')).toMatchObject({ ok: true, value: ENABLED });
      expect(await use.show('c')).toEqual(UNKNOWN);
      expect(await use.remove('c')).toEqual(UNKNOWN);
    });

    it('show and forget the last use of the client that they name, if that is recorded', async () => {
      const calls: unknown[] = [];
      const recorded = { since: 20_000, days: new Map([['c', 20_001]]) };
      const recording: LastUsed = {
        ...lastUsed,
        forget: async (ids) => void calls.push(['forget', ids]),
        async find(ids) {
          calls.push(['find', ids]);
          return recorded;
        },
      };
      expect(await use.management.recordsLastUse()).toBe(false);
      use = useCases({ lastUsed: recording });
      expect(await use.management.recordsLastUse()).toBe(true);
      await use.remove('c');
      await use.show('c');
      expect(calls).toEqual([['find', []]]);
      calls.length = 0;
      await use.add(NEW);
      expect(await use.show('c')).toMatchObject({ value: { last_used: '2024-10-05' } });
      await use.remove('c');
      expect(calls).toEqual([
        ['forget', ['c']],
        ['find', ['c']],
        ['forget', ['c']],
      ]);
    });
  });

  describe('exportClients', () => {
    it('gives everything that is stored of the clients of a range, and what is wrong with one', async () => {
      const broken = { clientId: 'cc', clientSecret: `!${REGISTERED_CLIENT.clientSecret}`, clientName: 'B', scope: '' };
      await use.add({ ...NEW, details: { resources: ['https://api.example'] } });
      for (const client of [broken, { ...broken, clientId: 'd' }]) await use.store.add(client);
      const problem = expect.stringMatching(/^scope must be one or more scope tokens/);
      expect(await collect(use.management.exportClients({ prefix: 'c' }))).toEqual([
        { ...(await use.store.find('c')), problem: null },
        { ...(await use.store.find('cc')), problem },
      ]);
    });
  });

  describe('planClients', () => {
    it('stores the clients of a file in the same storage', async () => {
      async function* batches() {
        yield [success({ ...REGISTERED_CLIENT, clientId: 'imported' })];
      }
      const plan = await use.management.planClients(batches(), { cost: COST, existing: 'refuse' });
      expect(await (plan.ok && plan.value.apply({ name: 'clients.json', sha256: '0'.repeat(64) }))).toMatchObject({
        ok: true,
      });
      expect(await use.show('imported')).toMatchObject({ ok: true, value: { client_id: 'imported' } });
    });
  });

  describe('changeClient that gives a secret', () => {
    it('replaces the hash, and returns the new secret', async () => {
      await use.add(NEW);
      const before = await storedSecret();
      const rotated = await use.change('c', { give: { secret: 'another-secret-of-mine', cost: COST } });
      expect(rotated).toEqual({
        ok: true,
        value: { client: { ...ENABLED, ...PLAIN }, changed: true, secret: 'another-secret-of-mine' },
      });
      expect(await storedSecret()).not.toBe(before);
    });

    it('generates a secret that is not given', async () => {
      await use.add(NEW);
      const rotated = await use.change('c', { give: { secret: undefined, cost: COST } });
      expect(rotated.ok && rotated.value.secret).toMatch(/^[A-Za-z0-9]{43,72}$/);
    });

    it('keeps a disabled client disabled', async () => {
      await use.add(NEW);
      await use.change('c', { state: 'disabled' });
      expect(await use.change('c', { give: { secret: undefined, cost: COST } })).toMatchObject({
        value: { client: { state: 'disabled' } },
      });
      expect(await storedSecret()).toMatch(/^!\$2b\$04/);
    });

    it('knows no other client', async () => {
      expect(await use.change('c', { give: { secret: undefined, cost: COST } })).toEqual(UNKNOWN);
    });
  });

  describe('changeClient that disables and enables', () => {
    it('lock and unlock the hash, and say whether there was anything to change', async () => {
      await use.add(NEW);
      const hash = await storedSecret();
      const disabled = { ...ENABLED, state: 'disabled' };
      expect(await use.change('c', { state: 'disabled' })).toMatchObject({
        ok: true,
        value: { client: disabled, changed: true },
      });
      expect(await storedSecret()).toBe(`!${hash}`);
      expect(await use.change('c', { state: 'disabled' })).toMatchObject({
        ok: true,
        value: { client: disabled, changed: false },
      });
      expect(await use.change('c', { state: 'enabled' })).toMatchObject({
        ok: true,
        value: { client: ENABLED, changed: true },
      });
      expect(await storedSecret()).toBe(hash);
      expect(await use.change('c', { state: 'enabled' })).toMatchObject({
        ok: true,
        value: { client: ENABLED, changed: false },
      });
    });

    it('know no other client', async () => {
      expect(await use.change('c', { state: 'disabled' })).toEqual(UNKNOWN);
      expect(await use.change('c', { state: 'enabled' })).toEqual(UNKNOWN);
    });

    it('cannot enable a client whose lock has no hash behind it', async () => {
      await use.add(NEW);
      await use.store.change('c', () => success({ clientSecret: '!' }));
      expect(await use.change('c', { state: 'enabled' })).toEqual({ ok: false, problem: 'hash_missing' });
    });
  });

  describe('changeClient that sets name and scope', () => {
    it('replaces what is given and nothing else, of a disabled client too', async () => {
      await use.add(NEW);
      await use.change('c', { state: 'disabled' });
      const renamed = await use.change('c', { set: { clientName: 'Renamed', scope: undefined } });
      expect(renamed).toMatchObject({ value: { client: { ...ENABLED, state: 'disabled', client_name: 'Renamed' } } });
      const narrowed = await use.change('c', { set: { clientName: undefined, scope: 'read' } });
      expect(narrowed).toMatchObject({
        value: { client: { client_name: 'Renamed', scope: 'read', state: 'disabled' } },
      });
    });

    it('refuses what no client may have, and changes nothing', async () => {
      await use.add(NEW);
      const refused = await use.change('c', { set: { clientName: 'Renamed', scope: 'a  b' } });
      expect(refused).toMatchObject({ ok: false, problem: { field: 'scope' } });
      expect(await use.show('c')).toMatchObject({ value: ENABLED });
      expect(await use.change('unknown', { set: { clientName: 'x', scope: 'read' } })).toEqual(UNKNOWN);
    });
  });

  describe('describeClient', () => {
    const FIELDS: ClientRegistrationFields = { ...REGISTERED_CLIENT, id: '1' };
    const describe = (more: Partial<ClientRegistrationFields>, problem?: string, ofTokens: object = {}) => {
      const details = { ...NO_DETAILS, ...ofTokens };
      return describeClient({ ...FIELDS, ...more, details, keyIds: [], ...(problem && { problem }) }, 0);
    };
    const notBcrypt = 'client_secret must be a BCrypt encoding of cost 4 to 14';
    const described = (more: Partial<ClientRegistrationFields>) => {
      const { state, bcrypt_cost, problem } = describe(more);
      return [state, bcrypt_cost, problem];
    };

    it.each([
      ['a client', {}, ['enabled', 4, null]],
      ['a locked client', { clientSecret: `!${FIELDS.clientSecret}` }, ['disabled', 4, notBcrypt]],
      ['a hash with a prefix', { clientSecret: `{bcrypt}${FIELDS.clientSecret}` }, ['enabled', 4, null]],
      ['an id with an invisible character, of another program', { clientId: 'a\u200b' }, ['enabled', 4, null]],
      ['a plain secret', { clientSecret: '{noop}x' }, ['broken', null, notBcrypt]],
      ['no hash', { clientSecret: 'x' }, ['broken', null, notBcrypt]],
      ['an empty name', { clientName: '' }, ['broken', 4, 'client_name must not be empty']],
    ] as const)('%s', (_name, more, [state, cost, problem]) => {
      const [actualState, actualCost, actualProblem] = described(more);
      expect([actualState, actualCost]).toEqual([state, cost]);
      if (state !== 'disabled') expect(actualProblem).toEqual(problem);
    });

    it('a client whose details cannot be read', () => {
      expect(describe({}, 'details: resources must be an array')).toMatchObject({
        state: 'broken',
        problem: 'details: resources must be an array',
      });
    });

    it.each([
      [{ claims: { iss: 'x' } }, 'claims must not set iss, which the service or a standard sets'],
      [{ token_lifetime_seconds: 0 }, 'token_lifetime_seconds must be a whole number of seconds from 1 to 86400'],
    ])('a client whose tokens would break a rule: %j', (details, problem) => {
      expect(describe({}, undefined, details)).toMatchObject({ state: 'broken', problem });
    });

    it('never has the secret', () => {
      expect(JSON.stringify(describe({}))).not.toContain('$2b$');
    });
  });
});

describe('how credentials are managed', () => {
  const COST = 4;
  const DAY = 86_400;
  const PLAIN = { clientId: 'c', clientName: 'A client', scope: 'read', secret: { secret: undefined, cost: COST } };
  const NAMED = { name: undefined, expiresAt: undefined, cost: COST };
  // RFC 8037 appendix A.2, with its thumbprint of appendix A.3.
  const KEY = { kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' } as const;
  const KEY_ID = 'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k';
  const SUBJECT = { issuer: 'https://issuer.example', subject: 'billing', claims: {} };

  let clock: FixedClock;
  let use: ReturnType<typeof createClientManagement>;
  beforeEach(async () => {
    clock = new FixedClock();
    const ids = new RandomIdGenerator();
    await openStore();
    const sources = { clock, generateSecret: randomSecret, ids };
    const hashes = { encodeSecret: bcryptEncoder(atOnce), matchSecret: bcryptMatcher(atOnce), secretFiles };
    use = createClientManagement({ store, tokens, lastUsed, ...hashes, checkRule: weaknessByName, ...sources });
  });

  async function columnOf(clientId = 'c'): Promise<string | undefined> {
    return (await store.find(clientId))?.clientSecret;
  }

  /** The new secret. Throws if there is none. */
  function secretOf(result: {
    readonly ok: boolean;
    readonly value?: { readonly secret?: string | undefined };
  }): string {
    if (result.value?.secret === undefined) throw new Error('no secret');
    return result.value.secret;
  }

  function give(request: Extract<ChangeRequest, { readonly give: unknown }>['give']) {
    return use.changeClient('c', { give: request });
  }

  async function shown() {
    const client = await use.showClient('c');
    if (!client.ok) throw new Error(client.problem);
    return client.value;
  }

  describe('addClient', () => {
    it('gives a client of another method no secret, and shows how it authenticates', async () => {
      const details = { jwks: { keys: [KEY] }, resources: ['https://api.example/'] };
      const added = await use.addClient({ ...PLAIN, secret: undefined, details });
      expect(added).toMatchObject({
        ok: true,
        value: {
          client: {
            state: 'enabled',
            bcrypt_cost: null,
            problem: null,
            authentication_methods: ['private_key_jwt'],
            secrets: [],
            keys: [{ key_id: KEY_ID, algorithms: ['EdDSA'] }],
          },
        },
      });
      expect(added.ok && added.value.secret).toBeUndefined();
      expect(await columnOf()).toBe(NO_SECRET);
    });

    it('gives a client whose secret expires a secret with an id', async () => {
      const added = await use.addClient({ ...PLAIN, secret: { ...NAMED, expiresAt: clock.now() + DAY } });
      const secret = secretOf(added);
      expect(secret).toMatch(/^[A-Za-z0-9]{10}\.[A-Za-z0-9]{43}$/);
      expect(await columnOf()).toBe(NO_SECRET);
      const [named] = ((await store.find('c'))?.details ?? NO_DETAILS).secrets;
      expect(named).toMatchObject({ secret_id: secretIdOf(secret), expires_at: clock.now() + DAY, name: '2027-01-15' });
      expect(await bcrypt.compare(secret, named?.client_secret ?? '')).toBe(true);
    });

    it('refuses details that break a rule, and stores nothing', async () => {
      const details = { resources: ['not a uri'] };
      const refused = await use.addClient({ ...PLAIN, secret: undefined, details });
      expect(refused).toMatchObject({ ok: false, problem: { kind: 'resources', position: 0 } });
      expect(await use.showClient('c')).toEqual({ ok: false, problem: 'client_unknown' });
    });
  });

  describe('a rule that is too weak for its issuer', () => {
    const subjects = [SUBJECT, { ...SUBJECT, issuer: 'https://gitlab.com' }];
    const problem = { kind: 'federated_subjects', position: 1, rule: 'subject must begin with project_path:' };

    it('is not added with a client', async () => {
      const refused = await use.addClient({ ...PLAIN, secret: undefined, details: { federated_subjects: subjects } });
      expect(refused).toEqual({ ok: false, problem });
      expect(await columnOf()).toBeUndefined();
    });

    it('is not added to a client', async () => {
      await use.addClient(PLAIN);
      expect(await use.changeClient('c', { add: { federated_subjects: subjects } })).toEqual({ ok: false, problem });
      expect((await shown()).federated_subjects).toEqual([]);
    });
  });

  describe('changeClient, of secrets with ids', () => {
    it('give a client a second secret beside the first, and remove the first', async () => {
      await use.addClient(PLAIN);
      const before = await columnOf();
      const added = await give({ ...NAMED, name: 'spring', expiresAt: clock.now() + DAY });
      expect(await columnOf()).toBe(before);
      const secretId = secretIdOf(secretOf(added));
      expect((await shown()).secrets).toEqual([
        { secret_id: null, name: null, expires_at: null, bcrypt_cost: 4, expired: false, generated: true },
        {
          ...{ secret_id: secretId, name: 'spring', expires_at: clock.now() + DAY },
          ...{ bcrypt_cost: 4, expired: false, generated: true },
        },
      ]);
      expect((await use.changeClient('c', { remove: [{ secret_id: undefined }] })).ok).toBe(true);
      expect(await columnOf()).toBe(NO_SECRET);
      expect((await shown()).secrets).toMatchObject([{ secret_id: secretId }]);
    });

    it('refuse a third valid secret, and count none that has expired', async () => {
      await use.addClient(PLAIN);
      const added = await give({ ...NAMED, expiresAt: clock.now() + DAY });
      expect(await give(NAMED)).toEqual({ ok: false, problem: 'too_many_secrets' });
      clock.advance(DAY - 1);
      expect(await give(NAMED)).toEqual({ ok: false, problem: 'too_many_secrets' });
      clock.advance(1);
      expect((await shown()).secrets.map(({ expired }) => expired)).toEqual([false, true]);
      expect((await give(NAMED)).ok).toBe(true);
      const ids = (await shown()).secrets.map(({ secret_id }) => secret_id);
      expect(ids).not.toContain(secretIdOf(secretOf(added)));
    });

    it('remove the secret of that id, and no other', async () => {
      const [first, second] = [
        secretIdOf(secretOf(await use.addClient({ ...PLAIN, secret: NAMED, details: { jwks: { keys: [KEY] } } }))),
        secretIdOf(secretOf(await give(NAMED))),
      ];
      expect((await use.changeClient('c', { remove: [{ secret_id: first }] })).ok).toBe(true);
      expect(await shown()).toMatchObject({ secrets: [{ secret_id: second }], keys: [{ key_id: KEY_ID }] });
    });

    it('keep a disabled client disabled, and count the secret behind its lock', async () => {
      await use.addClient(PLAIN);
      await use.changeClient('c', { state: 'disabled' });
      await give(NAMED);
      expect(await give(NAMED)).toEqual({ ok: false, problem: 'too_many_secrets' });
      await use.changeClient('c', { remove: [{ secret_id: undefined }] });
      expect(await columnOf()).toBe('!*');
      await use.changeClient('c', { state: 'enabled' });
      expect(await columnOf()).toBe(NO_SECRET);
    });

    it('know no other client, no other secret, and no unusable name', async () => {
      expect(await give(NAMED)).toEqual({ ok: false, problem: 'client_unknown' });
      await use.addClient(PLAIN);
      const unnamed = await give({ ...NAMED, name: '' });
      expect(unnamed).toMatchObject({ ok: false, problem: { kind: 'secrets', rule: expect.stringContaining('name') } });
      expect(await use.changeClient('c', { remove: [{ secret_id: 'another' }] })).toEqual({
        ok: false,
        problem: 'secret_unknown',
      });
      await use.changeClient('c', { remove: [{ secret_id: undefined }] });
      expect(await use.changeClient('c', { remove: [{ secret_id: undefined }] })).toEqual({
        ok: false,
        problem: 'secret_unknown',
      });
      expect((await shown()).authentication_methods).toEqual([]);
    });
  });

  describe('changeClient that gives a secret instead of old ones', () => {
    it('removes every other secret of the client at once', async () => {
      await use.addClient(PLAIN);
      await give(NAMED);
      await give({ secret: undefined, cost: COST });
      expect((await shown()).secrets).toMatchObject([{ secret_id: null }]);
      expect(((await store.find('c'))?.details ?? NO_DETAILS).secrets).toEqual([]);
    });

    it.each([
      ['without an id', PLAIN.secret],
      ['with an id', NAMED],
    ])('replaces a secret %s of a client that has a key too', async (_which, secret) => {
      await use.addClient({ ...PLAIN, secret, details: { jwks: { keys: [KEY] } } });
      expect((await give({ secret: undefined, cost: COST })).ok).toBe(true);
      expect(await shown()).toMatchObject({ secrets: [{ secret_id: null }], keys: [{ key_id: KEY_ID }] });
    });

    it('gives a client a secret whose only secret was removed', async () => {
      await use.addClient(PLAIN);
      await use.changeClient('c', { remove: [{ secret_id: undefined }] });
      expect((await give({ secret: undefined, cost: COST })).ok).toBe(true);
      expect((await shown()).secrets).toMatchObject([{ secret_id: null }]);
    });

    it('gives no secret to a client that authenticates in another way', async () => {
      await use.addClient({ ...PLAIN, secret: undefined, details: { federated_subjects: [SUBJECT] } });
      const refused = { ok: false, problem: 'secret_missing' };
      expect(await give({ secret: undefined, cost: COST })).toEqual(refused);
      expect(await give({ keepOldSeconds: DAY, cost: COST })).toEqual(refused);
      expect(await columnOf()).toBe(NO_SECRET);
    });

    it('keeps the old secret for the overlap, and no longer than it would be valid anyway', async () => {
      const first = secretIdOf(secretOf(await use.addClient({ ...PLAIN, secret: NAMED })));
      const second = secretIdOf(secretOf(await give({ keepOldSeconds: DAY, cost: COST })));
      expect((await shown()).secrets).toMatchObject([
        { secret_id: first, expires_at: clock.now() + DAY },
        { secret_id: second, expires_at: null },
      ]);
      const early = await give({ keepOldSeconds: DAY, cost: COST });
      expect(early).toEqual({ ok: false, problem: 'too_many_secrets' });
      clock.advance(DAY);
      const third = secretIdOf(secretOf(await give({ keepOldSeconds: DAY, cost: COST })));
      expect((await shown()).secrets).toMatchObject([{ secret_id: second }, { secret_id: third }]);
    });

    it('keeps a secret without an id for the overlap, and then removes it', async () => {
      await use.addClient(PLAIN);
      const second = secretIdOf(secretOf(await give({ keepOldSeconds: DAY, cost: COST })));
      const ending = { secret_id: null, expires_at: clock.now() + DAY, expired: false, generated: true };
      expect((await shown()).secrets).toMatchObject([ending, { secret_id: second, expires_at: null }]);
      const early = await give({ keepOldSeconds: DAY, cost: COST });
      expect(early).toEqual({ ok: false, problem: 'too_many_secrets' });
      clock.advance(DAY);
      expect((await shown()).secrets).toMatchObject([{ ...ending, expired: true }, { secret_id: second }]);
      const third = secretIdOf(secretOf(await give({ keepOldSeconds: DAY, cost: COST })));
      expect((await shown()).secrets).toMatchObject([{ secret_id: second }, { secret_id: third }]);
      expect(await columnOf()).toBe(NO_SECRET);
    });

    it('says which secrets it has generated, and nothing else of a secret that it gets', async () => {
      await use.addClient({ ...PLAIN, secret: { secret: 'a-secret-that-somebody-chose', cost: COST } });
      expect((await shown()).secrets).toMatchObject([{ generated: false }]);
      await give(NAMED);
      expect((await shown()).secrets).toMatchObject([{ generated: false }, { generated: true }]);
      await give({ secret: undefined, cost: COST });
      expect((await shown()).secrets).toMatchObject([{ secret_id: null, generated: true }]);
      await give({ secret: 'a-secret-that-somebody-chose', cost: COST });
      expect((await shown()).secrets).toMatchObject([{ secret_id: null, generated: false }]);
    });
  });

  describe('changeClient that adds and removes entries', () => {
    beforeEach(() => use.addClient({ ...PLAIN, secret: undefined, details: { jwks: { keys: [KEY] } } }));

    it('adds and removes keys, subjects and resources, and leaves the rest alone', async () => {
      const add = { federated_subjects: [SUBJECT], resources: ['https://api.example/'] };
      expect((await use.changeClient('c', { add })).ok).toBe(true);
      expect(await shown()).toMatchObject({
        authentication_methods: ['private_key_jwt', 'federated_jwt'],
        keys: [{ key_id: KEY_ID }],
        federated_subjects: add.federated_subjects,
        resources: add.resources,
        ...NO_FIELDS,
      });
      await use.changeClient('c', { remove: [{ key_id: KEY_ID }] });
      await use.changeClient('c', { remove: [{ issuer: SUBJECT.issuer, subject: SUBJECT.subject }] });
      await use.changeClient('c', { remove: [{ resource: 'https://api.example/' }] });
      expect(await shown()).toMatchObject({
        authentication_methods: [],
        keys: [],
        federated_subjects: [],
        resources: [],
        ...NO_FIELDS,
      });
    });

    it('removes the named entry, and none that is like it', async () => {
      const others = [
        { ...SUBJECT, subject: 'reports' },
        { ...SUBJECT, issuer: 'https://other.example' },
      ];
      const other = { ...KEY, x: 'A'.repeat(43) };
      const resources = ['https://api.example/', 'https://api.example/v2'];
      const add = { jwks: { keys: [other] }, federated_subjects: [SUBJECT, ...others], resources };
      expect((await use.changeClient('c', { add })).ok).toBe(true);
      await use.changeClient('c', { remove: [{ key_id: KEY_ID }] });
      await use.changeClient('c', { remove: [{ issuer: SUBJECT.issuer, subject: SUBJECT.subject }] });
      await use.changeClient('c', { remove: [{ resource: 'https://api.example/' }] });
      const {
        jwks: { keys },
        ...left
      } = (await store.find('c'))?.details ?? NO_DETAILS;
      expect(keys).toMatchObject([other]);
      expect(left).toEqual({
        ...NO_FIELDS,
        secrets: [],
        federated_subjects: others,
        resources: ['https://api.example/v2'],
      });
    });

    it.each([
      [{ key_id: 'another' }],
      [{ issuer: SUBJECT.issuer, subject: 'another' }],
      [{ resource: 'https://api.example' }],
    ])('does not know %j', async (remove) => {
      expect(await use.changeClient('c', { remove: [remove] })).toEqual({ ok: false, problem: 'entry_unknown' });
    });

    it('refuses an entry that is there already, and more than the most', async () => {
      const repeated = await use.changeClient('c', { add: { jwks: { keys: [KEY] } } });
      expect(repeated).toMatchObject({ ok: false, problem: { kind: 'jwks', position: 1, rule: 'is repeated' } });
      const resources = Array.from({ length: DETAILS_MAX.resources + 1 }, (_, number) => `https://${number}.example/`);
      const tooMany = await use.changeClient('c', { add: { resources } });
      expect(tooMany).toMatchObject({ ok: false, problem: { kind: 'resources', position: undefined } });
    });

    it('shows a key that has expired, and that it authenticates nothing', async () => {
      await use.changeClient('c', { remove: [{ key_id: KEY_ID }] });
      await use.changeClient('c', { add: { jwks: { keys: [{ ...KEY, expires_at: clock.now() + DAY }] } } });
      expect((await shown()).authentication_methods).toEqual(['private_key_jwt']);
      clock.advance(DAY);
      expect(await shown()).toMatchObject({ authentication_methods: [], keys: [{ key_id: KEY_ID, expired: true }] });
    });
  });
});

describe('clientChangeEvents', () => {
  const NOW = 1_800_000_000;
  const ID = A_CLIENT.clientId;
  const ANOTHER_HASH = `${A_CLIENT.clientSecret.slice(0, -1)}x`;

  let changeLog: InMemoryChangeLog;
  let recorder: RecordChanges<ClientChange>;
  beforeEach(async () => {
    changeLog = new InMemoryChangeLog();
    const ids = new RandomIdGenerator();
    recorder = new RecordChanges({ changeLog, clock: new FixedClock(NOW), ids }, clientChangeEvents);
    await openStore(recorder);
  });

  it('records a new client, a change and a removal, each with its own id', async () => {
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

  it('shows only the fields that differ', async () => {
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
      ...recordedFieldsOf(NO_FIELDS),
    };
    const after = { client_name, scope, state: 'enabled', bcrypt_cost: 4, ...credentials };
    expect(changeLog.events()).toEqual([expect.objectContaining({ after })]);
    const jwk = { kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo', kid: 'k' } as const;
    const keys = [{ ...jwk, expires_at: NOW + 60 }];
    await store.change(ID, ({ clientSecret }) => success({ clientSecret, details: { ...NO_DETAILS, jwks: { keys } } }));
    const key_id = 'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k';
    expect(changeLog.events().at(-1)).toMatchObject({ after: { keys: [{ key_id, kid: 'k', expires_at: NOW + 60 }] } });
  });

  it('records how many clients an import has stored', async () => {
    const plan = new ClientPlan(store);
    plan.add([{ ...A_CLIENT, plan: { action: 'added', version: undefined, changes: [] } }]);
    const file = { name: 'clients.json', sha256: 'a'.repeat(64) };
    await plan.apply({ kind: 'import', file });
    const clients = [{ client_id: A_CLIENT.clientId, action: 'added' }];
    const counts = { added: 1, replaced: 0, still_disabled: 0, clients };
    const { name, sha256 } = file;
    expect(changeLog.events()).toMatchObject([{ event: 'clients_imported', at: NOW, file: name, sha256, ...counts }]);
  });

  it('counts a client that stays disabled as replaced too', () => {
    const counts = { added: 1, changed: 0, replaced: 2, locked: 3, unchanged: 0, removed: 0 };
    const file = { name: 'clients.json', sha256: 'a'.repeat(64) };
    const common = { at: NOW, change_id: 'a change', database_role: undefined };
    const clients = [{ clientId: 'a', action: 'locked', changes: [] }] as const;
    expect(clientChangeEvents({ kind: 'import', file, counts, clients }, common)).toEqual([
      {
        event: 'clients_imported',
        ...{ ...common, file: file.name, sha256: file.sha256 },
        ...{ added: 1, replaced: 5, still_disabled: 3, clients: [{ client_id: 'a', action: 'replaced' }] },
      },
    ]);
  });

  it('names every client of a large import, in lines that are short enough not to mix with others', () => {
    const file = { name: 'x'.repeat(255), sha256: 'a'.repeat(64) };
    const counts = { added: 0, changed: 1_000, replaced: 0, locked: 0, unchanged: 0, removed: 0 };
    const linesOf = (clientId: string, count: number, claims: readonly string[], owner: string) => {
      const entry = {
        action: 'changed',
        changes: ['client_secret', 'scope', 'claims', 'owner'],
        claims,
        owner,
      } as const;
      const clients = Array.from({ length: count }, (_, n) => ({ ...entry, clientId: `${n}${clientId}` }));
      const common = { at: NOW, change_id: new RandomIdGenerator().uuid(), database_role: 'r'.repeat(63) };
      const base = { os_user: 'u'.repeat(32), host: 'h'.repeat(64) };
      const events = clientChangeEvents({ kind: 'apply', file, counts, clients }, common);
      expect(events.map((event) => 'clients' in event && event.clients.length)).not.toContain(0);
      const ids = events.flatMap((event) => ('clients' in event ? event.clients : [])).map((one) => one.client_id);
      expect(ids).toEqual(clients.map((one) => one.clientId));
      return events.map((event) => Buffer.byteLength(auditLine(event, base)));
    };
    const usual = linesOf('-client-of-billing', 1_000, ['tenant', 'plan'], 'team-a');
    expect(Math.max(...usual)).toBeLessThan(4_096);
    expect(usual.length).toBeLessThan(100);
    // The longest id, 1 KiB of claims and the longest owner.
    const ascii = linesOf(
      'x'.repeat(254),
      10,
      Array.from({ length: 100 }, (_, n) => `name-${n}`),
      'x'.repeat(255),
    );
    expect(Math.max(...ascii)).toBeLessThan(4_096);
    const hidden = linesOf('\u2060'.repeat(254), 10, ['\u2060'.repeat(338)], 'é'.repeat(255));
    expect(Math.max(...hidden)).toBeLessThan(8_192);
  });

  it('records nothing of a change that changes nothing', async () => {
    await store.add(A_CLIENT);
    await store.change(ID, (stored) => success(stored));
    await store.change(ID, () => failure('a problem'));
    expect(changeLog.events()).toHaveLength(1);
    const same: StoredClient = { ...A_CLIENT, id: '1', details: NO_DETAILS, keyIds: [] };
    const common = { at: NOW, change_id: 'a change', database_role: undefined };
    expect(clientChangeEvents({ kind: 'client', before: same, after: same }, common)).toEqual([]);
  });

  it('names a claim whose value changed, which it does not show, and no field that stayed', async () => {
    const stored = (claims: object): StoredClient => {
      return { ...A_CLIENT, id: '1', details: { ...NO_DETAILS, claims: claims as never }, keyIds: [] };
    };
    const common = { at: NOW, change_id: 'a change', database_role: undefined };
    const change: ClientChange = { kind: 'client', before: stored({ tier: 1 }), after: stored({ tier: 2 }) };
    const both = { claims: ['tier'] };
    expect(clientChangeEvents(change, common)).toEqual([
      { event: 'client_changed', ...common, client_id: ID, changed: ['claims'], before: both, after: both },
    ]);
  });

  it('records that all tokens of a client were revoked', () => {
    const common = { at: NOW, change_id: 'a change', database_role: undefined };
    expect(clientChangeEvents({ kind: 'tokens', clientId: ID }, common)).toEqual([
      { event: 'client_tokens_revoked', ...common, client_id: ID },
    ]);
  });

  it('lets a change fail that cannot be recorded', async () => {
    changeLog.full = true;
    await expect(store.add(A_CLIENT)).rejects.toBeInstanceOf(DependencyUnavailable);
    expect(await store.find(ID)).toBeUndefined();
    changeLog.full = false;
    expect(changeLog.events()).toEqual([]);
  });

  it.each([
    [0, ['change_unconfirmed']],
    [1, ['client_removed', 'change_unconfirmed']],
  ])(
    'says so of a change of which only %i events could be recorded, since the next one may still come',
    async (most, expected) => {
      const written: string[] = [];
      const full = {
        record({ event }: { readonly event: string }) {
          if (written.length >= most && event !== 'change_unconfirmed') throw new Error('no space left');
          written.push(event);
        },
      };
      const parts = { changeLog: full, clock: new FixedClock(NOW), ids: new RandomIdGenerator() };
      const removal: ClientChange = {
        kind: 'client',
        before: { ...A_CLIENT, id: '1', details: NO_DETAILS, keyIds: [] },
      };
      const both = new RecordChanges<ClientChange>(parts, (made, common) => [
        ...clientChangeEvents(made, common),
        ...clientChangeEvents(made, common),
      ]);
      await expect(both.record(removal, undefined)).rejects.toThrow('no space left');
      expect(written).toEqual(expected);
    },
  );

  it('says nothing of a change that was not recorded', async () => {
    recorder.unconfirmed();
    expect(changeLog.events()).toEqual([]);
    await store.add(A_CLIENT);
    await recorder.record({ kind: 'client' }, undefined);
    recorder.unconfirmed();
    expect(changeLog.events()).toHaveLength(1);
  });

  it('names the change that was not confirmed', async () => {
    await store.add(A_CLIENT);
    recorder.unconfirmed();
    recorder.unconfirmed();
    const [added, unconfirmed, ...more] = changeLog.events();
    expect(more).toEqual([]);
    expect(unconfirmed).toEqual({
      event: 'change_unconfirmed',
      at: NOW,
      change_id: added && 'change_id' in added ? added.change_id : 'none',
    });
  });
});

describe('planClients', () => {
  const COST = 4;
  const HASH = REGISTERED_CLIENT.clientSecret;
  const OTHER_HASH = `${HASH.slice(0, -1)}x`;
  const SUBJECT = { issuer: 'https://issuer.example', subject: 'a', claims: { '/team': 'b' } };
  const checkRule: CheckRule = ({ subject }) => (subject === 'weak' ? 'matches everybody' : undefined);

  beforeEach(async () => {
    await openStore();
  });

  function client(clientId: string, more: Partial<NewClient> = {}): NewClient {
    return { clientId, clientSecret: HASH, clientName: 'A client', scope: 'read', ...more };
  }

  const file = { name: 'clients.json', sha256: '0'.repeat(64) };

  function partsWith(encodeSecret: EncodeSecret = bcryptEncoder(atOnce)) {
    const secrets = { encodeSecret, generateSecret: randomSecret, matchSecret: bcryptMatcher(atOnce), secretFiles };
    return { store, tokens, lastUsed, checkRule, clock: new FixedClock(), ...secrets };
  }

  /** Imports batches of valid clients, or of other entries, and returns the plan or what is wrong with it. */
  async function importAll(
    batches: readonly (readonly (NewClient | ImportEntry)[])[],
    existing: PlanOptions['existing'] = 'refuse',
  ) {
    async function* entries() {
      for (const batch of batches) yield batch.map((entry) => ('ok' in entry ? entry : success(entry)));
    }
    const planned = await planClients(partsWith(), entries(), { cost: COST, existing });
    if (!planned.ok) return planned;
    const applied = await planned.value.apply(file);
    return applied.ok ? planned : applied;
  }

  it('plans to generate at most so many secrets, since they wait in memory', async () => {
    const to = (n: number) => ({ ...client(`c${n}`, { clientSecret: NO_SECRET }), generateTo: `no-such-folder/${n}` });
    const plan = (count: number) => {
      async function* entries() {
        yield Array.from({ length: count }, (_, n) => success(to(n)));
      }
      return planClients(
        partsWith(async () => HASH),
        entries(),
        { cost: COST, existing: 'match' },
      );
    };
    expect(await plan(GENERATED_MAX)).toMatchObject({ ok: true, value: { counts: { added: GENERATED_MAX } } });
    const text = `client_secret.generate is for at most ${GENERATED_MAX} clients at once: split the file`;
    expect(await plan(GENERATED_MAX + 2)).toEqual(failure([{ text }]));
  });

  async function storedIds(): Promise<readonly string[]> {
    return (await collect(store.list({ prefix: '' }))).map(({ clientId }) => clientId);
  }

  const bad = (position: number): ImportEntry => failure([{ position, text: 'is bad' }]);

  it('stores the clients of all batches, and names them', async () => {
    const imported = await importAll([[client('b'), client('a')], [], [client('c')]]);
    expect(imported).toMatchObject({ ok: true, value: { counts: { added: 3, replaced: 0, locked: 0 } } });
    const added = imported.ok ? imported.value.entries('added') : [];
    expect(added.map(({ clientId }) => clientId)).toEqual(['a', 'b', 'c']);
    expect(await storedIds()).toEqual(['a', 'b', 'c']);
  });

  it('hashes plain secrets at the given cost, and stores BCrypt encodings as they are', async () => {
    const prefixed = client('prefixed', { clientSecret: `{bcrypt}${HASH}` });
    await importAll([[client('plain', { clientSecret: '{noop}a-secret' }), client('hashed'), prefixed]]);
    expect(await store.find('prefixed')).toMatchObject(prefixed);
    const [, plain, hashed] = (await collect(store.list({ prefix: '' }))).toReversed();
    expect(plain).toMatchObject({
      ...client('plain'),
      clientSecret: expect.stringMatching(/^\$2b\$04\$.{53}$/),
    });
    expect(hashed).toMatchObject(client('hashed'));
  });

  it('refuses all clients if one is registered already, with its position over all batches', async () => {
    await importAll([[client('b')]]);
    const text = 'client b: it is registered already: --replace changes it';
    expect(await importAll([[client('a')], [client('c'), client('b')]])).toEqual(failure([{ position: 2, text }]));
    expect(await storedIds()).toEqual(['b']);
  });

  it('gives a registered client the imported secret, name and scope on request, and keeps a locked one locked', async () => {
    await importAll([[client('a'), client('b')]]);
    await store.change('b', secretEdit(lock));
    const renamed = [client('a', { clientName: 'New', scope: 'write' }), client('b'), client('c')];
    const imported = await importAll([renamed], 'replace');
    expect(imported).toMatchObject({ ok: true, value: { counts: { added: 1, replaced: 1, locked: 1 } } });
    expect(await store.find('a')).toMatchObject({ clientName: 'New', scope: 'write' });
    expect((await store.find('b'))?.clientSecret).toBe(`!${HASH}`);
  });

  it('counts as still disabled only what was locked before', async () => {
    await importAll([[client('a', { clientSecret: lock(HASH) }), client('b')]]);
    const both = ['a', 'b'].map((id) => client(id, { clientSecret: lock(HASH) }));
    expect(await importAll([both], 'replace')).toMatchObject({ value: { counts: { replaced: 1, locked: 1 } } });
    expect((await store.find('b'))?.clientSecret).toBe(lock(HASH));
  });

  it('changes nothing if a registered client was changed after the file was compared with it', async () => {
    await importAll([[client('a')]]);
    async function* entries() {
      yield [success(client('a', { clientName: 'New' })), success(client('b'))];
    }
    const planned = await planClients(partsWith(), entries(), { cost: COST, existing: 'replace' });
    await store.change('a', secretEdit(lock));
    const text = 'Clients were changed meanwhile: run this again.';
    expect(await (planned.ok && planned.value.apply(file))).toEqual(failure(text));
    expect(await store.find('a')).toMatchObject({ clientName: 'A client', clientSecret: lock(HASH) });
    expect(await storedIds()).toEqual(['a']);
  });

  it.each(['replace', 'match'] as const)(
    'refuses all clients if the details of one that it would %s cannot be read',
    async (existing) => {
      await importAll([[client('a')]]);
      store.run(`update clients set details = '{"resources":7}'`);
      const text = 'client a: its stored details cannot be read: show says why';
      expect(await importAll([[client('b')], [client('a')]], existing)).toEqual(failure([{ position: 1, text }]));
      expect(await storedIds()).toEqual(['a']);
    },
  );

  it('keeps the stored encoding of a plain secret that is the same', async () => {
    const secret = (text: string) => client('a', { clientSecret: `{noop}${text}` });
    await importAll([[secret('a-secret')]]);
    const before = (await store.find('a'))?.clientSecret;
    await importAll([[secret('a-secret')]], 'replace');
    expect((await store.find('a'))?.clientSecret).toBe(before);
    await importAll([[secret('another-secret')]], 'replace');
    expect((await store.find('a'))?.clientSecret).not.toBe(before);
  });

  it('keeps the stored encodings of plain secrets with ids that are the same, each by its id', async () => {
    const named = (secret_id: string, more = '') => ({
      secret_id,
      name: 'n',
      client_secret: `{noop}${secret_id}.secret${more}`,
    });
    const stored = async () => (await store.find('a'))?.details.secrets.map(({ client_secret }) => client_secret) ?? [];
    const give = (...secrets: readonly NamedSecret[]) =>
      importAll([[client('a', { details: { secrets } })]], 'replace');
    await give(named('one'), named('two'));
    const [one, two] = await stored();
    await give(named('two'), named('one', '-changed'));
    const [kept, changed] = await stored();
    expect(kept).toBe(two);
    expect(changed).not.toBe(one);
  });

  it.each(['replace', 'match'] as const)(
    'knows of a secret that it was generated for as long as it stays the same: %s',
    async (existing) => {
      const named = (secret_id: string, encoded = HASH) => ({ secret_id, name: 'n', client_secret: encoded });
      const generated = { generated: true as const };
      await importAll([
        [client('a', { details: { client_secret_generated: true, secrets: [{ ...named('one'), ...generated }] } })],
      ]);
      const details = async () => (await store.find('a'))?.details;
      await importAll([[client('a', { details: { secrets: [named('one'), named('two', OTHER_HASH)] } })]], existing);
      expect(await details()).toMatchObject({
        client_secret_generated: true,
        secrets: [{ ...named('one'), ...generated }, named('two', OTHER_HASH)],
      });
      expect((await details())?.secrets[1]).not.toHaveProperty('generated');
      const replaced = { clientSecret: OTHER_HASH, details: { secrets: [named('one', OTHER_HASH)] } };
      await importAll([[client('a', replaced)]], existing);
      expect((await details())?.client_secret_generated).toBeUndefined();
      expect((await details())?.secrets).toEqual([named('one', OTHER_HASH)]);
    },
  );

  it('generates a secret only for a client without one, and keeps what is known of those that it has', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'plan-clients-'));
    const generating = (clientId: string): FileClient => ({
      ...client(clientId, { clientSecret: NO_SECRET }),
      generateTo: join(folder, clientId),
    });
    const ending = { client_secret_generated: true as const, client_secret_expires_at: 4_000_000_000 };
    const secrets = [{ secret_id: 'id', name: 'n', client_secret: HASH }];
    await importAll([
      [client('ending', { details: ending }), client('named', { clientSecret: NO_SECRET, details: { secrets } })],
      [client('none', { clientSecret: NO_SECRET })],
    ]);
    await importAll([['ending', 'named', 'none', 'new'].map(generating)], 'match');
    const stored = async (clientId: string) => {
      const { clientSecret, details } = (await store.find(clientId)) ?? {};
      return { clientSecret, details };
    };
    expect(await stored('ending')).toMatchObject({ clientSecret: HASH, details: ending });
    expect(await stored('named')).toMatchObject({ clientSecret: NO_SECRET, details: { secrets } });
    for (const clientId of ['none', 'new']) {
      const { clientSecret, details } = await stored(clientId);
      expect(details?.client_secret_generated).toBe(true);
      const text = (await readFile(join(folder, clientId), 'utf8')).trimEnd();
      expect(await bcrypt.compare(text, String(clientSecret))).toBe(true);
    }
    expect((await readdir(folder)).sort()).toEqual(['new', 'none']);
    await rm(folder, { recursive: true });
  });

  it('refuses an id that an earlier entry has, with the positions of both', async () => {
    const imported = await importAll([
      [client('a'), client('b')],
      [client('c'), client('b')],
    ]);
    expect(imported).toEqual(failure([{ position: 3, text: 'client b: client_id is that of', other: 1 }]));
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

  it('stores details, and hashes the plain ones of the secrets', async () => {
    const secrets = [{ secret_id: 'id', name: 'of spring', client_secret: '{noop}id.plain' }];
    const given = client('a', { clientSecret: NO_SECRET, details: { secrets, federated_subjects: [SUBJECT] } });
    expect((await importAll([[given]])).ok).toBe(true);
    const { details = NO_DETAILS } = (await store.find('a')) ?? {};
    expect(details).toMatchObject({
      secrets: [{ secret_id: 'id', client_secret: expect.stringMatching(/^\$2b\$04\$/) }],
    });
    expect(await bcrypt.compare('id.plain', String(details.secrets[0]?.client_secret))).toBe(true);
    expect(details.federated_subjects).toEqual([SUBJECT]);
  });

  it('makes a registered client exactly its entry: what the entry does not name is removed', async () => {
    const resources = ['https://api.example/'];
    await importAll([[client('a', { details: { federated_subjects: [SUBJECT], resources, owner: 'team-a' } })]]);
    await importAll([[client('a', { details: { resources: [] } })]], 'replace');
    expect((await store.find('a'))?.details).toEqual(NO_DETAILS);
  });

  it('plans 50,000 clients, and refuses one more with what to do', async () => {
    async function* entries(count: number) {
      for (let n = 0; n < count; n += 1_000)
        yield Array.from({ length: Math.min(1_000, count - n) }, (_, more) => success(client(`c${n + more}`)));
    }
    const options = { cost: undefined, existing: 'refuse' } as const;
    const most = await planClients(partsWith(), entries(PLAN_CLIENTS_MAX), options);
    expect(most).toMatchObject({ ok: true, value: { counts: { added: PLAN_CLIENTS_MAX } } });
    const text = 'one run takes at most 50000 clients: split the file, or write the rows by SQL';
    expect(await planClients(partsWith(), entries(PLAN_CLIENTS_MAX + 1), options)).toEqual(failure([{ text }]));
  });

  it('refuses a federated subject that the rules of the service refuse', async () => {
    const weak = { ...SUBJECT, subject: 'weak' };
    expect(await importAll([[client('a'), client('b', { details: { federated_subjects: [SUBJECT, weak] } })]])).toEqual(
      failure([{ position: 1, text: 'client b: federated_subjects entry 1 matches everybody' }]),
    );
    expect(await storedIds()).toEqual([]);
  });

  it('reports the problems of every kind in all batches, with the positions of their entries', async () => {
    await importAll([[client('r')]]);
    const imported = await importAll([
      [client('a'), bad(1), client('b')],
      [client('r'), client('b')],
      [bad(5), client('c'), client('a'), bad(8)],
    ]);
    const text = (clientId: string) => `client ${clientId}: client_id is that of`;
    expect(imported).toEqual(
      failure([
        { position: 1, text: 'is bad' },
        { position: 3, text: 'client r: it is registered already: --replace changes it' },
        { position: 4, text: text('b'), other: 2 },
        { position: 5, text: 'is bad' },
        { position: 8, text: 'is bad' },
        { position: 7, text: text('a'), other: 0 },
      ]),
    );
    expect(await storedIds()).toEqual(['r']);
  });

  it('neither compares, hashes nor generates a secret behind the first problem', async () => {
    await importAll([[client('a')]]);
    const plain = { clientSecret: '{noop}a-secret' };
    const never = () => Promise.reject(new Error('a secret was used'));
    const entries = (async function* () {
      yield [bad(0), success(client('a', plain))];
      yield [
        success(client('b', plain)),
        success({ ...client('c', { clientSecret: NO_SECRET }), generateTo: 'none/c' }),
      ];
    })();
    const unused = { ...partsWith(), encodeSecret: never, matchSecret: never };
    const planned = await planClients(unused, entries, { cost: COST, existing: 'replace' });
    expect(planned).toEqual(failure([{ position: 0, text: 'is bad' }]));
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
    const imported = await planClients(partsWith(), counted(), { cost: COST, existing: 'refuse' });
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

describe('listClients', () => {
  const NOW = 1_800_000_000;
  const ALL: ListRequest = { prefix: '' };

  function stored(clientId: string, more: Partial<ClientRegistrationFields> = {}): StoredClient {
    return { ...REGISTERED_CLIENT, id: '1', clientId, ...more, details: NO_DETAILS, keyIds: [] };
  }
  const disabled = (clientId: string) => stored(clientId, { clientSecret: `!${REGISTERED_CLIENT.clientSecret}` });

  /** A storage with these pages. Counts the pages that are read, and keeps the range. */
  let uses: Pick<LastUsed, 'find'> = lastUsed;

  function listing(...pages: readonly (readonly StoredClient[])[]) {
    const seen = { pages: 0, range: undefined as ClientRange | undefined };
    const store: Pick<ClientStore, 'list'> = {
      async *list(range) {
        seen.range = range;
        for (const page of pages) {
          seen.pages += 1;
          yield page;
        }
      },
    };
    const pagesOf = (request: ListRequest) =>
      listClients({ store, lastUsed: uses, clock: new FixedClock(NOW) }, request);
    const pagesFor = async (request: ListRequest) => {
      const found: ListedPage[] = [];
      for await (const page of pagesOf(request)) found.push(page);
      return found;
    };
    const list = async (request: ListRequest = ALL) => (await pagesFor(request)).flatMap(({ clients }) => clients);
    const weak = async () => (await pagesFor(ALL)).flatMap((page) => page.weak);
    const ids = async (request: ListRequest = ALL) => (await list(request)).map(({ client_id }) => client_id);
    const pageSizes = async () => (await pagesFor(ALL)).map(({ clients }) => clients.length);
    return { list, ids, weak, seen, pageSizes };
  }

  it('says when clients were used last, and lists those that were not since a time, as far as that is known', async () => {
    const today = Math.floor(NOW / 86_400);
    const [old, recent] = [today - 91, today - 90];
    const known = (since: number | undefined) => {
      uses = {
        find: async () => ({
          since,
          days: new Map([
            ['old', old],
            ['recent', recent],
          ]),
        }),
      };
      return listing([stored('old'), stored('recent')], [stored('unused')]);
    };
    expect((await known(old).list()).map(({ last_used }) => last_used)).toEqual([
      new Date(old * 86_400_000).toISOString().slice(0, 10),
      new Date(recent * 86_400_000).toISOString().slice(0, 10),
      undefined,
    ]);
    const unused = { ...ALL, unusedFor: 90 * 86_400 };
    expect(await known(old).ids(unused)).toEqual(['old', 'unused']);
    expect(await known(recent).ids(unused)).toEqual(['old']);
    expect(await known(undefined).ids(unused)).toEqual(['old']);
    uses = lastUsed;
  });

  it('describes the clients of all pages in order, each once', async () => {
    const { ids } = listing([stored('a'), stored('b')], [stored('c')], [stored('d'), stored('e')]);
    expect(await ids()).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  it('yields no empty page, and nothing if there is no client', async () => {
    expect(await listing([stored('a')], [], [stored('b')]).pageSizes()).toEqual([1, 1]);
    expect(await listing().pageSizes()).toEqual([]);
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
    const encoded = REGISTERED_CLIENT.clientSecret;
    const key = { kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' } as const;
    const secretUntil = (expires_at: number) => ({
      secret_id: 'id',
      name: 'a name',
      client_secret: encoded,
      expires_at,
    });
    const keyUntil = (expires_at: number) => ({ ...key, expires_at });
    const details: Readonly<Record<string, Partial<StoredClient['details']>>> = {
      'with-a-secret': { secrets: [secretUntil(NOW + 1)] },
      'with-a-key': { secrets: [secretUntil(NOW)], jwks: { keys: [keyUntil(NOW + 1)] } },
      'with-a-subject': {
        jwks: { keys: [keyUntil(NOW)] },
        federated_subjects: [{ issuer: 'i', subject: 's', claims: {} }],
      },
      'with-nothing': {},
    };
    const clients = Object.entries(details).map(([clientId, some]) => ({
      ...stored(clientId, { clientSecret: NO_SECRET }),
      details: { ...NO_DETAILS, ...some },
    }));
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

  it('names the clients that have a valid secret of a low cost which nobody has generated here', async () => {
    const encoded = REGISTERED_CLIENT.clientSecret;
    const strong = encoded.replace('$04$', '$10$');
    const named = { secret_id: 'id', name: 'a name', client_secret: encoded };
    const clients = Object.entries<[string, Partial<StoredClient['details']>]>({
      chosen: [encoded, {}],
      'chosen-and-locked': [lock(encoded), {}],
      generated: [encoded, { client_secret_generated: true }],
      expired: [encoded, { client_secret_expires_at: NOW }],
      strong: [strong, {}],
      'named-chosen': [NO_SECRET, { secrets: [named] }],
      'named-generated': [strong, { secrets: [{ ...named, generated: true }] }],
    }).map(([clientId, [clientSecret, details]]) => ({
      ...stored(clientId, { clientSecret }),
      details: { ...NO_DETAILS, ...details },
    }));
    expect(await listing(clients.slice(0, 3), clients.slice(3)).weak()).toEqual([
      ...['chosen', 'chosen-and-locked'],
      'named-chosen',
    ]);
  });

  it('asks the storage for the range, and for nothing else', async () => {
    const { ids, seen } = listing([stored('b')]);
    await ids({ prefix: 'b', after: 'a', limit: 3, state: 'enabled' });
    expect(seen.range).toEqual({ prefix: 'b', after: 'a' });
  });
});
