import { once } from 'node:events';
import { connect } from 'node:net';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import bcrypt from 'bcrypt';
import { PARTS } from '../../../config/container.ts';
import { manageClients } from '../../../config/programs/clients-program.ts';
import { migrateTables } from '../../../config/programs/migrate-tables.ts';
import { readSettings, settingWarnings } from '../../../config/settings/settings.ts';
import { BAD_DETAILS, BAD_FIELDS } from '../../support/bad-details.ts';
import { freePort } from '../../support/free-port.ts';
import { getAccessToken, type HttpResponse, requestToken, send } from '../../support/http.ts';
import { InMemoryAuditLog } from '../../support/in-memory-audit-log.ts';
import { problemsIn } from '../../support/problems.ts';
import { runInProcess } from '../../support/run-in-process.ts';
import { ISSUER, type ServiceUnderTest, startServiceUnderTest } from '../../support/running-service.ts';
import { SEALED_KEYS } from '../../support/sealed-keys.ts';
import { createSqliteFile, type SqliteFile } from '../../support/sqlite-file.ts';
import { createTestDatabase, PATIENT, type TestDatabase } from '../../support/test-database.ts';
import { until } from '../../support/until.ts';

const SECRET = 'a-secret-of-an-administrator';
const ON = {
  ADMIN_API: 'true',
  ADMIN_REQUESTS_PER_SECOND: '0',
  TOKEN_REVOCATION: 'true',
  TOKEN_PROFILE: 'common',
  TOKEN_AUDIENCE: 'https://api.example.com',
  CLIENTS_FILE: '',
  ...SEALED_KEYS,
};
const ADMINISTRATORS = {
  reader: 'clients:read',
  portal: 'clients:read clients:write',
  root: 'clients:read clients:write clients:admin',
  stranger: 'read',
};
const CREATE = { 'if-none-match': '*' };
const ANY = { 'if-match': '*' };
const CLIENT = { client_name: 'Billing', scope: 'read' };

interface StorageUnderTest {
  readonly settings: Readonly<Record<string, string>>;
  /** A rule of the database's own: no client may have the name Forbidden. */
  readonly rule: string;
  /** Where the table last_used is. */
  runOnUses(sql: string): Promise<unknown>;
  runOnClients(sql: string): Promise<unknown>;
  close(): Promise<void>;
}

const STORAGES: readonly (readonly [name: string, create: () => Promise<StorageUnderTest>])[] = [
  [
    'SQLite',
    async () => {
      const file: SqliteFile = await createSqliteFile();
      const run = async (path: string, sql: string) => {
        const database = new DatabaseSync(path);
        database.exec(sql);
        database.close();
      };
      return {
        settings: { CLIENT_REPOSITORY: 'sqlite', DATABASE_FILE: file.path },
        rule: `create trigger no_forbidden before update on clients when new.client_name = 'Forbidden'
          begin select raise(abort, 'the rule no_forbidden'); end`,
        runOnUses: (sql) => run(`${file.path}.keys`, sql),
        runOnClients: (sql) => run(file.path, sql),
        close: () => file.remove(),
      };
    },
  ],
  [
    'PostgreSQL, with the rights of the role for it',
    async () => {
      const database: TestDatabase = await createTestDatabase();
      const { name, url } = await database.createRole();
      const grant = ['--grant-to', name, '--role-for', 'admin-api'];
      expect((await runInProcess(migrateTables, grant, { DATABASE_URL: database.url })).exitCode).toBe(0);
      return {
        settings: { CLIENT_REPOSITORY: 'postgres', DATABASE_URL: url, ...PATIENT },
        rule: "alter table clients add constraint no_forbidden check (client_name <> 'Forbidden')",
        runOnUses: (sql) => database.query(sql),
        runOnClients: (sql) => database.query(sql),
        close: () => database.drop(),
      };
    },
  ],
];

/** Defines no test. */
const NO_TEST = { each: () => () => {} };

