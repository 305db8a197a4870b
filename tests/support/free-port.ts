import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below the ports that a system gives to outgoing connections, and to servers that let it choose. */
const LOWEST = 16_000;
const HIGHEST = 32_000;

/**
 * Jest's workers run at once, and so may several runs. Each process has ports of its own, so that none gives away a
 * port that another has just found free: four workers of one run never share any, and two runs rarely.
 */
const SHARES = 128;
const SHARE = (Number(process.env['JEST_WORKER_ID'] ?? 0) % 4) + 4 * (process.pid % (SHARES / 4));

const given = new Set<number>();

/**
 * A loopback port on which no process listens at the moment. No other call returns it, and the system gives it to
 * nobody.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = SHARE + SHARES * randomInt(LOWEST / SHARES, HIGHEST / SHARES);
    if (given.has(port) || !(await canListen(port))) continue;
    given.add(port);
    return port;
  }
}

async function canListen(port: number): Promise<boolean> {
  const server = createServer();
  const listening = new Promise<boolean>((resolve) => {
    server.once('listening', () => resolve(true)).once('error', () => resolve(false));
  });
  server.listen(port, '127.0.0.1');
  if (!(await listening)) return false;
  server.close();
  await once(server, 'close');
  return true;
}
