import { beforeEach, describe, expect, it } from '@jest/globals';
import { bcryptEncoder } from '../../../adapters/secrets/bcrypt-secret-verifier.ts';
import { RandomIdGenerator, randomSecret } from '../../../adapters/system/system.ts';
import { createClientManagement } from '../../../application/clients-program/client-management.ts';
import { describeClient } from '../../../application/clients-program/describe-client.ts';
import { DISPLAYED_TEXT_MAX } from '../../../application/ports/client-store.ts';
import type { ClientRegistrationFields } from '../../../domain/client-registration.ts';
import { weaknessByName } from '../../../domain/federated-jwt/issuer-preset.ts';
import { success } from '../../../domain/result.ts';
import { atOnce } from '../../support/at-once.ts';
import { FixedClock } from '../../support/fixed-clock.ts';
import { InMemoryClientStore } from '../../support/in-memory-client-store.ts';
import { REGISTERED_CLIENT } from '../../support/registered-client.ts';

const COST = 4;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const SECRET = 'a-secret-of-16-bytes';
const NEW = { clientId: 'c', clientName: 'A client', scope: 'read write', secret: { secret: SECRET, cost: COST } };
const ENABLED = {
  id: expect.stringMatching(UUID),
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
  secrets: [{ secret_id: null, name: null, expires_at: null, bcrypt_cost: 4, expired: false }],
  keys: [],
  federated_subjects: [],
  resources: [],
};
const UNKNOWN = { ok: false, problem: 'client_unknown' };

let use: ReturnType<typeof useCases>;
beforeEach(() => {
  use = useCases();
});

function useCases() {
  const ids = new RandomIdGenerator();
  const store = new InMemoryClientStore(ids);
  const clock = new FixedClock();
  const sources = { clock, generateSecret: randomSecret, ids };
  const parts = { store, encodeSecret: bcryptEncoder(atOnce), checkRule: weaknessByName, ...sources };
  const management = createClientManagement(parts);
  return {
    store,
    add: management.addClient,
    show: management.showClient,
    change: management.changeClient,
    remove: management.removeClient,
  };
}

/** The stored secret of the client. */
async function storedSecret(): Promise<string> {
  const [client] = (await use.store.find('c')).clients;
  return client?.clientSecret ?? '';
}

describe('addClient', () => {
  it('stores a client with a hash of its secret, at the given cost, and returns the secret once', async () => {
    expect(await use.add(NEW)).toEqual({
      ok: true,
      value: { client: ENABLED, credentials: PLAIN, secret: SECRET },
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

describe('showClient and removeClient', () => {
  it('describe the client without its secret', async () => {
    await use.add(NEW);
    expect(await use.show('c')).toEqual({ ok: true, value: { client: ENABLED, credentials: PLAIN } });
    expect(await use.remove('c')).toEqual({ ok: true, value: ENABLED });
    expect(await use.show('c')).toEqual(UNKNOWN);
    expect(await use.remove('c')).toEqual(UNKNOWN);
  });
});

describe('changeClient that gives a secret', () => {
  it('replaces the hash, and returns the new secret', async () => {
    await use.add(NEW);
    const before = await storedSecret();
    const rotated = await use.change('c', { give: { secret: 'another-secret-of-mine', cost: COST } });
    expect(rotated).toEqual({
      ok: true,
      value: { client: ENABLED, credentials: PLAIN, changed: true, secret: 'another-secret-of-mine' },
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
    expect(narrowed).toMatchObject({ value: { client: { client_name: 'Renamed', scope: 'read', state: 'disabled' } } });
  });

  it('refuses what no client may have, and changes nothing', async () => {
    await use.add(NEW);
    const refused = await use.change('c', { set: { clientName: 'Renamed', scope: 'a  b' } });
    expect(refused).toMatchObject({ ok: false, problem: { field: 'scope' } });
    expect(await use.show('c')).toMatchObject({ value: { client: ENABLED } });
    expect(await use.change('unknown', { set: { clientName: 'x', scope: 'read' } })).toEqual(UNKNOWN);
  });
});

describe('describeClient', () => {
  const FIELDS: ClientRegistrationFields = { ...REGISTERED_CLIENT, id: '1' };
  const notBcrypt = 'client_secret must be a BCrypt encoding of cost 4 to 14';
  const described = (more: Partial<ClientRegistrationFields>) => {
    const client = describeClient([{ ...FIELDS, ...more }]);
    if (!client.ok) throw new Error(client.problem);
    const { state, bcrypt_cost, problem } = client.value;
    return [state, bcrypt_cost, problem];
  };

  it.each([
    ['a client', {}, ['enabled', 4, null]],
    ['a locked client', { clientSecret: `!${FIELDS.clientSecret}` }, ['disabled', 4, notBcrypt]],
    ['a plain secret', { clientSecret: '{noop}x' }, ['broken', null, notBcrypt]],
    ['no hash', { clientSecret: 'x' }, ['broken', null, notBcrypt]],
    ['an empty name', { clientName: '' }, ['broken', 4, 'client_name must not be empty']],
  ] as const)('%s', (_name, more, [state, cost, problem]) => {
    const [actualState, actualCost, actualProblem] = described(more);
    expect([actualState, actualCost]).toEqual([state, cost]);
    if (state !== 'disabled') expect(actualProblem).toEqual(problem);
  });

  it('two clients with one id: each is broken', () => {
    expect(describeClient([FIELDS, FIELDS])).toMatchObject({
      ok: true,
      value: { state: 'broken', problem: 'client_id must be unique' },
    });
  });

  it.each([
    ['is shown in full', `${'a'.repeat(9_998)} b`, `${'a'.repeat(9_998)} b`],
    ['that was cut is shown without the token in which it ends', `read ${'a'.repeat(DISPLAYED_TEXT_MAX - 5)}`, 'read'],
    ['that is one token is shown as it is', 'a'.repeat(DISPLAYED_TEXT_MAX), 'a'.repeat(DISPLAYED_TEXT_MAX)],
  ])('a long scope %s', (_what, scope, expected) => {
    expect(describeClient([{ ...FIELDS, scope }])).toMatchObject({ ok: true, value: { scope: expected } });
  });

  it('never has the secret', () => {
    expect(JSON.stringify(describeClient([FIELDS]))).not.toContain('$2b$');
  });
});
