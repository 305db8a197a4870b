import type { Program } from './program.ts';
import { freeBackend, startReplica } from './replica.ts';

/** The service as an operator runs it: its own process, with the demo's clients in memory. */
export interface ServiceProcess {
  readonly program: Program;
  readonly url: string;
  readonly managementUrl: string;
}

/** Arguments of Node.js that trace the requests of a service, as an SDK of OpenTelemetry does. */
export const TRACED = ['--import', new URL('preload-tracing.ts', import.meta.url).href];

/** Starts it on free ports, without a grace time. Resolves when it listens. */
export async function startServiceProcess(
  more: Readonly<Record<string, string>> = {},
  nodeArgs: readonly string[] = [],
): Promise<ServiceProcess> {
  const backend = await freeBackend();
  const program = startReplica(backend, { SHUTDOWN_GRACE_MS: '0', ...more }, nodeArgs);
  await program.printed(/"event":"started"/);
  const urlOf = (port: number) => `http://127.0.0.1:${port}`;
  return { program, url: urlOf(backend.port), managementUrl: urlOf(backend.managementPort) };
}