describe.each(STORAGES)('the API for those who manage clients, on %s', (name, create) => {
  let storage: StorageUnderTest;
  let service: ServiceUnderTest;
  let url: string;
  const tokens: Record<string, string> = {};
  const environment = () => ({ ...ON, ...storage.settings });
  const program = (...args: readonly string[]) => runInProcess(manageClients, args, storage.settings, SECRET);

  beforeAll(async () => {
    storage = await create();
    for (const [id, scope] of Object.entries(ADMINISTRATORS)) {
      const added = await program('add', id, '--name', id, '--secret-stdin', '--scope', scope, '--resource', ISSUER);
      expect(added).toMatchObject({ exitCode: 0 });
    }
    const port = String(await freePort());
    url = `http://127.0.0.1:${port}`;
    service = await startServiceUnderTest({ environment: { ...environment(), MANAGEMENT_PORT: port } });
    for (const id of Object.keys(ADMINISTRATORS)) {
      tokens[id] = await getAccessToken(service.url, id, SECRET, { resource: ISSUER });
    }
  });
  afterAll(async () => {
    await service.stop();
    await storage.close();
    expect(service.logText()).not.toMatch(/-secret-|eyJ|\$2[aby]\$/);
  });

  function as(
    who: string,
    method: string,
    path: string,
    body?: object | string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<HttpResponse> {
    const authorization = `Bearer ${tokens[who]}`;
    const sent = body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) };
    const type = body === undefined ? {} : { 'content-type': 'application/json' };
    return send(url, path, { method, headers: { authorization, ...type, ...headers }, ...sent });
  }
  const put = (who: string, id: string, document: object | string, headers: Record<string, string> = CREATE) =>
    as(who, 'PUT', `/clients/${encodeURIComponent(id)}`, document, headers);
  const show = (id: string) => as('reader', 'GET', `/clients/${encodeURIComponent(id)}`);
  const etagOf = async (id: string) => String((await show(id)).headers.etag);
  const changes = () => service.logLines().filter(({ log, changed_by }) => log === 'audit' && changed_by !== undefined);
  const tokenStatus = async (client_id: string, client_secret: string) =>
    (await requestToken(service.url, { grant_type: 'client_credentials', client_id, client_secret })).status;

  it('creates a client, gives it secrets, changes it, disables it and removes it, each at once for its next request', async () => {
    const created = await put('portal', 'billing', CLIENT);
    expect([created.status, created.json()]).toEqual([201, { client_id: 'billing', ...CLIENT, state: 'enabled' }]);
    const first = (await as('portal', 'POST', '/clients/billing/secrets', { name: 'first' })).json();
    expect(first).toMatchObject({ name: 'first', generated: true, expires_at: null });
    const second = await as('portal', 'POST', '/clients/billing/secrets', { expires_at: 4_000_000_000 });
    expect([second.status, second.headers['cache-control']]).toEqual([201, 'no-store']);
    const secrets = [String(first['client_secret']), String(second.json()['client_secret'])] as const;
    for (const secret of secrets) expect(await tokenStatus('billing', secret)).toBe(200);
    const third = await as('portal', 'POST', '/clients/billing/secrets');
    expect([third.status, third.json()['error']]).toEqual([409, 'conflict']);
    const ofFirst = `/clients/billing/secrets/${first['secret_id']}`;
    expect((await as('portal', 'DELETE', ofFirst)).status).toBe(204);
    expect([await tokenStatus('billing', secrets[0]), await tokenStatus('billing', secrets[1])]).toEqual([401, 200]);
    expect((await as('portal', 'DELETE', ofFirst)).status).toBe(404);
    const wider = await put(
      'portal',
      'billing',
      { ...CLIENT, scope: 'read write' },
      { 'if-match': await etagOf('billing') },
    );
    expect(wider.json()).toMatchObject({ scope: 'read write', secrets: [{ expires_at: 4_000_000_000 }] });
    const token = await getAccessToken(service.url, 'billing', secrets[1]);
    expect((await as('portal', 'POST', '/clients/billing/disable')).json()).toMatchObject({ state: 'disabled' });
    expect(await tokenStatus('billing', secrets[1])).toBe(401);
    expect((await as('portal', 'POST', '/clients/billing/enable')).json()).toMatchObject({ state: 'enabled' });
    expect(await tokenStatus('billing', secrets[1])).toBe(200);
    const introspection = await send(service.url, '/oauth2/introspect', {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: String(new URLSearchParams({ token, client_id: 'billing', client_secret: secrets[1] })),
    });
    expect(introspection.json()).toEqual({ active: false });
    expect((await as('portal', 'DELETE', '/clients/billing', undefined, ANY)).status).toBe(204);
    expect([(await show('billing')).status, await tokenStatus('billing', secrets[1])]).toEqual([404, 401]);
    expect(changes().map(({ event, changed_by, client_id }) => [event, changed_by, client_id])).toEqual([
      ['client_added', 'portal', 'billing'],
      ...Array.from({ length: 6 }, () => ['client_changed', 'portal', 'billing']),
      ['client_removed', 'portal', 'billing'],
    ]);
  });

  it('stores what it shows unchanged, and keeps the secrets and the lock that a document leaves out', async () => {
    const encoded = await bcrypt.hash('an-old-secret-of-it', 4);
    const jwk = { kty: 'OKP', crv: 'Ed25519', x: Buffer.alloc(32, 1).toString('base64url'), kid: 'k' };
    const full = {
      ...CLIENT,
      jwks: { keys: [{ ...jwk, expires_at: 4_000_000_000 }] },
      federated_subjects: [{ issuer: 'https://issuer.example', subject: 's', claims: { '/a': 'b' } }],
      resources: ['https://files.example', { resource: 'https://other.example', scope: 'read' }],
      claims: { tenant: 'acme' },
      token_lifetime_seconds: 60,
      audiences: ['https://api.example.com'],
    };
    const given = { ...full, client_secret: encoded, client_secret_expires_at: 4_000_000_000 };
    expect((await put('portal', 'full', given)).status).toBe(201);
    await as('portal', 'POST', '/clients/full/secrets', { name: 'n' });
    await as('portal', 'POST', '/clients/full/disable');
    const before = await show('full');
    const shown = before.json();
    expect(shown).toMatchObject({ ...full, state: 'disabled', secrets: [{ name: 'n', generated: true }] });
    expect(before.text).not.toContain('$2');
    const again = await put('portal', 'full', shown, { 'if-match': String(before.headers.etag) });
    expect([again.status, again.json(), again.headers.etag]).toEqual([200, shown, before.headers.etag]);
    const { secrets: _s, state: _state, client_secret_expires_at: _e, ...less } = shown;
    expect((await put('portal', 'full', less, ANY)).json()).toEqual(shown);
    await as('portal', 'POST', '/clients/full/enable');
    expect(await tokenStatus('full', 'an-old-secret-of-it')).toBe(200);
    const without = await put('portal', 'full', { ...CLIENT, client_secret: '*', secrets: [] }, ANY);
    expect(without.json()).toEqual({ client_id: 'full', ...CLIENT, state: 'enabled' });
    expect(await tokenStatus('full', 'an-old-secret-of-it')).toBe(401);
  });

  it('revokes the tokens of a client that it removes or finds disabled, also if it comes back, and not of one that it changes', async () => {
    const client_secret = await bcrypt.hash('a-secret-that-comes-back', 4);
    const isActive = async (token: string) => {
      const form = { token, client_id: 'back', client_secret: 'a-secret-that-comes-back' };
      const headers = { 'content-type': 'application/x-www-form-urlencoded' };
      const body = String(new URLSearchParams(form));
      return (await send(service.url, '/oauth2/introspect', { method: 'POST', headers, body })).json()['active'];
    };
    const get = () => getAccessToken(service.url, 'back', 'a-secret-that-comes-back');
    await put('portal', 'back', { ...CLIENT, client_secret });
    const first = await get();
    expect((await put('portal', 'back', { ...CLIENT, client_name: 'B', client_secret }, ANY)).status).toBe(200);
    expect(await isActive(first)).toBe(true);
    await as('portal', 'DELETE', '/clients/back', undefined, ANY);
    expect((await put('portal', 'back', { ...CLIENT, client_secret })).status).toBe(201);
    expect(await isActive(first)).toBe(false);
    // A token has a later second than a revocation reaches.
    const fresh = async () => {
      let token = '';
      await until(async () => {
        token = await get();
        return isActive(token).then(Boolean);
      }, 'a token is active');
      return token;
    };
    const second = await fresh();
    await storage.runOnClients("update clients set client_secret = '!' || client_secret where client_id = 'back'");
    expect((await put('portal', 'back', { ...CLIENT, client_name: 'C' }, ANY)).json()).toMatchObject({
      state: 'disabled',
    });
    expect((await as('portal', 'POST', '/clients/back/enable')).status).toBe(200);
    expect(await isActive(second)).toBe(false);
  });

  it('leaves a client alone whose row nobody can read, but for its removal by who may do everything', async () => {
    await put('portal', 'broken', CLIENT);
    await storage.runOnClients(`update clients set credentials = '{"owner":"x"}' where client_id = 'broken'`);
    expect((await show('broken')).json()).toMatchObject({ state: 'broken', problem: expect.any(String) });
    const statusesOf = async (who: string) => [
      (await put(who, 'broken', CLIENT, ANY)).status,
      (await as(who, 'POST', '/clients/broken/secrets')).status,
      (await as(who, 'DELETE', '/clients/broken/secrets/x')).status,
    ];
    expect(await statusesOf('portal')).toEqual([403, 403, 403]);
    expect(await statusesOf('root')).toEqual([409, 409, 404]);
    expect((await as('portal', 'DELETE', '/clients/broken', undefined, ANY)).status).toBe(403);
    expect((await as('root', 'DELETE', '/clients/broken', undefined, ANY)).status).toBe(204);
  });

  it('asks for the state that is replaced, and of two writers one wins', async () => {
    expect((await put('portal', 'two', CLIENT, {})).status).toBe(428);
    expect((await put('portal', 'two', CLIENT, ANY)).status).toBe(412);
    expect((await put('portal', 'two', CLIENT)).status).toBe(201);
    expect((await put('portal', 'two', CLIENT)).status).toBe(412);
    const tag = await etagOf('two');
    for (const match of ['"x"', `W/${tag}`])
      expect((await put('portal', 'two', CLIENT, { 'if-match': match })).status).toBe(412);
    for (const match of ['x', '*, "a"', tag.slice(1)]) {
      expect((await put('portal', 'two', CLIENT, { 'if-match': match })).status).toBe(428);
    }
    const names = Array.from({ length: 8 }, (_, writer) => `Writer ${writer}`);
    const writes = await Promise.all(
      names.map((client_name) => put('portal', 'two', { ...CLIENT, client_name }, { 'if-match': `"other", ${tag}` })),
    );
    expect(writes.map(({ status }) => status).sort()).toEqual([200, ...Array(7).fill(412)]);
    const winner = writes.findIndex(({ status }) => status === 200);
    expect((await show('two')).json()).toMatchObject({ client_name: names[winner] });
    for (const [method, path] of [
      ['POST', '/disable'],
      ['POST', '/secrets'],
      ['DELETE', '/secrets/x'],
    ] as const) {
      expect((await as('portal', method, `/clients/two${path}`, undefined, { 'if-match': tag })).status).toBe(412);
      expect((await as('portal', method, `/clients/two${path}`, undefined, { 'if-match': 'x' })).status).toBe(428);
    }
    expect((await as('reader', 'GET', '/clients/two', undefined, { 'if-none-match': tag })).status).toBe(200);
    expect((await as('portal', 'DELETE', '/clients/two')).status).toBe(428);
    expect((await as('portal', 'DELETE', '/clients/two', undefined, { 'if-match': tag })).status).toBe(412);
    const any = await Promise.all(names.map((client_name) => put('portal', 'two', { ...CLIENT, client_name }, ANY)));
    expect(any.filter(({ status }) => status === 200).length).toBeGreaterThan(4);
    const created = await Promise.all(names.map((client_name) => put('portal', 'same', { ...CLIENT, client_name })));
    expect(created.map(({ status }) => status).sort()).toEqual([201, ...Array(7).fill(412)]);
    const removed = await Promise.all(names.map(() => as('portal', 'DELETE', '/clients/two', undefined, ANY)));
    expect(removed.map(({ status }) => status).sort()).toEqual([204, ...Array(7).fill(404)]);
  });

  it('lists clients by their ids, in pages', async () => {
    for (const id of ['p/1', 'p 2', 'p%3']) await put('portal', id, CLIENT);
    const ids: unknown[] = [];
    for (let path: unknown = '/clients?after=p&limit=1'; path !== undefined && ids.length < 9; ) {
      const { clients, next } = (await as('reader', 'GET', String(path))).json();
      ids.push(...(clients as { client_id: string }[]).map(({ client_id }) => client_id));
      path = next;
    }
    expect(ids.slice(0, 3)).toEqual(['p 2', 'p%3', 'p/1']);
    for (const id of ['p/1', 'p 2', 'p%3']) expect((await show(id)).json()).toMatchObject({ client_id: id });
    for (const query of ['limit=0', 'limit=501', 'limit=x', 'limit=1&limit=2', 'after=', 'before=a']) {
      expect((await as('reader', 'GET', `/clients?${query}`)).status).toBe(400);
    }
    for (const path of ['/clients/%zz', '/clients/%00', `/clients/${'x'.repeat(256)}`, '/clients/a%2Fb%2Fc']) {
      expect((await as('reader', 'GET', path)).status).toBe(404);
    }
    const patched = await as('portal', 'PATCH', '/clients/p%201', {});
    expect([patched.status, patched.headers.allow]).toEqual([405, 'GET, HEAD, PUT, DELETE']);
  });

  it('ends a page early where documents are long, so that it holds up nobody', async () => {
    const scope = Array.from({ length: 80 }, (_, number) => `scope-${number}-of-an-api`).join(' ');
    const resources = Array.from({ length: 12 }, (_, number) => {
      return { resource: `https://${number}.example/${'x'.repeat(1_000)}`, scope };
    });
    const ids = Array.from({ length: 60 }, (_, number) => `long-${10 + number}`);
    for (const id of ids) expect((await put('portal', id, { ...CLIENT, resources })).status).toBe(201);
    const listed: string[] = [];
    const sizes: number[] = [];
    for (let path: unknown = '/clients?after=long&limit=110'; path !== undefined && listed.length < ids.length; ) {
      const { clients, next } = (await as('reader', 'GET', String(path))).json();
      const page = (clients as { client_id: string }[]).map(({ client_id }) => client_id);
      sizes.push(page.length);
      listed.push(...page);
      path = next;
    }
    expect([listed.slice(0, ids.length), sizes[0]]).toEqual([ids, 50]);
  });

  it('is for tokens that were requested for it alone, with its scopes, of clients that still have these', async () => {
    const get = (token?: string) =>
      send(url, '/clients', { headers: token === undefined ? {} : { authorization: `Bearer ${token}` } });
    expect((await get()).status).toBe(401);
    const ofApi = await getAccessToken(service.url, 'portal', SECRET);
    expect([(await get(ofApi)).status, (await get('x.y.z')).status]).toEqual([401, 401]);
    expect((await get(tokens['stranger'])).status).toBe(403);
    const refused = await put('reader', 'no', CLIENT);
    expect([refused.status, refused.headers['www-authenticate']]).toEqual([
      403,
      'Bearer error="insufficient_scope", scope="clients:write"',
    ]);
    const narrow = await getAccessToken(service.url, 'portal', SECRET, { resource: ISSUER, scope: 'clients:read' });
    const headers = { authorization: `Bearer ${narrow}`, ...ANY };
    expect((await send(url, '/clients/no', { method: 'DELETE', headers })).status).toBe(403);
    // What was taken away counts at once.
    await program(
      'add',
      'brief',
      '--name',
      'b',
      '--secret-stdin',
      '--scope',
      ADMINISTRATORS.portal,
      '--resource',
      ISSUER,
    );
    tokens['brief'] = await getAccessToken(service.url, 'brief', SECRET, { resource: ISSUER });
    expect((await put('brief', 'by-brief', CLIENT)).status).toBe(201);
    await program('update', 'brief', '--scope', 'clients:read');
    expect([
      (await put('brief', 'by-brief', CLIENT, ANY)).status,
      (await as('brief', 'GET', '/clients')).status,
    ]).toEqual([403, 200]);
    await program('update', 'brief', '--scope', ADMINISTRATORS.portal, '--remove-resource', ISSUER);
    expect((await as('brief', 'GET', '/clients')).status).toBe(403);
    await program('update', 'brief', '--add-resource', ISSUER);
    expect((await as('brief', 'GET', '/clients')).status).toBe(200);
    // By another program, which revokes no token.
    await storage.runOnClients("update clients set client_secret = '!' || client_secret where client_id = 'brief'");
    expect((await as('brief', 'GET', '/clients')).status).toBe(401);
  });

  it('lets nobody gain rights: clients with its scopes, and owners, are for clients:admin', async () => {
    const [, admin] = [ADMINISTRATORS.portal, { resource: ISSUER, scope: 'clients:admin' }];
    const documents = [
      { ...CLIENT, scope: 'read clients:read' },
      { ...CLIENT, scope: 'introspect' },
      { ...CLIENT, resources: [admin] },
      { ...CLIENT, owner: 'team' },
    ];
    await put('portal', 'plain', CLIENT);
    for (const document of documents) {
      expect((await put('portal', 'gain', document)).status).toBe(403);
      expect((await put('portal', 'plain', document, ANY)).status).toBe(403);
    }
    for (const id of ['portal', 'root', 'reader']) {
      for (const [method, path] of [
        ['POST', '/secrets'],
        ['POST', '/disable'],
        ['POST', '/enable'],
        ['DELETE', '/secrets/x'],
        ['DELETE', ''],
      ] as const) {
        expect([
          id,
          method,
          path,
          (await as('portal', method, `/clients/${id}${path}`, undefined, ANY)).status,
        ]).toEqual([id, method, path, 403]);
      }
      expect((await put('portal', id, CLIENT, ANY)).status).toBe(403);
    }
    expect((await put('root', 'gain', documents[0] ?? {})).status).toBe(201);
    const owned = await put('root', 'owned', documents[3] ?? {});
    expect([owned.status, owned.json()['owner']]).toEqual([201, 'team']);
    for (const who of ['portal', 'root']) {
      const conflict = await put(who, 'owned', CLIENT, ANY);
      expect([conflict.status, conflict.json()['error_description']]).toEqual([
        409,
        "clients apply manages this client for 'team': change its file",
      ]);
      expect((await as(who, 'POST', '/clients/owned/secrets')).status).toBe(409);
      expect((await as(who, 'DELETE', '/clients/owned', undefined, ANY)).status).toBe(409);
    }
  });

  it('says which values break rules, also beside unknown fields', async () => {
    const response = await put('portal', 'bad', { client_name: '', scope: 'a  b', claims: { iss: 'x' }, more: 1 });
    expect((response.json()['errors'] as { path: string }[]).map(({ path }) => path)).toEqual([
      '',
      'client_name',
      'scope',
      'claims',
    ]);
    const issuer = 'https://token.actions.githubusercontent.com';
    const rule = { issuer, subject: 'repo:octo-org/octo-repo:ref:refs/heads/main', claims: { '/a': 'b' } };
    const wide = await put('portal', 'bad', { ...CLIENT, federated_subjects: [rule] });
    expect([wide.status, wide.json()['errors']]).toEqual([
      422,
      [{ path: 'federated_subjects.0', code: 'rule_too_wide', text: expect.stringContaining('/repository_id') }],
    ]);
    const secret = await as('portal', 'POST', '/clients/portal/secrets', { expires_at: 1_000 });
    expect([secret.status, secret.json()['errors']]).toEqual([
      422,
      [{ path: 'expires_at', code: 'invalid_value', text: 'must be in the future' }],
    ]);
  });

  it('says what the database refuses, and what a secret would break', async () => {
    await put('portal', 'ruled', CLIENT);
    await storage.runOnClients(storage.rule);
    const refused = await put('portal', 'ruled', { ...CLIENT, client_name: 'Forbidden' }, ANY);
    expect([refused.status, refused.json()['errors']]).toEqual([
      422,
      [{ path: '', code: 'refused_by_database', text: expect.stringContaining('no_forbidden') }],
    ]);
    expect((await show('ruled')).json()).toMatchObject(CLIENT);

    const rules = Array.from({ length: 3 }, (_, n) => ({
      issuer: 'https://i.example',
      subject: `${n}${'s'.repeat(1_900)}`,
      claims: {},
    }));
    expect((await put('portal', 'ruled', { ...CLIENT, federated_subjects: rules }, ANY)).status).toBe(200);
    const secret = await as('portal', 'POST', '/clients/ruled/secrets', { name: 'n'.repeat(200) });
    expect([secret.status, secret.json()['errors']]).toEqual([
      422,
      [{ path: '', code: 'invalid_value', text: expect.stringMatching(/must be shorter: .* and may have 6144$/) }],
    ]);

    await storage.runOnClients("update clients set client_secret = '!' where client_id = 'ruled'");
    const enabled = await as('portal', 'POST', '/clients/ruled/enable');
    expect([enabled.status, enabled.json()['error']]).toEqual([409, 'conflict']);
  });

  it('says everything that is wrong with a document at once, and stores nothing', async () => {
    const response = await put('portal', 'bad', {
      client_id: 'other',
      client_name: 1,
      scope: 'read',
      state: 'disabled',
      client_secret: 'its-secret-in-clear',
      unknown: true,
      secrets: [{ secret_id: 'x', name: 'n' }],
    });
    expect([response.status, response.headers['content-type']]).toEqual([422, 'application/problem+json']);
    expect(response.json()).toMatchObject({
      status: 422,
      error: 'invalid_client_metadata',
      errors: [
        { path: 'client_id', code: 'id_differs', text: 'must be the id of the path' },
        { path: 'state', code: 'read_only', text: 'must be as it is', fix: 'POST to /disable or /enable' },
        {
          path: 'client_secret',
          code: 'secret_not_hashed',
          text: 'must be a BCrypt encoding of cost 4 to 14',
          fix: expect.any(String),
        },
        { path: 'client_name', code: 'invalid_type', text: 'must be a string' },
        { path: 'secrets.0.client_secret', code: 'invalid_type', text: 'is missing' },
        { path: '', code: 'unknown_field', text: expect.stringContaining('has unknown fields `unknown`') },
      ],
    });
    expect(response.text).not.toContain('its-secret');
    expect((await show('bad')).status).toBe(404);
  });

  // What is wrong with a request does not depend on the storage.
  const itOnce = name === STORAGES[0]?.[0] ? it : NO_TEST;
  itOnce.each([...BAD_DETAILS, ...BAD_FIELDS])(
    'refuses what a clients file must not have: %s',
    async (_what, fields) => {
      const body = JSON.stringify({ ...CLIENT, client_secret: `$2b$10$${'a'.repeat(53)}`, ...fields });
      // It is missing there, and kept here.
      if (_what === 'no secret and no key') return;
      const response = await put('portal', 'bad', body);
      expect([response.status, response.text.includes('its-secret')]).toEqual([422, false]);
      expect((await show('bad')).status).toBe(404);
    },
  );

  itOnce.each([
    ['no body', undefined, 400],
    ['no JSON', '{', 400],
    ['an array', '[]', 400],
    ['a field twice', '{"scope":"a","scope":"b"}', 400],
    ['a prototype', '{"client_name":"A","scope":"a","__proto__":{"owner":"x"}}', 422],
    ['half a pair of surrogates', '{"client_name":"\\ud800","scope":"a"}', 422],
    ['values without end', `{"a":[${'1,'.repeat(11_000)}1]}`, 400],
    ['depth without end', `${'{"a":'.repeat(30)}1${'}'.repeat(30)}`, 400],
    ['more than 64 KiB', JSON.stringify({ a: 'x'.repeat(65_536) }), 413],
  ])('refuses %s', async (_what, body, status) => {
    const headers = { ...CREATE, 'content-type': 'application/json' };
    expect((await as('portal', 'PUT', '/clients/bad', body, headers)).status).toBe(status);
    const other = await as('portal', 'PUT', '/clients/bad', '{}', { ...CREATE, 'content-type': 'text/plain' });
    expect(other.status).toBe(400);
  });

  it('lets no caller ask for more than its budget', async () => {
    const port = String(await freePort());
    const limited = { ...environment(), MANAGEMENT_PORT: port, ADMIN_REQUESTS_PER_SECOND: '12' };
    await using other = await startServiceUnderTest({ environment: limited });
    const statuses: number[] = [];
    const authorization = `Bearer ${await getAccessToken(other.url, 'reader', SECRET, { resource: ISSUER })}`;
    for (const path of ['/clients?limit=500', '/clients/portal', '/clients?limit=500']) {
      statuses.push((await send(`http://127.0.0.1:${port}`, path, { headers: { authorization } })).status);
    }
    expect(statuses).toEqual([200, 200, 429]);
    const metrics = await send(`http://127.0.0.1:${port}`, '/metrics');
    expect(metrics.text).toMatch(/^auth_admin_api_callers 1$/m);
  });

  it('shows the day of the last token of each client, which the program lists too, and changes no ETag by it', async () => {
    const port = String(await freePort());
    const recording = { ...environment(), MANAGEMENT_PORT: port, RECORD_LAST_USED: 'true' };
    await put('portal', 'used', CLIENT);
    await put('portal', 'unused', CLIENT);
    const tag = await etagOf('used');
    const { client_secret } = (await as('portal', 'POST', '/clients/used/secrets', { name: 'n' })).json();
    const later = await etagOf('used');
    const today = new Date().toISOString().slice(0, 10);
    const before = await program('list', '--unused-for', '30d');
    expect(before).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('No last use is recorded') });
    const other = await startServiceUnderTest({ environment: recording });
    expect(
      (
        await requestToken(other.url, {
          grant_type: 'client_credentials',
          client_id: 'used',
          client_secret: String(client_secret),
        })
      ).status,
    ).toBe(200);
    await other.stop();
    const [used, unused] = [await show('used'), await show('unused')];
    expect([today, new Date().toISOString().slice(0, 10)]).toContain(used.json()['last_used']);
    expect([unused.json()['last_used'], used.headers.etag, tag === later]).toEqual([undefined, later, false]);
    expect((await put('portal', 'used', used.json(), { 'if-match': later })).status).toBe(200);
    const listed = (...args: readonly string[]) =>
      program('list', '--json', ...args).then(({ stdout }) => JSON.parse(stdout));
    expect(await listed('--prefix', 'used')).toMatchObject([
      { client_id: 'used', last_used: used.json()['last_used'] },
    ]);
    expect(JSON.parse((await program('show', 'used', '--json')).stdout)).toMatchObject({
      last_used: used.json()['last_used'],
    });
    expect(await listed('--unused-for', '30d')).toEqual([]);
    const age = (id: string) =>
      storage.runOnUses(`update last_used set last_day = last_day - 40 where client_id = '${id}'`);
    await age('used');
    expect(await listed('--unused-for', '30d')).toMatchObject([{ client_id: 'used' }]);
    await age('');
    const ids = ((await listed('--unused-for', '30d')) as { client_id: string }[]).map(({ client_id }) => client_id);
    expect(ids).toEqual(expect.arrayContaining(['unused', 'used']));
    // A client that is registered with its id again has not been used.
    await as('portal', 'DELETE', '/clients/used', undefined, ANY);
    await put('portal', 'used', CLIENT);
    expect((await show('used')).json()['last_used']).toBeUndefined();
  });

  it('changes nothing that cannot be recorded, and goes on without a restart', async () => {
    const port = String(await freePort());
    const auditLog = new InMemoryAuditLog('required');
    await using other = await startServiceUnderTest({
      environment: { ...environment(), MANAGEMENT_PORT: port },
      override: (core) => core.registerInstance(PARTS.auditLog, auditLog),
    });
    const authorization = `Bearer ${await getAccessToken(other.url, 'portal', SECRET, { resource: ISSUER })}`;
    const change = (method: string, path: string, headers: Record<string, string>, body?: object) =>
      send(`http://127.0.0.1:${port}`, `/clients/recorded${path}`, {
        method,
        headers: { authorization, 'content-type': 'application/json', ...headers },
        ...(body && { body: JSON.stringify(body) }),
      }).then(({ status }) => status);
    const changes = [
      () => change('PUT', '', CREATE, CLIENT),
      () => change('PUT', '', ANY, { ...CLIENT, client_name: 'Other' }),
      () => change('POST', '/disable', {}),
      () => change('DELETE', '', ANY),
    ];
    for (const make of changes) {
      const before = await show('recorded');
      auditLog.full = true;
      expect(await make()).toBe(503);
      expect((await show('recorded')).text).toBe(before.text);
      auditLog.full = false;
      expect(await make()).toBeLessThan(300);
    }
  });

  it('is on the public port too where that has the paths of the other one, for the same tokens', async () => {
    const onePort = { ...environment(), HEALTH_ON_PUBLIC_PORT: 'true', MANAGEMENT_TOKEN: 'a'.repeat(32) };
    await using other = await startServiceUnderTest({ environment: onePort, addedPaths: ['/clients'] });
    const get = (token: string) => send(other.url, '/clients', { headers: { authorization: `Bearer ${token}` } });
    const ofReader = await getAccessToken(other.url, 'reader', SECRET, { resource: ISSUER });
    const ofApi = await getAccessToken(other.url, 'reader', SECRET);
    const statuses = [ofReader, ofApi, 'a'.repeat(32)].map(async (token) => (await get(token)).status);
    expect(await Promise.all(statuses)).toEqual([200, 401, 401]);
    // A stranger does not learn from the time of a refusal that the path exists.
    const access = other.built.routes.find(({ path }) => path === '/clients')?.access;
    expect(access).toMatchObject({ kind: 'bearer', refusalDelayMs: 0 });
    // Each request counts once in the limit of this port, also one whose upload is cut.
    const load = other.container.resolve(PARTS.loadLimit);
    const writer = await getAccessToken(other.url, 'portal', SECRET, { resource: ISSUER });
    const socket = connect(other.port, '127.0.0.1');
    await once(socket, 'connect');
    socket.write(
      `PUT /clients/cut HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${writer}\r\nIf-None-Match: *\r\n` +
        'Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"client_name"',
    );
    await until(async () => other.built.publicServer.load.connections > 0, 'the request has arrived');
    socket.destroy();
    await until(async () => other.logLines().some(({ reason }) => reason === 'client_disconnected'), 'it is logged');
    expect(load.inFlight).toBe(0);
  });

  it('logs its requests, and those of probes not', async () => {
    const response = await show('portal');
    await send(url, '/livez');
    const lines = service.logLines().filter(({ route }) => String(route).startsWith('/clients'));
    expect(lines.at(-1)).toMatchObject({
      request_id: response.headers['x-request-id'],
      route: '/clients/:id',
      client_id: 'reader',
      status: 200,
    });
    expect(service.logText()).not.toContain('/livez');
  });
});

