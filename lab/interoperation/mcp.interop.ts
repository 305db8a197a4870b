import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { GOOD_CLIENT } from '../../tests/support/running-service.ts';
import {
  type Command,
  type InstalledProject,
  installProject,
  type Project,
  type Run,
  run,
} from './installed-project.ts';
import {
  type Change,
  freePlaces,
  MCP_PAGE,
  type McpPlaces,
  mcpSnippet,
  mcpSnippets,
  startMcpServer,
  startServiceForMcp,
} from './mcp-page.ts';
import { MCP_GO, MCP_NODE, MCP_PYTHON } from './projects.ts';

/** A client of the page, and how it is run. */
interface McpClient {
  readonly project: Project;
  readonly file: string;
  readonly command: Command;
  /** Settings of the service that the page names for this client. */
  readonly environment: (places: McpPlaces) => Readonly<Record<string, string>>;
  /** Part of its error if the service has no `METADATA_COMPATIBILITY`. */
  readonly error: string;
  /** What makes a program of a snippet that only connects, or one for another version. */
  readonly changes?: readonly Change[];
}

const IMPORT =
  "import { Client, ClientCredentialsProvider, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';";
const IMPORT_OF_VERSION_1 = `
  import { Client } from '@modelcontextprotocol/sdk/client/index.js';
  import { ClientCredentialsProvider } from '@modelcontextprotocol/sdk/client/auth-extensions.js';
  import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
`;
const CALL = `
  console.log((await client.callTool({ name: 'whoami', arguments: {} })).content[0].text);
  await client.close();
`;

const CLIENTS: readonly McpClient[] = [
  {
    project: MCP_NODE,
    file: 'mcp-client.js',
    command: ['node', 'mcp-client.js'],
    environment: () => ({}),
    error: 'Invalid input: expected string, received undefined',
    changes: [
      [IMPORT, IMPORT_OF_VERSION_1],
      ['{ authProvider }));', `{ authProvider }));${CALL}`],
    ],
  },
  {
    project: MCP_PYTHON,
    file: 'mcp_client.py',
    command: ['venv/bin/python', 'mcp_client.py'],
    environment: () => ({}),
    error: 'No authorization server metadata discovered',
  },
  {
    project: MCP_GO,
    file: 'mcp-client/main.go',
    command: ['go', 'run', './mcp-client'],
    environment: ({ resource }) => ({ TOKEN_AUDIENCE: resource }),
    error: 'does not implement PKCE',
  },
];

/** Writes the code of a client into its project, and runs it. */
async function runClient(
  { folder }: InstalledProject,
  { file, command, changes }: McpClient,
  places: McpPlaces,
): Promise<Run> {
  await mkdir(dirname(join(folder, file)), { recursive: true });
  await writeFile(join(folder, file), mcpSnippet(file, places, changes));
  return run(command, folder);
}

it('runs all snippets with a file name, except for those of npm test', () => {
  const others = mcpSnippets().filter((file) => !file.endsWith('.js'));
  expect(CLIENTS.map(({ file }) => file).filter((file) => !file.endsWith('.js'))).toEqual(others);
});

for (const client of CLIENTS) {
  describe(client.project.name, () => {
    let installed: InstalledProject | undefined;
    beforeAll(async () => {
      installed = await installProject(client.project);
    });
    afterAll(async () => {
      await installed?.[Symbol.asyncDispose]();
    });

    it('calls a tool of the MCP server, with the id and secret that it has at the service', async () => {
      if (installed === undefined) return;
      const places = await freePlaces();
      await using _service = await startServiceForMcp(places, client.environment(places));
      await using _server = await startMcpServer(places);
      expect((await runClient(installed, client, places)).output).toContain(GOOD_CLIENT.client_id);
    });

    it('finds an issuer that the MCP server publishes with a slash behind it', async () => {
      if (installed === undefined) return;
      const places = await freePlaces();
      const withSlash = { ...places, issuer: `${places.issuer}/` };
      const audience = client.environment(places)['TOKEN_AUDIENCE'] ?? places.issuer;
      await using _service = await startServiceForMcp(places, {
        TOKEN_ISSUER: withSlash.issuer,
        TOKEN_AUDIENCE: audience,
      });
      // The key set stays where it is.
      await using _server = await startMcpServer(withSlash, [['/oauth2/jwks', 'oauth2/jwks']]);
      const { output } = await runClient(installed, client, withSlash);
      expect(output).toContain(GOOD_CLIENT.client_id);
    });

    it('shows the error that the page names if the metadata is not made for it', async () => {
      if (installed === undefined) return;
      expect(MCP_PAGE).toContain(client.error);
      const places = await freePlaces();
      await using _service = await startServiceForMcp(places, { METADATA_COMPATIBILITY: '' });
      await using _server = await startMcpServer(places);
      expect((await runClient(installed, client, places)).output).toContain(client.error);
    });
  });
}
