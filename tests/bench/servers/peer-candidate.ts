import { freePort } from '../../support/free-port.ts';
import type { Candidate } from './candidate.ts';
import { peerFile } from './peers.ts';
import { ServerProcess } from './server-process.ts';

/** Somebody else's server, set up for the same job by a program under tests/bench/peers, on all cores unless told otherwise. */
export async function startPeerCandidate(
  name: string,
  file: 'oidc-provider.mjs' | 'node-oauth2-server.mjs',
  clientsFile: string,
  opened: AsyncDisposableStack,
  more: Readonly<Record<string, string>> = {},
): Promise<Candidate> {
  const port = await freePort();
  const baseUrl = `http://127.0.0.1:${port}`;
  const environment = { PORT: String(port), BASE_URL: baseUrl, CLIENTS_FILE: clientsFile, ...more };
  const server = opened.use(new ServerProcess(peerFile(file), environment));
  const keySetUrl = `${baseUrl}/jwks`;
  await server.answers(keySetUrl);
  return { name, port, tokenUrl: `${baseUrl}/token`, keySetUrl, tree: server.tree };
}
