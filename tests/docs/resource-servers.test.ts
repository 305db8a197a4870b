import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener, type Server } from 'node:http';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Rs256TokenSigner } from '../../adapters/jwt/rs256-token-signer.ts';
import { PARTS } from '../../config/parts.ts';
import { freshKeyRing } from '../support/fresh-key-ring.ts';
import { getAccessToken, type HttpAnswer, send } from '../support/http.ts';
import { KeySetServer } from '../support/key-set-server.ts';
import { type LoopbackServer, listenOnLoopback } from '../support/loopback-server.ts';
import { snippetsOf } from '../support/page-snippets.ts';
import { GOOD_CLIENT, GOOD_SECRET, type ServiceUnderTest, startServiceUnderTest } from '../support/running-service.ts';

const PAGE = readFileSync(fileURLToPath(new URL('../../docs/resource-servers.md', import.meta.url)), 'utf8');
const ISSUER = 'https://auth.example.com';
const AUDIENCE = 'https://api.example.com';
const CLIENT_ID = GOOD_CLIENT.client_id;

/** The JavaScript files to which the page links, by their names. */
const SNIPPETS = new Map([...snippetsOf(PAGE)].filter(([name]) => name.endsWith('.js')));

/** Writes the snippets to files, with another key set URL. */
async function unpack(keySetUrl: string): Promise<{ folder: string } & AsyncDisposable> {
  // In this folder, the snippets find the packages of the project.
  const folder = fileURLToPath(new URL(`snippets-${randomUUID()}/`, import.meta.url));
  await mkdir(folder);
  for (const [name, text] of SNIPPETS) {
    await writeFile(folder + name, text.replace(`${ISSUER}/oauth2/jwks`, keySetUrl));
  }
  return { folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
}

/** Whether a snippet exists and leaves nothing out. */
const isComplete = (name: string) => !(SNIPPETS.get(name) ?? '...').includes('...');

/** Makes a server of each snippet. */
const SERVERS: Readonly<Record<string, (exported: Record<string, unknown>) => Server>> = {
  'node-server.js': ({ server }) => server as Server,
  'express-server.js': ({ app }) => createServer(app as RequestListener),
  'koa-server.js': ({ app }) => createServer((app as { callback(): RequestListener }).callback()),
};

describe('docs/resource-servers.md', () => {
  it('links to the files that this test runs, and to no others in that language', () => {
    expect([...SNIPPETS.keys()].sort()).toEqual(['access-token.js', ...Object.keys(SERVERS)].sort());
    expect(PAGE).not.toMatch(/^```js$/m);
    expect([...SNIPPETS.keys()].filter((name) => !isComplete(name))).toEqual([]);
  });

  it('links to complete files in other languages, which npm run test:interop runs, and says which parts have not run', () => {
    const files = [...snippetsOf(PAGE)].filter(([name]) => /\.(?:java|go|py|rs)$/.test(name));
    expect(files).toHaveLength(6);
    for (const [, code] of files) expect(code).toContain('https://api.example.com');
    expect(PAGE).toMatch(/Apache[^\n]*\(tried by hand\)/);
    expect(PAGE).toMatch(/Istio[^\n]*\(has not run here\)/);
  });

  describe.each(Object.keys(SERVERS))('%s', (name) => {
    let service: ServiceUnderTest;
    let signer: Rs256TokenSigner;
    let unpacked: Awaited<ReturnType<typeof unpack>>;
    let server: LoopbackServer;
    const ask = (authorization?: string): Promise<HttpAnswer> =>
      send(server.url, '/things', { headers: authorization === undefined ? {} : { authorization } });

    async function listen(folder: string): Promise<void> {
      server = await listenOnLoopback(SERVERS[name]?.(await import(folder + name)) ?? createServer());
    }

    beforeAll(async () => {
      service = await startServiceUnderTest({
        environment: {
          BASE_URL: ISSUER,
          TOKEN_PROFILE: 'rfc9068',
          TOKEN_AUDIENCE: AUDIENCE,
          PUBLIC_METADATA: 'true',
        },
      });
      signer = new Rs256TokenSigner(service.container.resolve(PARTS.keyProvider), 'at+jwt');
      unpacked = await unpack(`${service.url}/oauth2/jwks`);
      await listen(unpacked.folder);
    });
    afterAll(async () => {
      await server[Symbol.asyncDispose]();
      await unpacked[Symbol.asyncDispose]();
      await service.stop();
    });

    const claims = (issuedAt = Math.floor(Date.now() / 1000)) => ({
      iss: ISSUER,
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
      const answer = await ask(`Bearer ${await getAccessToken(service.url, CLIENT_ID, GOOD_SECRET)}`);
      expect([answer.status, answer.json()]).toEqual([200, { caller: CLIENT_ID }]);
    });

    it.each([undefined, 'Basic Zm9vOmJhcg==', 'Bearer', 'Bearer a b'])(
      'requires a token: %s',
      async (authorization) => {
        const answer = await ask(authorization);
        expect([answer.status, answer.headers['www-authenticate']]).toEqual([401, 'Bearer']);
      },
    );

    it('refuses a token with insufficient scopes', async () => {
      const answer = await ask(
        `Bearer ${await getAccessToken(service.url, CLIENT_ID, GOOD_SECRET, { scope: 'write' })}`,
      );
      expect(answer.status).toBe(403);
      expect(answer.headers['www-authenticate']).toBe('Bearer error="insufficient_scope", scope="read"');
    });

    it.each<[string, () => Promise<string>]>([
      ['that has expired', () => signer.sign(claims(1_700_000_000))],
      ['of another issuer', () => signer.sign({ ...claims(), iss: `${ISSUER}/` })],
      ['for another audience', () => signer.sign({ ...claims(), aud: CLIENT_ID })],
      ['of an unknown key', async () => new Rs256TokenSigner(await freshKeyRing(), 'at+jwt').sign(claims())],
      ['without a type', () => new Rs256TokenSigner(service.container.resolve(PARTS.keyProvider)).sign(claims())],
      ['that is malformed', async () => 'no-token'],
    ])('refuses a token %s', async (_case, make) => {
      const answer = await ask(`Bearer ${await make()}`);
      expect([answer.status, answer.headers['www-authenticate']]).toEqual([401, 'Bearer error="invalid_token"']);
    });

    it('answers 503 when it cannot get the keys', async () => {
      await using issuer = await KeySetServer.start({ kind: 'text', text: '', status: 500 });
      await using elsewhere = await unpack(issuer.url);
      const other = server;
      await listen(elsewhere.folder);
      try {
        const token = await getAccessToken(service.url, CLIENT_ID, GOOD_SECRET);
        const answers = [await ask(`Bearer ${token}`)];
        await issuer.leave();
        answers.push(await ask(`Bearer ${token}`));
        expect(answers.map(({ status, headers }) => [status, headers['retry-after']])).toEqual([
          [503, '1'],
          [503, '1'],
        ]);
      } finally {
        await server[Symbol.asyncDispose]();
        server = other;
      }
    });
  });
});
