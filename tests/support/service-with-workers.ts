import { freePort } from './free-port.ts';
import { childrenOf, type Program, runProgram } from './program.ts';

/** The service as an operator runs it: a primary and two workers, with the demo's clients in memory. */
export interface ServiceWithWorkers {
  readonly program: Program;
  readonly url: string;
  readonly managementUrl: string;
  /** The process ids of the current workers. */
  workerPids(): readonly number[];
  /** The process id of one worker. Throws if there is none. */
  aWorkerPid(): number;
}

export async function startServiceWithWorkers(
  more: Readonly<Record<string, string>> = {},
  nodeArgs: readonly string[] = [],
): Promise<ServiceWithWorkers> {
  const [port, managementPort] = [await freePort(), await freePort()];
  const environment = {
    CLIENT_REPOSITORY: 'memory',
    CLIENTS_FILE: 'config/demo/clients.json',
    PORT: String(port),
    MANAGEMENT_PORT: String(managementPort),
    SHUTDOWN_GRACE_MS: '0',
    WORKERS: '2',
    ...more,
  };
  const program = runProgram('config/main.ts', environment, [], nodeArgs);
  await program.printed(/"event":"started"/);
  const workerPids = () => childrenOf(program.process.pid ?? 0);
  return {
    program,
    url: `http://127.0.0.1:${port}`,
    managementUrl: `http://127.0.0.1:${managementPort}`,
    workerPids,
    aWorkerPid() {
      const [pid] = workerPids();
      if (pid === undefined) throw new Error('there is no worker');
      return pid;
    },
  };
}
