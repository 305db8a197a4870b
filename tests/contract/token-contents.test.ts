import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { decodeJwt } from 'jose';
import { type FetchService, openFetchService } from '../../config/fetch.ts';
import { GOOD_CLIENT, GOOD_SECRET, type ServiceUnderTest, startServiceUnderTest } from '../support/running-service.ts';
import { REGISTERED, SCOPE_ROWS, type ScopeRow } from '../support/scopes-of-one-api.ts';
import type { Target } from './check.ts';
import { functionTarget, serverAt } from './targets.ts';

const BASE_URL = 'https://auth.example';
const TOKEN_SCOPE_CLAIM = 'true';
const CLAIMS = { tenant: 'acme', groups: ['a', 'b'], limits: { rate: 0.5, burst: null } };
const [WITH_CLAIMS, SHORT, LONG] = ['with-claims', 'short', 'long'];
const CLIENTS = [
  { ...GOOD_CLIENT, ...REGISTERED },
  { ...GOOD_CLIENT, client_id: WITH_CLAIMS, claims: CLAIMS },
  { ...GOOD_CLIENT, client_id: SHORT, token_lifetime_seconds: 60 },
  { ...GOOD_CLIENT, client_id: LONG, token_lifetime_seconds: 86_400 },
];

let folder: string;
let server: ServiceUnderTest;
let opened: FetchService;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'token-contents-'));
  const CLIENTS_FILE = join(folder, 'clients.json');
  await writeFile(CLIENTS_FILE, JSON.stringify(CLIENTS));
  server = await startServiceUnderTest({ environment: { BASE_URL, TOKEN_SCOPE_CLAIM }, clients: CLIENTS });
  const settings = { CLIENT_REPOSITORY: 'memory', CLIENTS_FILE, CLIENT_SECRET_COST: '4', BASE_URL, TOKEN_SCOPE_CLAIM };
  opened = await openFetchService(settings, () => {});
});
afterAll(async () => {
  await opened.close();
  await server.stop();
  await rm(folder, { recursive: true });
});

describe.each<[string, () => Target]>([
  ['over a socket', () => serverAt(new URL(server.url))],
  ['from the function', () => functionTarget(opened.fetch, BASE_URL)],
])('a token %s', (_where, target) => {
  async function ask({ scope, resources = [] }: Partial<ScopeRow>, clientId: string = GOOD_CLIENT.client_id) {
    const form = new URLSearchParams({ grant_type: 'client_credentials', client_id: clientId });
    form.append('client_secret', GOOD_SECRET);
    if (scope !== undefined) form.append('scope', scope);
    for (const resource of resources) form.append('resource', resource);
    const headers = [['content-type', 'application/x-www-form-urlencoded']] as const;
    const { text } = await target()({ method: 'POST', path: '/oauth2/token', headers, body: form.toString() });
    return JSON.parse(text);
  }

  it.each(SCOPE_ROWS)('has the scopes of one API: $scope for $resources', async (row) => {
    const body = await ask(row);
    expect(body.error).toBe(row.error);
    if (row.granted === undefined) return;
    const { aud, scope } = decodeJwt(body.access_token);
    const named = [...new Set(row.resources.map((resource) => resource.replace(/[/]$/, '')))];
    expect(aud).toEqual(named.length > 1 ? named : (named[0] ?? GOOD_CLIENT.client_id));
    expect(scope).toEqual(row.granted.split(' '));
  });

  it('has the claims of its client, and no other client has them', async () => {
    const [first, ...others] = [await ask({}, WITH_CLAIMS), await ask({}), await ask({}, SHORT)];
    const { tenant, groups, limits, sub } = decodeJwt(first.access_token);
    expect({ tenant, groups, limits, sub }).toEqual({ ...CLAIMS, sub: WITH_CLAIMS });
    for (const { access_token } of others) expect(decodeJwt(access_token)).not.toHaveProperty('tenant');
  });

  it.each([
    [SHORT, 60],
    [LONG, 300],
    [GOOD_CLIENT.client_id, 300],
  ])('of %s is valid for %i s', async (clientId, seconds) => {
    const { access_token, expires_in } = await ask({}, clientId);
    const { exp = 0, iat = 0 } = decodeJwt(access_token);
    expect([exp - iat, expires_in]).toEqual([seconds, seconds]);
  });
});
