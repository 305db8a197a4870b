import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import ts from 'typescript';
import { manageClients } from '../../config/programs/clients-program.ts';
import { freePort } from '../../tests/support/free-port.ts';
import { getAccessToken } from '../../tests/support/http.ts';
import { writeFiles } from '../../tests/support/page-snippets.ts';
import { runInProcess } from '../../tests/support/run-in-process.ts';
import { ISSUER, type ServiceUnderTest, startServiceUnderTest } from '../../tests/support/running-service.ts';
import { SEALED_KEYS } from '../../tests/support/sealed-keys.ts';
import { createSqliteFile, type SqliteFile } from '../../tests/support/sqlite-file.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const SECRET = 'a-secret-of-the-portal';

/** A portal, with the types of docs/admin-api.openapi.json. */
const PORTAL = `
import createClient from 'openapi-fetch';
import type { components, paths } from './admin-api.d.ts';

export type NewClient = components['schemas']['Client'];

export function portal(baseUrl: string, token: string) {
  const api = createClient<paths>({ baseUrl, headers: { authorization: \`Bearer \${token}\` } });
  const of = (id: string) => ({ path: { id } });
  return {
    async create(id: string, body: NewClient) {
      const { response, error } = await api.PUT('/clients/{id}', { params: { ...of(id), header: { 'If-None-Match': '*' } }, body });
      return { status: response.status, problems: error !== undefined && 'errors' in error ? error.errors : [] };
    },
    async rename(id: string, client_name: string) {
      const { data, response } = await api.GET('/clients/{id}', { params: of(id) });
      if (data === undefined) throw new Error(String(response.status));
      const header = { 'If-Match': response.headers.get('etag') ?? '' };
      const changed = await api.PUT('/clients/{id}', { params: { ...of(id), header }, body: { ...data, client_name } });
      return changed.data?.client_name;
    },
    async secret(id: string) {
      const { data } = await api.POST('/clients/{id}/secrets', { params: of(id), body: { name: 'n' } });
      return data?.client_secret;
    },
    async ids() {
      const { data } = await api.GET('/clients', { params: { query: { limit: 10 } } });
      return data?.clients.map(({ client_id }) => client_id);
    },
    async remove(id: string) {
      const { response } = await api.DELETE('/clients/{id}', { params: { ...of(id), header: { 'If-Match': '*' } } });
      return response.status;
    },
  };
}
`;
const WRONG = `${PORTAL}\nexport const wrong = portal('', '').create('x', { client_name: 1, scope: 'a' });\n`;

let file: SqliteFile;
let service: ServiceUnderTest;
let written: { folder: string } & AsyncDisposable;
let managementUrl: string;
const path = (name: string) => `${written.folder}/${name}`;

beforeAll(async () => {
  file = await createSqliteFile();
  const settings = { CLIENT_REPOSITORY: 'sqlite', DATABASE_FILE: file.path, CLIENTS_FILE: '', ...SEALED_KEYS };
  const scope = 'clients:read clients:write';
  const add = ['add', 'portal', '--name', 'Portal', '--secret-stdin', '--scope', scope, '--resource', ISSUER];
  await runInProcess(manageClients, add, settings, SECRET);
  const port = String(await freePort());
  managementUrl = `http://127.0.0.1:${port}`;
  const tokens = { TOKEN_PROFILE: 'common', TOKEN_AUDIENCE: 'https://api.example.com' };
  service = await startServiceUnderTest({
    environment: { ...settings, ...tokens, ADMIN_API: 'true', MANAGEMENT_PORT: port },
  });
  const folder = fileURLToPath(new URL(`portal-${randomUUID()}/`, import.meta.url));
  written = await writeFiles(folder, new Map(Object.entries({ 'portal.ts': PORTAL, 'wrong.ts': WRONG })));
  const line = `lab/node_modules/.bin/openapi-typescript docs/admin-api.openapi.json --output ${path('admin-api.d.ts')}`;
  await promisify(execFile)('bash', ['-c', line], { cwd: ROOT });
});
afterAll(async () => {
  await service.stop();
  await written[Symbol.asyncDispose]();
  await file.remove();
});

function errorsOf(name: string): readonly string[] {
  const { config } = ts.readConfigFile(`${ROOT}tsconfig.json`, ts.sys.readFile);
  const own = { ...config.compilerOptions, lib: ['es2025', 'dom', 'dom.iterable'], types: [] };
  const { options } = ts.convertCompilerOptionsFromJson(own, ROOT);
  const found = ts.getPreEmitDiagnostics(ts.createProgram([path(name)], options));
  return found.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
}

describe('a client with types of docs/admin-api.openapi.json', () => {
  it('compiles, unless it sends something else', () => {
    expect(errorsOf('portal.ts')).toEqual([]);
    expect(errorsOf('wrong.ts')).toEqual(["Type 'number' is not assignable to type 'string'."]);
  });

  it('manages clients', async () => {
    const { portal } = await import(path('portal.ts'));
    const token = await getAccessToken(service.url, 'portal', SECRET, { resource: ISSUER });
    const api = portal(managementUrl, token);
    expect(await api.create('billing', { client_name: 'Billing', scope: 'read' })).toEqual({
      status: 201,
      problems: [],
    });
    expect(await api.create('b', { client_name: 'B', scope: 'read', secrets: {} })).toMatchObject({
      status: 422,
      problems: [{ path: 'secrets', text: 'must be an array' }],
    });
    expect(await api.rename('billing', 'Billing 2')).toBe('Billing 2');
    expect(await getAccessToken(service.url, 'billing', await api.secret('billing'))).toMatch(/^eyJ/);
    expect([await api.ids(), await api.remove('billing'), await api.ids()]).toEqual([
      ['billing', 'portal'],
      204,
      ['portal'],
    ]);
  });
});
