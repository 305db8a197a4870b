import { freePort } from '../../support/free-port.ts';
import type { Candidate } from './candidate.ts';
import { ServerProcess } from './server-process.ts';

/** The project's own service, started as an operator starts it: by its environment alone, everything else as it ships. */
export async function startServiceCandidate(
  name: string,
  environment: Readonly<Record<string, string>>,
  opened: AsyncDisposableStack,
  flags: readonly string[] = [],
): Promise<Candidate> {
  const port = await freePort();
  const managementPort = await freePort();
  const baseUrl = `http://127.0.0.1:${port}`;
  const server = opened.use(
    new ServerProcess(
      'config/main.ts',
      {
        PORT: String(port),
        MANAGEMENT_PORT: String(managementPort),
        BASE_URL: baseUrl,
        // So that the harness can verify a token.
        PUBLIC_METADATA: 'true',
        ...environment,
      },
      flags,
    ),
  );
  await server.answers(`http://127.0.0.1:${managementPort}/readyz`);
  return {
    name,
    port,
    tokenUrl: `${baseUrl}/oauth2/token`,
    keySetUrl: `${baseUrl}/oauth2/jwks`,
    tree: server.tree,
  };
}
