import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { Configuration } from './configuration.ts';
import { buildContainer, type Override } from './container.ts';
import { TOKENS } from './tokens.ts';

/** Milliseconds that requests in flight have to end, once the service was told to stop. */
const STOP_WITHIN_MS = 10_000;

export interface RunningService {
  readonly host: string;
  readonly port: number;
  /** Stops accepting, lets what is in flight end within 10 s, and closes. May be called more than once. */
  stop(): Promise<void>;
}

/** Starts the service and resolves when it listens. Rejects, with nothing left open, where the port cannot be had. */
export async function startService(configuration: Configuration, override?: Override): Promise<RunningService> {
  const container = await buildContainer(configuration, override);
  const server = container.resolve(TOKENS.httpServer);
  const log = container.resolve(TOKENS.log);
  const { HOST, PORT } = configuration.settings;

  server.listen(PORT, HOST);
  await once(server, 'listening');
  const { address, port } = server.address() as AddressInfo;
  log.info({ event: 'started', address, port });

  let stopped: Promise<void> | undefined;
  const stop = async () => {
    const closed = once(server, 'close');
    server.close();
    const impatience = setTimeout(() => server.closeAllConnections(), STOP_WITHIN_MS);
    await closed;
    clearTimeout(impatience);
    log.info({ event: 'stopped' });
  };
  return {
    host: address,
    port,
    stop() {
      stopped ??= stop();
      return stopped;
    },
  };
}
