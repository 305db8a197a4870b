import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { ListeningSockets } from '../../../adapters/http/server/listening-sockets.ts';
import { socketsAt } from '../../support/sockets-of.ts';
import { until } from '../../support/until.ts';

const HOST = '127.0.0.1';

const callers: Socket[] = [];
afterEach(() => {
  for (const caller of callers.splice(0)) caller.destroy();
});

/** Begins that many connections, which the system establishes without the server. */
async function connectAll(port: number, count: number): Promise<readonly Socket[]> {
  const connecting = Array.from({ length: count }, () => connect(port, HOST).on('error', () => {}));
  callers.push(...connecting);
  // Node.js connects at the end of the current operation.
  await new Promise<void>((resolve) => process.nextTick(resolve));
  return connecting;
}

function server() {
  const http = createServer((_request, response) => response.setHeader('Connection', 'close').end('answered'));
  return { http, sockets: new ListeningSockets(http) };
}

describe.each([[false], [true]])('the sockets of a server, with reusePort %s', (reusePort) => {
  it('answer the callers that have connected when the server closes, and refuse the next', async () => {
    const { sockets } = server();
    const { port } = await sockets.open({ host: HOST, port: 0, reusePort });
    const waiting = await connectAll(port, 50);
    // On a busy machine the system establishes connections a moment later.
    const deadline = performance.now() + 60_000;
    while (socketsAt(port, 'established') < waiting.length && performance.now() < deadline) {}
    expect(socketsAt(port, 'established')).toBe(waiting.length);
    const answers = waiting.map(async (caller) => {
      caller.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
      let text = '';
      for await (const chunk of caller.setEncoding('utf8')) text += chunk;
      return text.endsWith('answered');
    });
    // Neither the server nor the callers have had an iteration of the event loop yet.
    const closed = sockets.acceptLastCallers().then(() => sockets.close());
    expect(await Promise.all(answers)).toEqual(waiting.map(() => true));
    await closed;
    await expect(once(connect(port, HOST), 'connect')).rejects.toThrow('ECONNREFUSED');
  });

  it('leave nothing open if the port is in use', async () => {
    const other = createTcpServer().listen(0, HOST);
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const { http, sockets } = server();
    await expect(sockets.open({ host: HOST, port, reusePort })).rejects.toThrow('EADDRINUSE');
    expect(http.listening).toBe(false);
    other.close();
  });
});

describe('the sockets of a shared port', () => {
  it('accept many connections in each iteration of the event loop', async () => {
    const { http, sockets } = server();
    let accepted = 0;
    http.on('connection', () => {
      accepted += 1;
    });
    const { port } = await sockets.open({ host: HOST, port: 0, reusePort: true });
    await connectAll(port, 320);
    let iterations = 0;
    while (accepted < 320) {
      await nextIteration();
      iterations += 1;
    }
    // One socket would take 320. With 32, the one with the most connections has about 20 of them.
    expect(iterations).toBeLessThan(100);
    for (const caller of callers) caller.destroy();
    await sockets.close();
  });

  it('take over when another server of the port closes', async () => {
    const [one, other] = [server(), server()];
    const { port } = await one.sockets.open({ host: HOST, port: 0, reusePort: true });
    await other.sockets.open({ host: HOST, port, reusePort: true });
    await one.sockets.close();
    let accepted = 0;
    other.http.on('connection', () => {
      accepted += 1;
    });
    await connectAll(port, 20);
    await until(() => accepted === 20, 'the other server accepts all connections');
    for (const caller of callers) caller.destroy();
    await other.sockets.close();
  });
});
