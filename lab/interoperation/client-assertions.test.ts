import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type ServiceUnderTest, startServiceUnderTest } from '../../tests/support/running-service.ts';

const run = promisify(execFile);

let folder: string;
let page: string;
beforeAll(async () => {
  page = await readFile('docs/client-assertions.md', 'utf8');
  // Inside the project, so that the snippets find its packages.
  folder = await mkdtemp(join('lab', 'interoperation', 'snippets-'));
});
afterAll(() => rm(folder, { recursive: true }));

/** The JavaScript of the page, in order. */
function snippets(): readonly string[] {
  return [...page.matchAll(/^```js\n(.*?)^```$/gms)].map(([, code = '']) => code);
}

async function runSnippet(name: string, code: string): Promise<string> {
  await writeFile(join(folder, name), code);
  return (await run(process.execPath, [name], { cwd: folder })).stdout;
}

it('the snippets of docs/client-assertions.md make a key and get a token with it', async () => {
  const [makeKey = '', getToken = '', ...others] = snippets();
  expect(others).toEqual([]);
  await runSnippet('make-key.mjs', makeKey);
  const jwk = JSON.parse(await readFile(join(folder, 'public.jwk'), 'utf8'));
  const [, entry = ''] = /^```json\n(.*?)^```$/ms.exec(page) ?? [];
  await using service: ServiceUnderTest = await startServiceUnderTest({
    environment: {
      CLIENT_AUTHENTICATION_METHODS: 'client_secret_post,private_key_jwt',
      TOKEN_ISSUER: 'https://auth.example',
    },
    clients: [{ ...JSON.parse(entry), jwks: { keys: [jwk] } }],
  });
  // The test has no TLS, which the library demands unless it is told otherwise.
  const adapted = getToken
    .replace('https://auth.example/oauth2/token', `${service.url}/oauth2/token`)
    .replace('const { access_token }', 'openid.allowInsecureRequests(config);\nconst { access_token }');
  expect(await runSnippet('get-token.mjs', `${adapted}console.log(access_token);`)).toMatch(/^eyJ[\w-]+\.[\w.-]+\n$/);
});
