import { once } from 'node:events';
import { createServer, type ListenOptions } from 'node:net';

/** How the sockets of the service listen on one port. */
export interface SharedPort {
  readonly port: number;
  /** Whether the system can distribute the connections over several sockets (SO_REUSEPORT). */
  readonly reusePort: boolean;
}

/**
 * Finds out how sockets can share a port, and for port 0 chooses one. Throws the system's error if another program uses
 * the port: sockets with `SO_REUSEPORT` could share it with another service of the same user and would not notice.
 */
export async function findSharedPort(host: string, port: number): Promise<SharedPort> {
  const free = await tryListening({ host, port });
  return { port: free, reusePort: await canReusePort(host) };
}

/** Not on macOS and Windows, nor on old systems. */
async function canReusePort(host: string): Promise<boolean> {
  try {
    await tryListening({ host, port: 0, reusePort: true });
    return true;
  } catch {
    return false;
  }
}

/** Opens a socket and closes it. Returns its port. */
export async function tryListening(options: ListenOptions): Promise<number> {
  const server = createServer();
  server.listen(options);
  await once(server, 'listening');
  const address = server.address();
  const closed = once(server, 'close');
  server.close();
  await closed;
  if (address === null || typeof address === 'string') throw new Error('the address has no port');
  return address.port;
}
