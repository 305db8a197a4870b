import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { manageClients } from '../../config/programs/clients-program.ts';
import { migrateTables } from '../../config/programs/migrate-tables.ts';
import { DatabaseServer } from '../support/database-server.ts';
import { getAccessToken, type HttpResponse, requestToken, send } from '../support/http.ts';
import { runInProcess } from '../support/run-in-process.ts';
import { SEALED_KEYS } from '../support/sealed-keys.ts';
import { until } from '../support/until.ts';
import { ReplicaWithClocks } from './replica-with-clocks.ts';

const ISSUER = 'http://issuer.test';
const SECRET = 'a-secret-of-the-portal';
const WRITES = 60;

let server: DatabaseServer;
beforeAll(async () => {
  server = await DatabaseServer.create();
  const settings = { DATABASE_URL: url() };
  expect((await runInProcess(migrateTables, [], settings)).exitCode).toBe(0);
  const scope = 'clients:read clients:write';
  const add = ['add', 'portal', '--name', 'Portal', '--secret-stdin', '--scope', scope, '--resource', ISSUER];
  expect((await runInProcess(manageClients, add, settings, SECRET)).exitCode).toBe(0);
}, 120_000);
afterAll(() => server.stop());

const url = () => server.urlOf('postgres', 'postgres');

const start = () =>
  ReplicaWithClocks.start({
    ...SEALED_KEYS,
    CLIENT_REPOSITORY: 'postgres',
    DATABASE_URL: url(),
    DATABASE_DEADLINE_MS: '2000',
    ADMIN_API: 'true',
    TOKEN_PROFILE: 'common',
    TOKEN_AUDIENCE: 'https://api.example.com',
  });

function apiOf(replica: ReplicaWithClocks, token: string) {
  return (method: string, path: string, body?: object, headers: Record<string, string> = {}): Promise<HttpResponse> =>
    send(replica.managementUrl, `/clients${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
      ...(body && { body: JSON.stringify(body) }),
    });
}

describe('two replicas with the API, while their database is killed', () => {
  it('store each change whole or not at all, say with the ETag which, and go on without a restart', async () => {
    await using one = await start();
    await using two = await start();
    await Promise.all([one.untilReady(), two.untilReady()]);
    const token = await getAccessToken(one.url, 'portal', SECRET, { resource: ISSUER });
    const apis = [apiOf(one, token), apiOf(two, token)] as const;
    const document = (n: number) => ({ client_name: `Name ${n}`, scope: 'read', claims: { n } });
    expect((await apis[0]('PUT', '/x', document(0), { 'if-none-match': '*' })).status).toBe(201);

    const statuses: number[] = [];
    let acknowledged = 0;
    const writing = (async () => {
      for (let n = 1; n <= WRITES || statuses.filter((status) => status === 503).length < 3; n += 1) {
        const { status } = await apis[n % 2 === 0 ? 0 : 1]('PUT', '/x', document(n), { 'if-match': '*' });
        statuses.push(status);
        if (status === 200) acknowledged = n;
      }
    })();
    await until(async () => acknowledged > 10, 'there are changes');
    await server.kill();
    await until(async () => statuses.includes(503), 'a change found the database away');
    await server.start();
    await writing;
    await until(async () => (await apis[1]('GET', '/x')).status === 200, 'the database is back');
    expect(new Set(statuses)).toEqual(new Set([200, 503]));

    const [seen, other] = [await apis[0]('GET', '/x'), await apis[1]('GET', '/x')];
    const { client_name, claims } = seen.json() as { client_name: string; claims: { n: number } };
    expect(client_name).toBe(`Name ${claims.n}`);
    expect(claims.n).toBeGreaterThanOrEqual(acknowledged);
    expect([other.text, other.headers.etag]).toEqual([seen.text, seen.headers.etag]);
    const etag = String(seen.headers.etag);
    expect((await apis[1]('PUT', '/x', document(-1), { 'if-match': etag })).status).toBe(200);
    expect((await apis[0]('PUT', '/x', document(-2), { 'if-match': etag })).status).toBe(412);

    // What one replica has done, the other one knows at the next request.
    const added = (await apis[0]('POST', '/x/secrets')).json();
    const form = { grant_type: 'client_credentials', client_id: 'x', client_secret: String(added['client_secret']) };
    expect((await requestToken(two.url, form)).status).toBe(200);
    expect((await apis[1]('DELETE', `/x/secrets/${added['secret_id']}`)).status).toBe(204);
    expect((await requestToken(one.url, form)).status).toBe(401);
  }, 120_000);
});
