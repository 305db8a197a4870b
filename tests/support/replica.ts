import type { Backend } from './balancer.ts';
import { freePort } from './free-port.ts';
import { type Program, runProgram } from './program.ts';

/** The client of config/demo, as it asks for a token. */
export const DEMO_TOKEN_REQUEST = {
  grant_type: 'client_credentials',
  client_id: 'demo-client',
  client_secret: 'demo-secret',
};

/** Free ports for a replica. */
export async function freeBackend(): Promise<Backend> {
  return { port: await freePort(), managementPort: await freePort() };
}

/** The service as its own process, with the demo's clients in memory and a short farewell. */
export function startReplica({ port, managementPort }: Backend, more: Readonly<Record<string, string>> = {}): Program {
  return runProgram('config/main.ts', {
    CLIENT_REPOSITORY: 'memory',
    CLIENTS_FILE: 'config/demo/clients.json',
    PORT: String(port),
    MANAGEMENT_PORT: String(managementPort),
    SHUTDOWN_GRACE_MS: '200',
    WORKERS: '1',
    ...more,
  });
}