describe('ADMIN_API', () => {
  const problems = (more: object) =>
    problemsIn(readSettings({ CLIENT_REPOSITORY: 'sqlite', DATABASE_FILE: 'c.db', ...ON, ...more }));

  it.each([
    [
      { CLIENT_REPOSITORY: 'memory', CLIENTS_FILE: 'c.json', KEY_DIRECTORY: 'memory', KEY_SECRET_FILE: '' },
      'ADMIN_API: needs a database',
    ],
    [{ TOKEN_PROFILE: 'default' }, 'ADMIN_API: needs tokens with scopes'],
    [{ MANAGEMENT_PORT: '0' }, 'ADMIN_API: needs a management port'],
    [
      { TOKEN_AUDIENCE: 'http://localhost:8080', BASE_URL: 'http://localhost:8080' },
      'TOKEN_AUDIENCE: must not be TOKEN_ISSUER',
    ],
    [{ TOKEN_ISSUER: 'my issuer' }, 'TOKEN_ISSUER: must be a URI'],
  ])('is refused with %j', (more, problem) => {
    expect(problems(more).join('\n')).toContain(problem);
  });

  it.each([
    ['0.0.0.0', 1],
    ['127.0.0.1', 0],
    ['localhost', 0],
  ])('warns where other machines reach its port without TLS: %s', (MANAGEMENT_HOST, count) => {
    const environment = { CLIENT_REPOSITORY: 'sqlite', DATABASE_FILE: 'c.db', ...ON, MANAGEMENT_HOST };
    const warnings = settingWarnings(environment).filter(({ code }) => code === 'ADMIN_API');
    expect(warnings.map(({ fix }) => fix)).toEqual(
      Array(count).fill('put a proxy with TLS in front, and let only it reach MANAGEMENT_PORT'),
    );
  });

  it('is accepted otherwise', () => {
    expect(problems({})).toEqual([]);
  });

  it('does not start with a role that may not change clients', async () => {
    const database = await createTestDatabase();
    try {
      const { name, url } = await database.createRole();
      await runInProcess(migrateTables, ['--grant-to', name], { DATABASE_URL: database.url });
      const environment = { ...ON, CLIENT_REPOSITORY: 'postgres', DATABASE_URL: url, ...PATIENT };
      await expect(
        startServiceUnderTest({ environment: { ...environment, MANAGEMENT_PORT: String(await freePort()) } }),
      ).rejects.toThrow('ADMIN_API: the role of DATABASE_URL may not change clients');
    } finally {
      await database.drop();
    }
  });
});
