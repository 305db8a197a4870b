import { beforeEach, describe, expect, it } from '@jest/globals';
import bcrypt from 'bcrypt';
import { bcryptEncoder } from '../../../adapters/secrets/bcrypt-secret-verifier.ts';
import { RandomIdGenerator, randomSecret } from '../../../adapters/system/system.ts';
import type { ChangeRequest } from '../../../application/clients-program/change-client.ts';
import { createClientManagement } from '../../../application/clients-program/client-management.ts';
import { DETAILS_MAX } from '../../../domain/client-details.ts';
import { weaknessByName } from '../../../domain/federated-jwt/issuer-preset.ts';
import { NO_SECRET, secretIdOf } from '../../../domain/stored-secret.ts';
import { atOnce } from '../../support/at-once.ts';
import { FixedClock } from '../../support/fixed-clock.ts';
import { InMemoryClientStore } from '../../support/in-memory-client-store.ts';

const COST = 4;
const DAY = 86_400;
const PLAIN = { clientId: 'c', clientName: 'A client', scope: 'read', secret: { secret: undefined, cost: COST } };
const NAMED = { name: undefined, expiresAt: undefined, cost: COST };
// RFC 8037 appendix A.2, with its thumbprint of appendix A.3.
const KEY = { jwk: { kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' } } as const;
const KEY_ID = 'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k';
const SUBJECT = { issuer: 'https://issuer.example', subject: 'billing', claims: {} };

let clock: FixedClock;
let store: InMemoryClientStore;
let use: ReturnType<typeof createClientManagement>;
beforeEach(() => {
  clock = new FixedClock();
  const ids = new RandomIdGenerator();
  store = new InMemoryClientStore(ids);
  const sources = { clock, generateSecret: randomSecret, ids };
  use = createClientManagement({ store, encodeSecret: bcryptEncoder(atOnce), checkRule: weaknessByName, ...sources });
});

async function columnOf(clientId = 'c'): Promise<string | undefined> {
  return (await store.find(clientId)).clients[0]?.clientSecret;
}

/** The new secret. Throws if there is none. */
function secretOf(result: { readonly ok: boolean; readonly value?: { readonly secret?: string | undefined } }): string {
  if (result.value?.secret === undefined) throw new Error('no secret');
  return result.value.secret;
}

function give(request: Extract<ChangeRequest, { readonly give: unknown }>['give']) {
  return use.changeClient('c', { give: request });
}

async function shown() {
  const client = await use.showClient('c');
  if (!client.ok) throw new Error(client.problem);
  return client.value.credentials;
}

describe('addClient', () => {
  it('gives a client of another method no secret, and shows how it authenticates', async () => {
    const details = { keys: [KEY], resources: ['https://api.example/'] };
    const added = await use.addClient({ ...PLAIN, secret: undefined, details });
    expect(added).toMatchObject({
      ok: true,
      value: {
        client: { state: 'enabled', bcrypt_cost: null, problem: null },
        credentials: {
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
    const [named] = (await store.find('c')).details.secrets;
    expect(named).toMatchObject({ secret_id: secretIdOf(secret), expires_at: clock.now() + DAY, name: '2027-01-15' });
    expect(await bcrypt.compare(secret, named?.encoded ?? '')).toBe(true);
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
  const problem = { kind: 'subjects', position: 1, rule: 'subject must begin with project_path:' };

  it('is not added with a client', async () => {
    const refused = await use.addClient({ ...PLAIN, secret: undefined, details: { subjects } });
    expect(refused).toEqual({ ok: false, problem });
    expect(await columnOf()).toBeUndefined();
  });

  it('is not added to a client', async () => {
    await use.addClient(PLAIN);
    expect(await use.changeClient('c', { add: { subjects } })).toEqual({ ok: false, problem });
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
      { secret_id: null, name: null, expires_at: null, bcrypt_cost: 4, expired: false },
      { secret_id: secretId, name: 'spring', expires_at: clock.now() + DAY, bcrypt_cost: 4, expired: false },
    ]);
    expect((await use.changeClient('c', { remove: { secret_id: undefined } })).ok).toBe(true);
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
      secretIdOf(secretOf(await use.addClient({ ...PLAIN, secret: NAMED, details: { keys: [KEY] } }))),
      secretIdOf(secretOf(await give(NAMED))),
    ];
    expect((await use.changeClient('c', { remove: { secret_id: first } })).ok).toBe(true);
    expect(await shown()).toMatchObject({ secrets: [{ secret_id: second }], keys: [{ key_id: KEY_ID }] });
  });

  it('keep a disabled client disabled, and count the secret behind its lock', async () => {
    await use.addClient(PLAIN);
    await use.changeClient('c', { state: 'disabled' });
    await give(NAMED);
    expect(await give(NAMED)).toEqual({ ok: false, problem: 'too_many_secrets' });
    await use.changeClient('c', { remove: { secret_id: undefined } });
    expect(await columnOf()).toBe('!*');
    await use.changeClient('c', { state: 'enabled' });
    expect(await columnOf()).toBe(NO_SECRET);
  });

  it('know no other client, no other secret, and no unusable name', async () => {
    expect(await give(NAMED)).toEqual({ ok: false, problem: 'client_unknown' });
    await use.addClient(PLAIN);
    const unnamed = await give({ ...NAMED, name: '' });
    expect(unnamed).toMatchObject({ ok: false, problem: { kind: 'secrets', rule: expect.stringContaining('name') } });
    expect(await use.changeClient('c', { remove: { secret_id: 'another' } })).toEqual({
      ok: false,
      problem: 'secret_unknown',
    });
    await use.changeClient('c', { remove: { secret_id: undefined } });
    expect(await use.changeClient('c', { remove: { secret_id: undefined } })).toEqual({
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
    expect((await store.find('c')).details.secrets).toEqual([]);
  });

  it.each([
    ['without an id', PLAIN.secret],
    ['with an id', NAMED],
  ])('replaces a secret %s of a client that has a key too', async (_which, secret) => {
    await use.addClient({ ...PLAIN, secret, details: { keys: [KEY] } });
    expect((await give({ secret: undefined, cost: COST })).ok).toBe(true);
    expect(await shown()).toMatchObject({ secrets: [{ secret_id: null }], keys: [{ key_id: KEY_ID }] });
  });

  it('gives a client a secret whose only secret was removed', async () => {
    await use.addClient(PLAIN);
    await use.changeClient('c', { remove: { secret_id: undefined } });
    expect((await give({ secret: undefined, cost: COST })).ok).toBe(true);
    expect((await shown()).secrets).toMatchObject([{ secret_id: null }]);
  });

  it('gives no secret to a client that authenticates in another way', async () => {
    await use.addClient({ ...PLAIN, secret: undefined, details: { subjects: [SUBJECT] } });
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

  it('refuses an overlap for a secret without an id, which cannot expire', async () => {
    await use.addClient(PLAIN);
    const refused = await give({ keepOldSeconds: DAY, cost: COST });
    expect(refused).toEqual({ ok: false, problem: 'secret_without_id' });
  });
});

describe('changeClient that adds and removes entries', () => {
  beforeEach(() => use.addClient({ ...PLAIN, secret: undefined, details: { keys: [KEY] } }));

  it('adds and removes keys, subjects and resources, and leaves the rest alone', async () => {
    const add = { subjects: [SUBJECT], resources: ['https://api.example/'] };
    expect((await use.changeClient('c', { add })).ok).toBe(true);
    expect(await shown()).toMatchObject({
      authentication_methods: ['private_key_jwt', 'federated_jwt'],
      keys: [{ key_id: KEY_ID }],
      federated_subjects: add.subjects,
      resources: add.resources,
    });
    await use.changeClient('c', { remove: { key_id: KEY_ID } });
    await use.changeClient('c', { remove: { issuer: SUBJECT.issuer, subject: SUBJECT.subject } });
    await use.changeClient('c', { remove: { resource: 'https://api.example/' } });
    expect(await shown()).toMatchObject({
      authentication_methods: [],
      keys: [],
      federated_subjects: [],
      resources: [],
    });
  });

  it('removes the named entry, and none that is like it', async () => {
    const others = [
      { ...SUBJECT, subject: 'reports' },
      { ...SUBJECT, issuer: 'https://other.example' },
    ];
    const other = { jwk: { ...KEY.jwk, x: 'A'.repeat(43) } };
    const resources = ['https://api.example/', 'https://api.example/v2'];
    const add = { keys: [other], subjects: [SUBJECT, ...others], resources };
    expect((await use.changeClient('c', { add })).ok).toBe(true);
    await use.changeClient('c', { remove: { key_id: KEY_ID } });
    await use.changeClient('c', { remove: { issuer: SUBJECT.issuer, subject: SUBJECT.subject } });
    await use.changeClient('c', { remove: { resource: 'https://api.example/' } });
    const { keys, ...left } = (await store.find('c')).details;
    expect(keys).toMatchObject([other]);
    expect(left).toEqual({ secrets: [], subjects: others, resources: ['https://api.example/v2'] });
  });

  it.each([
    [{ key_id: 'another' }],
    [{ issuer: SUBJECT.issuer, subject: 'another' }],
    [{ resource: 'https://api.example' }],
  ])('does not know %j', async (remove) => {
    expect(await use.changeClient('c', { remove })).toEqual({ ok: false, problem: 'entry_unknown' });
  });

  it('refuses an entry that is there already, and more than the most', async () => {
    const repeated = await use.changeClient('c', { add: { keys: [KEY] } });
    expect(repeated).toMatchObject({ ok: false, problem: { kind: 'keys', position: 1, rule: 'is repeated' } });
    const resources = Array.from({ length: DETAILS_MAX.resources + 1 }, (_, number) => `https://${number}.example/`);
    const tooMany = await use.changeClient('c', { add: { resources } });
    expect(tooMany).toMatchObject({ ok: false, problem: { kind: 'resources', position: undefined } });
  });

  it('shows a key that has expired, and that it authenticates nothing', async () => {
    await use.changeClient('c', { remove: { key_id: KEY_ID } });
    await use.changeClient('c', { add: { keys: [{ ...KEY, expires_at: clock.now() + DAY }] } });
    expect((await shown()).authentication_methods).toEqual(['private_key_jwt']);
    clock.advance(DAY);
    expect(await shown()).toMatchObject({ authentication_methods: [], keys: [{ key_id: KEY_ID, expired: true }] });
  });
});
