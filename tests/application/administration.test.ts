import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { bcryptEncoder, bcryptMatcher } from '../../adapters/secrets/bcrypt-secret-verifier.ts';
import { secretFiles } from '../../adapters/system/secret-files.ts';
import { RandomIdGenerator, randomSecret } from '../../adapters/system/system.ts';
import { ADMIN_SCOPES, administerClients, type ReadDocument } from '../../application/admin-api/administer-clients.ts';
import { AuthorizeAdministrator } from '../../application/admin-api/authorize-administrator.ts';
import type { ClientLookup } from '../../application/ports/client-repository.ts';
import type { ClientStore } from '../../application/ports/client-store.ts';
import { ClientRegistration, type NewClient } from '../../domain/client-registration.ts';
import { weaknessByName } from '../../domain/federated-jwt/issuer-preset.ts';
import { failure, success } from '../../domain/result.ts';
import { Scope } from '../../domain/scope.ts';
import { lock, NO_SECRET } from '../../domain/stored-secret.ts';
import { TokenPolicy } from '../../domain/token-policy.ts';
import { A_CLIENT } from '../contracts/client-repository.ts';
import { atOnce } from '../support/at-once.ts';
import { FixedClock } from '../support/fixed-clock.ts';
import { openSqliteStore, type SqliteStore } from '../support/sqlite-file.ts';

const ID = A_CLIENT.clientId;

describe('administerClients', () => {
  let store: SqliteStore;
  let revoked: (readonly string[])[];
  let forgotten: (readonly string[])[];
  beforeEach(async () => {
    store = await openSqliteStore();
    [revoked, forgotten] = [[], []];
  });
  afterEach(() => store.close());

  const clock = new FixedClock();

  function administration() {
    const tokens = {
      areKept: async () => true,
      revokeAll: async (ids: readonly string[]) => void revoked.push(ids),
      settled: async () => {},
    };
    const lastUsed = {
      record: async () => {},
      find: async () => ({ since: undefined, days: new Map() }),
      forget: async (ids: readonly string[]) => void forgotten.push(ids),
    };
    const hashes = { encodeSecret: bcryptEncoder(atOnce), matchSecret: bcryptMatcher(atOnce), secretFiles };
    const sources = { clock, generateSecret: randomSecret, ids: new RandomIdGenerator() };
    const scopes = Object.values(ADMIN_SCOPES);
    const rights = { checkRule: weaknessByName, scopes, protectedScopes: [] };
    return administerClients({ store, tokens, lastUsed, ...hashes, ...sources, ...rights });
  }

  const documentOf =
    (more: Partial<NewClient> = {}): ReadDocument =>
    () =>
      success({ ...A_CLIENT, ...more });

  /** Another caller changes the client before each of these changes. */
  function outrun(): { readonly changes: number } {
    const counted = { changes: 0 };
    const change = store.change.bind(store);
    store.change = (async (...args: Parameters<ClientStore['change']>) => {
      counted.changes += 1;
      await change(ID, () => success({ clientName: `changed ${counted.changes} times` }));
      return change(...args);
    }) as ClientStore['change'];
    return counted;
  }

  it('forgets the last use of an earlier client, and revokes nothing, when it adds one', async () => {
    expect(await administration().put(ID, 'none', documentOf())).toMatchObject({ ok: true, value: { isNew: true } });
    expect([forgotten, revoked]).toEqual([[[ID]], []]);
  });

  it('revokes the tokens of a client that a document disables, before and after it is stored, and of no other one', async () => {
    const { put } = administration();
    await store.add(A_CLIENT);
    await put(ID, 'any', documentOf({ clientName: 'Another name' }));
    expect(revoked.flat()).toEqual([]);
    revoked = [];
    await put(ID, 'any', documentOf({ clientSecret: lock(A_CLIENT.clientSecret) }));
    expect(revoked).toEqual([[ID], [ID]]);
  });

  it('tries five times to replace a client in any state that others change meanwhile, and once in a named one', async () => {
    await store.add(A_CLIENT);
    const shown = await administration().show(ID);
    const version = shown.ok ? shown.value.version : '';
    const clientSecret = lock(A_CLIENT.clientSecret);
    for (const [expected, times] of [
      ['any', 5],
      [[version], 0],
      [[], 0],
    ] as const) {
      const counted = outrun();
      const outcome = await administration().put(ID, expected, documentOf({ clientSecret }));
      expect([outcome, counted.changes]).toEqual([failure({ kind: 'client_changed' }), times]);
    }
    const counted = outrun();
    const found = await store.find(ID);
    const [current] = await store.findAll([ID]);
    expect(found?.clientName).not.toBe(A_CLIENT.clientName);
    const outcome = await administration().put(ID, [current?.version ?? ''], documentOf({ clientSecret }));
    expect([outcome, counted.changes, revoked]).toEqual([failure({ kind: 'client_changed' }), 1, []]);
  });

  it('revokes the tokens of a client that it removes, and forgets its last use', async () => {
    const { remove } = administration();
    expect(await remove(ID, 'any')).toEqual(failure({ kind: 'client_unknown' }));
    await store.add(A_CLIENT);
    expect(await remove(ID, [])).toEqual(failure({ kind: 'client_changed' }));
    expect([revoked, forgotten]).toEqual([[], []]);
    expect(await remove(ID, 'any')).toEqual(success(undefined));
    expect([revoked, forgotten]).toEqual([[[ID], [ID]], [[ID]]]);
  });

  it('shows the secret that it has added, beside another one, and adds no third', async () => {
    await store.add(A_CLIENT);
    const { addSecret } = administration();
    await addSecret(ID, { name: 'first' }, 'any');
    await store.change(ID, () => success({ clientSecret: NO_SECRET }));
    const added = await addSecret(ID, { name: 'second' }, 'any');
    expect(added).toMatchObject({ ok: true, value: { name: 'second', client_secret: expect.any(String) } });
    expect(await addSecret(ID, {}, 'any')).toEqual(failure({ kind: 'secrets_too_many' }));
  });

  it('ends a page with the last of those that it reads at once and that the limit has room for', async () => {
    const ids = Array.from({ length: 120 }, (_, number) => `client-${String(number).padStart(3, '0')}`);
    for (const clientId of ids) await store.add({ ...A_CLIENT, clientId });
    const { list } = administration();
    for (const [after, limit, count, last] of [
      [undefined, 10, 10, ids[9]],
      [undefined, 99, 50, ids[49]],
      [undefined, 100, 100, ids[99]],
      [ids[99], 100, 20, undefined],
    ] as const) {
      const page = await list(after, limit);
      expect([page.documents.length, page.last]).toEqual([count, last]);
    }
  });

  it('says that no database can store a name, and takes no secret that has ended', async () => {
    const { put, addSecret } = administration();
    const text = 'must be Unicode text without NUL';
    expect(await put(ID, 'none', documentOf({ clientName: 'a\0b' }))).toEqual(
      failure({ kind: 'document_invalid', problems: [{ path: 'client_name', code: 'invalid_value', text }] }),
    );
    await store.add(A_CLIENT);
    expect(await addSecret(ID, { expiresAt: clock.now() }, 'any')).toMatchObject({
      problem: { kind: 'document_invalid', problems: [{ path: 'expires_at' }] },
    });
    expect(await addSecret(ID, { expiresAt: clock.now() + 1 }, 'any')).toMatchObject({ ok: true });
  });

  it('knows no other client, no other secret, and enables nobody without a secret', async () => {
    const { setState, addSecret, removeSecret } = administration();
    for (const outcome of [setState(ID, 'disabled', 'any'), addSecret(ID, {}, 'any'), removeSecret(ID, 'a', 'any')]) {
      expect(await outcome).toEqual(failure({ kind: 'client_unknown' }));
    }
    await store.add({ ...A_CLIENT, clientSecret: '!!x' });
    expect(await setState(ID, 'enabled', 'any')).toEqual(failure({ kind: 'secret_missing' }));
    expect(await removeSecret(ID, 'a', 'any')).toEqual(failure({ kind: 'secret_unknown' }));
  });
});

