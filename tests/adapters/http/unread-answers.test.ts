import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { LOAD_LIMITS, LoadLimit } from '../../../adapters/http/admission/load-limit.ts';
import type { Exchange } from '../../../adapters/http/server/exchange.ts';
import { HTTP_TIMEOUTS, type HttpServer } from '../../../adapters/http/server/http-server.ts';
import { createHttpServer } from '../../support/http-server.ts';
import { until } from '../../support/until.ts';

/** More than the buffers of both sockets hold. */
const LARGE_BYTES = 32 * 2 ** 20;

/** Milliseconds. A client that reads nothing is disconnected after twice as long. */
const LIMIT_MS = 250;

const GET = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;

describe('an answer that the client does not read', () => {
  let server: HttpServer;
  let port: number;
  let answerHeld: PromiseWithResolvers<void>;
  let load: LoadLimit;
  const sockets: Socket[] = [];

  async function start(unreadMs = LIMIT_MS): Promise<void> {
    answerHeld = Promise.withResolvers();
    load = new LoadLimit(LOAD_LIMITS);
    const handlers = {
      '/large': async (ctx: Exchange) => {
        ctx.body = Buffer.alloc(LARGE_BYTES);
      },
      '/held': async (ctx: Exchange) => {
        await answerHeld.promise;
        ctx.body = {};
      },
      '/large-and-held': async (ctx: Exchange) => {
        await answerHeld.promise;
        ctx.body = Buffer.alloc(LARGE_BYTES);
      },
    };
    server = createHttpServer(
      Object.entries(handlers).map(([path, GET]) => ({ path, access: { kind: 'public' }, methods: { GET } })),
      { load, timeouts: { ...HTTP_TIMEOUTS, unreadMs } },
    );
    ({ port } = await server.listen({ port: 0, host: '127.0.0.1' }));
  }
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    await server.close(0, () => {});
  });

  /** A connection that has sent the text, and reads only what it is told to. */
  function send(text: string) {
    const socket = connect(port, '127.0.0.1');
    let enough = 0;
    const connection = {
      socket,
      received: 0,
      closed: false,
      read(bytes: number) {
        enough = connection.received + bytes;
        socket.resume();
      },
    };
    sockets.push(socket);
    socket.on('data', (chunk) => {
      connection.received += chunk.length;
      if (connection.received >= enough) socket.pause();
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      connection.closed = true;
    });
    socket.pause();
    socket.write(text);
    return connection;
  }

  /** A client whose large answer has begun, and that reads none of it. */
  async function sendUnread(more = '') {
    const connection = send(GET('/large') + more);
    await until(() => connection.socket.readableLength > 0, 'the answer has begun');
    return connection;
  }

  /** Waits for longer than the limit, by a client that reads nothing until it is disconnected. */
  async function awaitDisconnection(more = 0): Promise<void> {
    await sendUnread();
    await until(() => server.load.connections === more, 'the client is disconnected');
  }

  it('is given up after the limit: the connection is closed', async () => {
    await start();
    await awaitDisconnection();
  });

  it('is given up also behind requests that wait for it, which do not begin', async () => {
    await start();
    await sendUnread(GET('/held').repeat(3));
    expect(server.load).toMatchObject({ connections: 1, pipelined: 3 });
    await until(() => server.load.connections === 0, 'the client is disconnected');
    expect(load.inFlight).toBe(0);
    expect(server.load).toMatchObject({ pipelined: 0, pipelinedBytes: 0 });
  });

  it('is given up also before the answer to CONNECT', async () => {
    await start();
    const { socket } = await sendUnread();
    socket.write('CONNECT x:443 HTTP/1.1\r\nHost: x:443\r\n\r\n');
    await until(() => server.load.connections === 0, 'the client is disconnected');
  });

  it('is given up also if the service needed longer than the limit for it', async () => {
    await start();
    const { socket } = send(GET('/large-and-held'));
    await until(() => load.inFlight === 1, 'a request waits for its answer');
    await awaitDisconnection(1);
    answerHeld.resolve();
    await until(() => socket.readableLength > 0, 'the answer has begun');
    await until(() => server.load.connections === 0, 'the client is disconnected');
  });

  it('is sent to its end while the client reads it slowly, for longer than the limit', async () => {
    const limitMs = 3 * LIMIT_MS;
    await start(limitMs);
    const connection = await sendUnread();
    const begin = performance.now();
    while (performance.now() - begin < 3 * limitMs) {
      // So much that the system makes room for more of the answer each time.
      const { received } = connection;
      connection.read(2 * 2 ** 20);
      await until(() => connection.received >= received + 2 * 2 ** 20 || connection.closed, 'the next part arrives');
      await delay(limitMs / 4);
    }
    expect(connection.closed).toBe(false);
    expect(connection.received).toBeLessThan(LARGE_BYTES);
    connection.read(Number.POSITIVE_INFINITY);
    await until(() => connection.received > LARGE_BYTES, 'the rest arrives');
  });

  it('is no answer that the service has not sent yet, and no idle connection', async () => {
    await start();
    const waiting = send(GET('/held'));
    await until(() => load.inFlight === 1, 'a request waits for its answer');
    await awaitDisconnection(1);
    answerHeld.resolve();
    waiting.read(Number.POSITIVE_INFINITY);
    await until(() => waiting.received > 0, 'it is answered');

    await awaitDisconnection(1);
    const before = waiting.received;
    waiting.socket.write(GET('/held'));
    await until(() => waiting.received > before, 'the next request on its connection is answered');
    expect(waiting.closed).toBe(false);
  });
});
