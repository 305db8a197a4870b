import type { Backend } from './balancer.ts';
import { freePort } from './free-port.ts';
import { type Program, runProgram } from './program.ts';

/** A token request of the client in config/demo. */
export const DEMO_TOKEN_REQUEST = {
  grant_type: 'client_credentials',
  client_id: 'demo-client',
  client_secret: 'demo-secret',
};

/** Free ports for a replica. */
export async function freeBackend(): Promise<Backend> {
  return { port: await freePort(), managementPort: await freePort() };
}

/** The service in a separate process, with the demo's clients in memory and a short grace time. */
export function startReplica(
  { port, managementPort }: Backend,
  more: Readonly<Record<string, string>> = {},
  nodeArgs: readonly string[] = [],
): Program {
  const environment = {
    CLIENT_REPOSITORY: 'memory',
    CLIENTS_FILE: 'config/demo/clients.json',
    PORT: String(port),
    MANAGEMENT_PORT: String(managementPort),
    SHUTDOWN_GRACE_MS: '400',
    ...more,
  };
  return runProgram('config/main.ts', environment, [], nodeArgs);
}
