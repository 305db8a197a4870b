import { randomUUID } from 'node:crypto';
import type { Server } from 'node:http';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../tests/support/free-port.ts';
import { readPage, snippetsOf, writeFiles } from '../../tests/support/page-snippets.ts';
import {
  GOOD_CLIENT,
  GOOD_SECRET,
  type ServiceUnderTest,
  startServiceUnderTest,
} from '../../tests/support/running-service.ts';

const [, AFTER = ''] = readPage('docs/resource-servers.md').split('\n## MCP servers\n');
export const [MCP_PAGE = ''] = AFTER.split('\n## ');
const SNIPPETS = snippetsOf(MCP_PAGE);
/** In this folder, the snippets find the packages of the project. */
const FOLDER = fileURLToPath(new URL('./', import.meta.url));

/** A text of the page, and what stands there instead. */
export type Change = readonly [shown: string, instead: string];

/** Where the processes of a test listen. */
export interface McpPlaces {
  readonly issuer: string;
  /** The URL of the MCP server. */
  readonly resource: string;
}

export async function freePlaces(): Promise<McpPlaces> {
  const [issuer, server] = [await freePort(), await freePort()];
  return { issuer: `http://127.0.0.1:${issuer}`, resource: `http://127.0.0.1:${server}/mcp` };
}

/** The service with the settings of the page's first step, and a client that is registered for the MCP server. */
export function startServiceForMcp(
  { issuer, resource }: McpPlaces,
  environment: Readonly<Record<string, string>> = {},
  registration: object = {},
): Promise<ServiceUnderTest> {
  const settings = Object.fromEntries(
    [...MCP_PAGE.matchAll(/^\| `([A-Z_]+)` \| `([^`]+)` \|/gm)].map(([, name = '', value = '']) => [name, value]),
  );
  return startServiceUnderTest({
    clients: [{ ...GOOD_CLIENT, resources: [resource], ...registration }],
    environment: { ...settings, TOKEN_AUDIENCE: issuer, PORT: new URL(issuer).port, BASE_URL: issuer, ...environment },
  });
}

/** A file of the page, for these places. */
export function mcpSnippet(file: string, { issuer, resource }: McpPlaces, changes: readonly Change[] = []): string {
  const code = SNIPPETS.get(file);
  if (code === undefined) throw new Error(`the page has no snippet ${file}`);
  const own: readonly Change[] = [
    ['https://auth.example.com', issuer],
    ['https://mcp.example.com/mcp', resource],
    ['my-client', GOOD_CLIENT.client_id],
    ['my-secret', GOOD_SECRET],
    ...changes,
  ];
  return own.reduce((text, [shown, instead]) => text.replaceAll(shown, instead), code);
}

/** The names of the page's files. */
export function mcpSnippets(): readonly string[] {
  return [...SNIPPETS.keys()];
}

/** Runs a JavaScript file of the page, and returns what it exports. */
export async function runMcpSnippet(file: string, places: McpPlaces, changes?: readonly Change[]) {
  const files = new Map([[file, mcpSnippet(file, places, changes)]]);
  await using written = await writeFiles(`${FOLDER}snippets-${randomUUID()}/`, files);
  return await import(`${written.folder}${file}`);
}

/** The MCP server of the page. */
export async function startMcpServer(places: McpPlaces, changes?: readonly Change[]): Promise<AsyncDisposable> {
  const { server }: { server: Server } = await runMcpSnippet('mcp-server.js', places, changes);
  await new Promise<void>((resolve) => server.listen(Number(new URL(places.resource).port), '127.0.0.1', resolve));
  return {
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
