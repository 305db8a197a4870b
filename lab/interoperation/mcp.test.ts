import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Client } from '@modelcontextprotocol/client';
import { TokenSigner } from '../../application/token-signer.ts';
import { PARTS } from '../../config/container.ts';
import { freshKeyRing } from '../../tests/support/fresh-key-ring.ts';
import { getAccessToken, send } from '../../tests/support/http.ts';
import { GOOD_CLIENT, GOOD_SECRET, type ServiceUnderTest } from '../../tests/support/running-service.ts';
import {
  type Change,
  freePlaces,
  MCP_PAGE,
  type McpPlaces,
  mcpSnippets,
  runMcpSnippet,
  startMcpServer,
  startServiceForMcp,
} from './mcp-page.ts';

const CLIENT_ID = GOOD_CLIENT.client_id;

/** Whom the MCP server takes the client for. */
async function whoAmI(client: Client): Promise<unknown> {
  const { content } = await client.callTool({ name: 'whoami' });
  await client.close();
  return content;
}

const connectWithSecret = async (places: McpPlaces, changes?: readonly Change[]): Promise<Client> =>
  (await runMcpSnippet('mcp-client.js', places, changes)).client;

const CALLER = [{ type: 'text', text: CLIENT_ID }];

describe('MCP servers of docs/resource-servers.md', () => {
  let places: McpPlaces;
  let service: ServiceUnderTest;
  let mcpServer: AsyncDisposable;
  beforeAll(async () => {
    places = await freePlaces();
    service = await startServiceForMcp(places);
    mcpServer = await startMcpServer(places);
  });
  afterAll(async () => {
    await mcpServer[Symbol.asyncDispose]();
    await service.stop();
  });

  it('shows in JavaScript the files that this test runs, and no others', () => {
    const files = mcpSnippets().filter((file) => file.endsWith('.js'));
    expect(files.toSorted()).toEqual(['mcp-client-with-key.js', 'mcp-client.js', 'mcp-server.js']);
    expect(MCP_PAGE).not.toMatch(/^```js$/m);
  });

  it('a client of the TypeScript SDK calls a tool, with the id and secret that it has at the service', async () => {
    expect(await whoAmI(await connectWithSecret(places))).toEqual(CALLER);
    expect(service.logLines()).toContainEqual(
      expect.objectContaining({ event: 'token_issued', client_id: CLIENT_ID, scope: 'read write' }),
    );
  });

  it('a client of the TypeScript SDK gets only the scope that it asks for', async () => {
    await whoAmI(await connectWithSecret(places, [["clientId: '", "scope: 'read', clientId: '"]]));
    expect(service.logLines().findLast(({ event }) => event === 'token_issued')).toMatchObject({ scope: 'read' });
  });

  it.each(['client_secret_post', 'client_secret_basic'])(
    'a client connects if the service accepts %s',
    async (method) => {
      const elsewhere = { ...(await freePlaces()), resource: places.resource };
      await using other = await startServiceForMcp(elsewhere, { CLIENT_AUTHENTICATION_METHODS: method });
      const { auth, ClientCredentialsProvider } = await import('@modelcontextprotocol/client');
      const provider = new ClientCredentialsProvider({
        clientId: CLIENT_ID,
        clientSecret: GOOD_SECRET,
        expectedIssuer: other.url,
      });
      const fetchFn = metadataOf(elsewhere);
      expect(await auth(provider, { serverUrl: elsewhere.resource, fetchFn })).toBe('AUTHORIZED');
    },
  );

  it('a client of the TypeScript SDK calls a tool with a key instead of a secret', async () => {
    const elsewhere = await freePlaces();
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const registration = { client_secret: undefined, jwks: { keys: [publicKey.export({ format: 'jwk' })] } };
    const folder = await mkdtemp(join(tmpdir(), 'mcp-'));
    const keyFile = join(folder, 'key.pem');
    await writeFile(keyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }));
    await using _service = await startServiceForMcp(
      elsewhere,
      { CLIENT_AUTHENTICATION_METHODS: 'private_key_jwt' },
      registration,
    );
    await using _server = await startMcpServer(elsewhere);
    const { client } = await runMcpSnippet('mcp-client-with-key.js', elsewhere, [['/etc/my-agent/key.pem', keyFile]]);
    expect(await whoAmI(client)).toEqual(CALLER);
    await rm(folder, { recursive: true });
  });

  it('a client with a wrong secret is told invalid_client', async () => {
    // The SDK tries a second time, and warns of that.
    const warn = jest.spyOn(console, 'warn').mockImplementation(() => {});
    const connection = connectWithSecret(places, [[GOOD_SECRET, 'wrong-secret']]);
    await expect(connection).rejects.toMatchObject({ code: 'invalid_client' });
    warn.mockRestore();
  });

  it('a client that is not registered for the MCP server is told so', async () => {
    const stranger = { ...(await freePlaces()), issuer: places.issuer };
    await using _server = await startMcpServer(stranger);
    const message = 'the client is not registered for the resource';
    expect(MCP_PAGE).toContain(message);
    await expect(connectWithSecret(stranger)).rejects.toMatchObject({
      code: 'invalid_target',
      message: expect.stringContaining(message),
    });
  });

  it('without METADATA_COMPATIBILITY the SDK refuses the metadata', async () => {
    const elsewhere = await freePlaces();
    await using _service = await startServiceForMcp(elsewhere, { METADATA_COMPATIBILITY: '' });
    await using _server = await startMcpServer(elsewhere);
    const message = 'Invalid input: expected string, received undefined';
    expect(MCP_PAGE).toContain(message);
    await expect(connectWithSecret(elsewhere)).rejects.toMatchObject({
      issues: [{ path: ['authorization_endpoint'], message }],
    });
  });

  it('without PUBLIC_METADATA the service does not start', async () => {
    const start = startServiceForMcp(await freePlaces(), { PUBLIC_METADATA: 'false' });
    await expect(start).rejects.toThrow('PUBLIC_METADATA: must be true if METADATA_COMPATIBILITY has mcp');
  });

  describe('the MCP server', () => {
    const ask = (authorization?: string) =>
      send(places.resource, '/mcp', {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...(authorization !== undefined && { authorization }) },
        body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
      });
    const now = Math.floor(Date.now() / 1000);
    const claims = (more: object = {}) => ({
      iss: places.issuer,
      sub: CLIENT_ID,
      aud: places.resource,
      client_id: CLIENT_ID,
      scope: 'read',
      iat: now,
      nbf: now,
      exp: now + 300,
      jti: randomUUID(),
      ...more,
    });
    const sign = (type: 'at+jwt' | undefined, more: object) =>
      new TokenSigner(service.container.resolve(PARTS.keyProvider), type).sign(claims(more));

    it('says where its tokens come from', async () => {
      const metadata = await send(places.resource, '/.well-known/oauth-protected-resource/mcp');
      expect(metadata.json()).toMatchObject({ resource: places.resource, authorization_servers: [places.issuer] });
      const response = await ask();
      expect(response.status).toBe(401);
      expect(response.headers['www-authenticate']).toContain(
        `resource_metadata="${new URL(places.resource).origin}/.well-known/oauth-protected-resource/mcp"`,
      );
    });

    it.each<[string, () => Promise<string>]>([
      ['that was requested without a resource', () => getAccessToken(places.issuer, CLIENT_ID, GOOD_SECRET)],
      ['for another resource', () => sign('at+jwt', { aud: `${places.resource}/` })],
      ['of another issuer', () => sign('at+jwt', { iss: `${places.issuer}/` })],
      ['that has expired', () => sign('at+jwt', { iat: 1, nbf: 1, exp: 2 })],
      ['without a type', () => sign(undefined, {})],
      ['of an unknown key', async () => new TokenSigner(await freshKeyRing(), 'at+jwt').sign(claims())],
      ['that is malformed', async () => 'no-token'],
    ])('refuses a token %s', async (_case, make) => {
      const response = await ask(`Bearer ${await make()}`);
      expect([response.status, response.json()['error']]).toEqual([401, 'invalid_token']);
    });

    it('accepts a token for it and another resource', async () => {
      const response = await ask(`Bearer ${await sign('at+jwt', { aud: [places.resource, 'https://other.test'] })}`);
      expect(response.status).not.toBe(401);
    });
  });
});

/** Answers for an MCP server whose tokens come from that issuer; all other requests are real. */
function metadataOf({ issuer, resource }: McpPlaces): typeof fetch {
  return async (input, init) =>
    new URL(String(input)).origin === new URL(resource).origin
      ? Response.json({ resource, authorization_servers: [issuer] })
      : fetch(input, init);
}
