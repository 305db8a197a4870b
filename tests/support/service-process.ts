import { freePort } from './free-port.ts';
import { type Program, runProgram } from './program.ts';

/** The service as an operator runs it: a process of its own, with the demo's clients in memory. */
export interface ServiceProcess {
  readonly program: Program;
  readonly url: string;
  readonly managementUrl: string;
}

export async function startServiceProcess(
  more: Readonly<Record<string, string>> = {},
  nodeArgs: readonly string[] = [],
): Promise<ServiceProcess> {
  const [port, managementPort] = [await freePort(), await freePort()];
  const environment = {
    CLIENT_REPOSITORY: 'memory',
    CLIENTS_FILE: 'config/demo/clients.json',
    PORT: String(port),
    MANAGEMENT_PORT: String(managementPort),
    SHUTDOWN_GRACE_MS: '0',
    ...more,
  };
  const program = runProgram('config/main.ts', environment, [], nodeArgs);
  await program.printed(/"event":"started"/);
  return { program, url: `http://127.0.0.1:${port}`, managementUrl: `http://127.0.0.1:${managementPort}` };
}
