import { randomUUID } from 'node:crypto';
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TokenSigner } from '../../application/token-signer.ts';
import { PARTS } from '../../config/container.ts';
import { AUDIENCE, EXAMPLE_PROFILE, startExampleServer } from '../../tests/support/example-server.ts';
import { freshKeyRing } from '../../tests/support/fresh-key-ring.ts';
import { getAccessToken, type HttpResponse, send } from '../../tests/support/http.ts';
import { KeySetServer } from '../../tests/support/key-set-server.ts';
import { readPage, snippetsOf } from '../../tests/support/page-snippets.ts';
import { GOOD_CLIENT, GOOD_SECRET, type ServiceUnderTest } from '../../tests/support/running-service.ts';
import { startServiceForClients } from './client-snippet.ts';

/** Without the section of mcp.test.ts. */
const PAGE = readPage('docs/resource-servers.md').replace(/\n## MCP servers\n.*?(?=\n## )/s, '');
const CLIENT_ID = GOOD_CLIENT.client_id;

/** The JavaScript files to which the page links, by their names. */
const SNIPPETS = new Map([...snippetsOf(PAGE)].filter(([name]) => name.endsWith('.js')));

/** Whether a snippet exists and leaves nothing out. */
/** Three dots that spread nothing leave something out. */
const isComplete = (name: string) => !/\.\.\.(?![\w([{])/.test(SNIPPETS.get(name) ?? '...');

/** Those whose packages lab/ has too. */
const SERVERS = ['http-server.js', 'express-server.js', 'koa-server.js'];

/** A copy of examples/node/ with the packages of lab/. */
const folder = mkdtempSync(join(tmpdir(), 'servers-'));
beforeAll(() => {
  cpSync(new URL('../../examples/node/', import.meta.url), folder, { recursive: true });
  symlinkSync(new URL('../node_modules/', import.meta.url), join(folder, 'node_modules'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const startServer = (file: string, issuer: string) => startExampleServer([process.execPath, file], folder, issuer);

describe('docs/resource-servers.md', () => {
  it('links to the files that this test and that of the examples run, and to no others in that language', () => {
    // tests/e2e/first-steps.test.ts runs locations-server.js.
    const files = ['access-token.js', 'fastify-server.js', 'locations-server.js', ...SERVERS];
    expect([...SNIPPETS.keys()].sort()).toEqual(files.map((file) => `node/${file}`).sort());
    expect(PAGE).not.toMatch(/^```js$/m);
    expect([...SNIPPETS.keys()].filter((name) => !isComplete(name))).toEqual([]);
  });

  it('shows nginx with the port on which the verifier listens unless told otherwise', () => {
    const [, port = ''] = /PORT \?\? (\d+)/.exec(SNIPPETS.get('node/http-server.js') ?? '') ?? [];
    expect(PAGE).toContain(`location = /_token {\n    internal;\n    proxy_pass http://127.0.0.1:${port};\n`);
  });

  describe.each(SERVERS)('%s', (name) => {
    let service: ServiceUnderTest;
    let signer: TokenSigner;
    let server: Awaited<ReturnType<typeof startServer>>;
    const ask = (authorization?: string, { url } = server): Promise<HttpResponse> =>
      send(url, '/things', { headers: authorization === undefined ? {} : { authorization } });

    beforeAll(async () => {
      service = await startServiceForClients(EXAMPLE_PROFILE);
      signer = new TokenSigner(service.container.resolve(PARTS.keyProvider), 'at+jwt');
      server = await startServer(name, service.url);
    });
    afterAll(async () => {
      await server[Symbol.asyncDispose]();
      await service.stop();
    });

    const claims = (issuedAt = Math.floor(Date.now() / 1000)) => ({
      iss: service.url,
      sub: CLIENT_ID,
      aud: AUDIENCE,
      client_id: CLIENT_ID,
      scope: 'read write',
      iat: issuedAt,
      nbf: issuedAt,
      exp: issuedAt + 300,
      jti: randomUUID(),
    });

    it('accepts a valid token', async () => {
      const response = await ask(`Bearer ${await getAccessToken(service.url, CLIENT_ID, GOOD_SECRET)}`);
      expect([response.status, response.json()]).toEqual([200, { caller: CLIENT_ID }]);
    });

    it.each([undefined, 'Basic Zm9vOmJhcg==', 'Bearer', 'Bearer a b'])(
      'requires a token: %s',
      async (authorization) => {
        const response = await ask(authorization);
        expect([response.status, response.headers['www-authenticate']]).toEqual([401, 'Bearer']);
      },
    );

    it('refuses a token with insufficient scopes', async () => {
      const response = await ask(
        `Bearer ${await getAccessToken(service.url, CLIENT_ID, GOOD_SECRET, { scope: 'write' })}`,
      );
      expect(response.status).toBe(403);
      expect(response.headers['www-authenticate']).toBe('Bearer error="insufficient_scope", scope="read"');
    });

    it.each<[string, () => Promise<string>]>([
      ['that has expired', () => signer.sign(claims(1_700_000_000))],
      ['of another issuer', () => signer.sign({ ...claims(), iss: `${service.url}/` })],
      ['for another audience', () => signer.sign({ ...claims(), aud: CLIENT_ID })],
      ['of an unknown key', async () => new TokenSigner(await freshKeyRing(), 'at+jwt').sign(claims())],
      ['without a type', () => new TokenSigner(service.container.resolve(PARTS.keyProvider)).sign(claims())],
      ['that is malformed', async () => 'no-token'],
    ])('refuses a token %s', async (_case, make) => {
      const response = await ask(`Bearer ${await make()}`);
      expect([response.status, response.headers['www-authenticate']]).toEqual([401, 'Bearer error="invalid_token"']);
    });

    it('answers 503 when it cannot get the keys', async () => {
      await using issuer = await KeySetServer.start({ kind: 'text', text: '', status: 500 });
      await using other = await startServer(name, new URL(issuer.url).origin);
      const token = await getAccessToken(service.url, CLIENT_ID, GOOD_SECRET);
      const answers = [await ask(`Bearer ${token}`, other)];
      await issuer.leave();
      answers.push(await ask(`Bearer ${token}`, other));
      expect(answers.map(({ status, headers }) => [status, headers['retry-after']])).toEqual([
        [503, '1'],
        [503, '1'],
      ]);
    });
  });
});
