import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freePort } from '../../tests/support/free-port.ts';
import { send } from '../../tests/support/http.ts';
import { readPage, snippetsOf, writeFiles } from '../../tests/support/page-snippets.ts';
import { runCommand } from '../../tests/support/program.ts';
import { GOOD_CLIENT, GOOD_SECRET, type ServiceUnderTest } from '../../tests/support/running-service.ts';
import { type ClientSnippet, codeFor, exampleEnvironment, STANDARD, startServiceForClients } from './client-snippet.ts';
import { type Run, run } from './installed-project.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const PAGE = readPage('docs/getting-a-token.md');
const SNIPPETS = snippetsOf(PAGE);
const DESCRIPTION =
  'send client_id and client_secret in the body, without an Authorization header, or have the operator add client_secret_basic to CLIENT_AUTHENTICATION_METHODS';

/** The clients for Node.js that are packages of this project. */
const CLIENTS: readonly ClientSnippet[] = [
  {
    file: 'openid-client.js',
    setting: ["algorithm: 'oauth2', ", ''],
    error: 'unexpected HTTP response status code',
  },
  {
    file: 'oauth4webapi.js',
    setting: ['ClientSecretPost(', 'ClientSecretBasic('],
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
    error: DESCRIPTION,
  },
  { file: 'axios-oauth-client.js' },
];

/** Runs a snippet as it is printed, from a file in this folder, where it finds the packages of the project. */
async function runSnippet(code: string, url: string): Promise<Run> {
  const folder = fileURLToPath(new URL(`snippets-${randomUUID()}/`, import.meta.url));
  await using _written = await writeFiles(folder, new Map([['client.js', code]]));
  return await run([process.execPath, 'client.js'], folder, exampleEnvironment(url));
}

describe('docs/getting-a-token.md', () => {
  let service: ServiceUnderTest;
  let standard: ServiceUnderTest;
  beforeAll(async () => {
    service = await startServiceForClients();
    standard = await startServiceForClients(STANDARD);
  });
  afterAll(() => Promise.all([service, standard].map((started) => started.stop())));

  it('shows the response of a service to HTTP Basic that is not switched on', async () => {
    const shown = JSON.parse(/^```json\n(.*?)^```$/ms.exec(PAGE)?.[1] ?? '');
    const credentials = Buffer.from(`${GOOD_CLIENT.client_id}:${GOOD_SECRET}`).toString('base64');
    const response = await send(service.url, '/oauth2/token', {
      method: 'POST',
      headers: { authorization: `Basic ${credentials}`, 'content-type': 'application/x-www-form-urlencoded' },
      body: 'grant_type=client_credentials',
    });
    expect([response.status, response.json()]).toEqual([401, shown]);
  });

  it('gives issuer, client and secret of the demo in one line, with which a file runs as it is printed', async () => {
    const [port, managementPort] = [await freePort(), await freePort()];
    const lines = [...PAGE.matchAll(/^```sh\n((?:SERVICE_PROFILE|export) ?=?.*)\n```$/gm)].map(([, line = '']) => line);
    const [demo = '', environment = ''] = lines.map((line) => line.replaceAll(':8080', `:${port}`));
    expect(demo).toContain(' npm run demo');
    const ports = `PORT=${port} MANAGEMENT_PORT=${managementPort} `;
    const command = ports + demo.replace('npm run demo', `exec ${process.execPath} config/demo.ts`);
    await using program = runCommand(['bash', '-c', command], ROOT, {});
    await program.printed(/Stop it with Ctrl-C/);
    const folder = fileURLToPath(new URL(`snippets-${randomUUID()}/`, import.meta.url));
    await using _written = await writeFiles(folder, new Map([['client.js', SNIPPETS.get('openid-client.js') ?? '']]));
    const { output } = await run(['bash', '-c', `${environment}; ${process.execPath} client.js`], folder);
    expect(output).toContain('New York City');
  });

  it('shows a curl line that works when it is pasted', async () => {
    const [, line = ''] = /^```sh\n(curl .*?)^```$/ms.exec(PAGE) ?? [];
    const env = { ...process.env, ...exampleEnvironment(service.url) };
    const { stdout } = await promisify(execFile)('bash', ['-c', line], { env });
    expect(JSON.parse(stdout)).toMatchObject({ token_type: 'Bearer', expires_in: 300 });
  });

  it('shows Node.js snippets that this test or npm run test:interop runs', () => {
    const shown = [...SNIPPETS.keys()].filter((name) => name.endsWith('.js'));
    expect(shown.toSorted()).toEqual([...CLIENTS.map(({ file }) => file), 'client-oauth2.js'].toSorted());
    // The package of this one is no dependency of the project, so it is no file of examples/snippets.
    expect(PAGE.match(/^```js\n.*$/gm)).toEqual(['```js\n// client-oauth2.js']);
  });

  it.each(CLIENTS)('$file: gets a token that opens a resource', async (client) => {
    const { output } = await runSnippet(codeFor(SNIPPETS, client, service.url), service.url);
    expect(output).toContain('New York City');
  });

  it.each(CLIENTS)('$file: needs no setting with SERVICE_PROFILE=standard', async (client) => {
    const { output } = await runSnippet(codeFor(SNIPPETS, client, standard.url, 'without its setting'), standard.url);
    expect(output).toContain('New York City');
  });

  it.each(CLIENTS.filter(({ error }) => error !== undefined))(
    '$file: without its setting, shows the error that the page names',
    async (client) => {
      const { error = '' } = client;
      expect(PAGE).toContain(error);
      const code = codeFor(SNIPPETS, client, service.url, 'without its setting');
      expect((await runSnippet(code, service.url)).output).toContain(error);
    },
  );
});
