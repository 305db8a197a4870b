import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { inspect, promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { send } from '../../tests/support/http.ts';
import { readPage, snippetsOf, writeFiles } from '../../tests/support/page-snippets.ts';
import { GOOD_CLIENT, GOOD_SECRET, type ServiceUnderTest } from '../../tests/support/running-service.ts';
import { type ClientSnippet, codeFor, startServiceForClients } from './client-snippet.ts';

const PAGE = readPage('docs/getting-a-token.md');
const SNIPPETS = snippetsOf(PAGE);
const DESCRIPTION =
  'send client_id and client_secret in the body, without an Authorization header, or have the operator add client_secret_basic to CLIENT_AUTHENTICATION_METHODS';

/** The clients for Node.js that are packages of this project. */
const CLIENTS: readonly ClientSnippet[] = [
  {
    file: 'openid-client.js',
    setting: ["{ algorithm: 'oauth2' }", "{ algorithm: 'oidc' }"],
    error: 'unexpected HTTP response status code',
  },
  {
    file: 'oauth4webapi.js',
    setting: ["ClientSecretPost('my-secret')", "library.ClientSecretBasic('my-secret')"],
    error: 'server responded with a challenge in the WWW-Authenticate HTTP Header',
  },
  {
    file: 'simple-oauth2.js',
    setting: ["  options: { authorizationMethod: 'body' },\n", ''],
    error: 'Response Error: 401 Unauthorized',
  },
  {
    file: 'badgateway-oauth2-client.js',
    setting: ["  authenticationMethod: 'client_secret_post',\n", ''],
    error: `OAuth2 error invalid_client. ${DESCRIPTION}`,
  },
  { file: 'axios-oauth-client.js' },
];

/** openid-client and oauth4webapi refuse a service without TLS unless they are told otherwise. */
function overHttp(code: string): string {
  const library = code.includes("'openid-client'") ? 'openid-client' : 'oauth4webapi';
  return `import * as library from '${library}';\n${code}`
    .replace(/\{ algorithm: '(\w+)' \}/, "{ algorithm: '$1', execute: [library.allowInsecureRequests] }")
    .replace('const options = {};', 'const options = { [library.allowInsecureRequests]: true };');
}

/** Imports a snippet from a file in this folder, where it finds the packages of the project, and gets a token with it. */
async function getToken(code: string): Promise<string> {
  const folder = fileURLToPath(new URL(`snippets-${randomUUID()}/`, import.meta.url));
  await using _written = await writeFiles(folder, new Map([['client.js', overHttp(code)]]));
  const { accessToken } = await import(`${folder}client.js`);
  return await accessToken();
}

describe('docs/getting-a-token.md', () => {
  let service: ServiceUnderTest;
  let withBasic: ServiceUnderTest;
  beforeAll(async () => {
    service = await startServiceForClients();
    withBasic = await startServiceForClients({
      CLIENT_AUTHENTICATION_METHODS: 'client_secret_post,client_secret_basic',
    });
  });
  afterAll(() => Promise.all([service, withBasic].map((started) => started.stop())));

  it('shows the answer of a service to HTTP Basic that is not switched on', async () => {
    const shown = JSON.parse(/^```json\n(.*?)^```$/ms.exec(PAGE)?.[1] ?? '');
    const credentials = Buffer.from(`${GOOD_CLIENT.client_id}:${GOOD_SECRET}`).toString('base64');
    const answer = await send(service.url, '/oauth2/token', {
      method: 'POST',
      headers: { authorization: `Basic ${credentials}`, 'content-type': 'application/x-www-form-urlencoded' },
      body: 'grant_type=client_credentials',
    });
    expect([answer.status, answer.json()]).toEqual([401, shown]);
  });

  it('shows a curl line that works when it is pasted', async () => {
    const line = /^```sh\n(curl .*?)^```$/ms.exec(PAGE)?.[1] ?? '';
    const code = codeFor(new Map([['curl', line]]), { file: 'curl' }, service.url);
    const { stdout } = await promisify(execFile)('bash', ['-c', code]);
    expect(JSON.parse(stdout)).toMatchObject({ token_type: 'Bearer', expires_in: 300 });
  });

  it('shows Node.js snippets that this test or npm run test:interop runs', () => {
    const shown = [...SNIPPETS.keys()].filter((name) => name.endsWith('.js'));
    expect(shown.toSorted()).toEqual([...CLIENTS.map(({ file }) => file), 'client-oauth2.js'].toSorted());
    // The package of this one is no dependency of the project, so it is no file of examples/snippets.
    expect(PAGE.match(/^```js\n.*$/gm)).toEqual(['```js\n// client-oauth2.js']);
  });

  async function expectToken({ url }: ServiceUnderTest, token: string): Promise<void> {
    const headers = { authorization: `Bearer ${token}` };
    expect((await send(url, '/v1/locations/NYC_USA', { headers })).status).toBe(200);
  }

  it.each(CLIENTS)('$file: gets a token that opens a resource', async (client) => {
    await expectToken(service, await getToken(codeFor(SNIPPETS, client, service.url)));
  });

  it.each(CLIENTS.filter(({ file, setting }) => setting !== undefined && file !== 'openid-client.js'))(
    '$file: needs no setting if the service accepts HTTP Basic too',
    async (client) => {
      await expectToken(withBasic, await getToken(codeFor(SNIPPETS, client, withBasic.url, 'without its setting')));
    },
  );

  it.each(CLIENTS.filter(({ error }) => error !== undefined))(
    '$file: without its setting, shows the error that the page names',
    async (client) => {
      const { error = '' } = client;
      expect(PAGE).toContain(error);
      const failed = await getToken(codeFor(SNIPPETS, client, service.url, 'without its setting')).catch(
        (error: unknown) => error,
      );
      expect(inspect(failed, { depth: 5 })).toContain(error);
    },
  );
});