describe('AuthorizeAdministrator', () => {
  const RESOURCE = 'https://auth.test';

  function authorizationFor(scopes: readonly string[], lookup?: ClientLookup) {
    const registration = ClientRegistration.of({ ...A_CLIENT, id: '1', scope: 'a b', resources: [RESOURCE] });
    if (!registration.ok) throw new Error('no registration');
    const bearer = { clientId: ID, tokenId: 'token', scopes };
    return new AuthorizeAdministrator({
      authorizeRequest: { execute: async () => success(bearer) },
      clients: { findByClientId: async () => lookup ?? { kind: 'found', registration: registration.value } },
      policy: new TokenPolicy({ issuer: 'http://issuer.test', lifetimeSeconds: 300, scopeClaim: 'absent' }),
      resource: RESOURCE,
    });
  }
  const scopeOf = (text: string) => {
    const scope = Scope.parse(text);
    if (!scope.ok) throw new Error('no scope');
    return scope.value;
  };

  it('requires every scope of the request, and none where it names none', async () => {
    const authorize = authorizationFor(['a', 'b']);
    const codeFor = async (text: string) => {
      const outcome = await authorize.execute({ token: 't', requiredScope: scopeOf(text) });
      return outcome.ok ? 'ok' : outcome.problem.reason;
    };
    expect([await codeFor('a b'), await codeFor('b'), await codeFor('a c')]).toEqual([
      'ok',
      'ok',
      'scope_insufficient',
    ]);
    expect(await authorize.execute({ token: 't' })).toMatchObject({ ok: true, value: { scopes: ['a', 'b'] } });
  });

  it.each(['unknown', 'broken'] as const)('refuses a client that is %s now', async (kind) => {
    const lookup = kind === 'unknown' ? { kind } : { kind, problem: { field: 'scope', rule: 'a rule' } as const };
    expect(await authorizationFor(['a'], lookup).execute({ token: 't' })).toMatchObject({
      problem: { reason: 'token_client_inactive', clientId: ID },
    });
  });
});
