import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, request } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer, Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as delay, setImmediate as nextIteration, setImmediate as nextPass } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { endOfPass, WAITING_MAX } from '../../../adapters/http/admission/end-of-pass.ts';
import { type Countable, LOAD_LIMITS, LoadLimit } from '../../../adapters/http/admission/load-limit.ts';
import { RejectionDelay } from '../../../adapters/http/admission/rejection-delay.ts';
import { ResponsePacing } from '../../../adapters/http/admission/response-pacing.ts';
import { clientAddressBehind } from '../../../adapters/http/parsing/client-address.ts';
import { readForm } from '../../../adapters/http/parsing/form.ts';
import { type Exchange, sendRefusal } from '../../../adapters/http/server/exchange.ts';
import { httpRefusal } from '../../../adapters/http/server/http-refusal.ts';
import { HTTP_TIMEOUTS, type HttpServer } from '../../../adapters/http/server/http-server.ts';
import type { Route } from '../../../adapters/http/server/koa-application.ts';
import { ListeningSockets } from '../../../adapters/http/server/listening-sockets.ts';
import { Lifecycle, type RunningServerParts, startServer } from '../../../adapters/http/server/running-server.ts';
import { PARTS } from '../../../config/container.ts';
import { openRawExchange, readResponses } from '../../hostile/raw-exchange.ts';
import { requestToken, send, sendRaw } from '../../support/http.ts';
import { createHttpServer } from '../../support/http-server.ts';
import { socketsAt } from '../../support/sockets-of.ts';
import { until } from '../../support/until.ts';
import { serviceForSuite } from './service-for-suite.ts';

/**
 * Sends each request when the one before it is answered, and resolves with the statuses when all are answered or the
 * connection has ended.
 */
async function statusesInTurn(port: number, requests: readonly string[]): Promise<readonly number[]> {
  const exchange = openRawExchange(port);
  const answers = () => readResponses(exchange.received());
  for (const [index, text] of requests.entries()) {
    exchange.write(text);
    await until(() => answers().length > index || exchange.isClosed(), 'a request is answered');
  }
  exchange.end();
  await exchange.closed;
  return answers().map(({ status }) => status);
}

describe('the sockets that listen', () => {
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
    // A busy machine may need more than a second for fifty iterations of the event loop.
    return { http, sockets: new ListeningSockets(http, 60_000) };
  }

  describe.each([[false], [true]])('the sockets of a server, with reusePort %s', (reusePort) => {
    it('answer the callers that have connected when the server closes, and refuse the next', async () => {
      const { sockets } = server();
      const { port } = await sockets.open({ host: HOST, port: 0, reusePort });
      const waiting = await connectAll(port, 50);
      // On a busy machine the system establishes connections a moment later.
      const deadline = performance.now() + 60_000;
      while (socketsAt(port, 'established') < waiting.length && performance.now() < deadline) {}
      // A connection of another program may have the same port at its end.
      expect(socketsAt(port, 'established')).toBeGreaterThanOrEqual(waiting.length);
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
});

describe('the server', () => {
  /** The parts of a server on a free port, which record what happens to them. */
  function recordedParts(more: Partial<RunningServerParts> = {}) {
    const events: string[] = [];
    const closable = (name: string) => ({
      close: async () => {
        events.push(`close ${name}`);
      },
    });
    const parts: RunningServerParts = {
      listener: () => ({ server: createHttpServer([]), host: '127.0.0.1', port: 0 }),
      lifecycle: new Lifecycle(),
      graceMs: 0,
      drainMs: 0,
      endWaits: () => events.push('end waits'),
      closables: [closable('first'), closable('second')],
      log: (event) => events.push(event),
      ...more,
    };
    return { events, parts };
  }

  describe('startServer', () => {
    it('is ready while it listens, and closes everything in the reverse order when it stops', async () => {
      const { events, parts } = recordedParts();
      expect(parts.lifecycle.readiness()).toMatchObject({ ready: false, reason: { code: 'starting' } });
      const server = await startServer(parts);
      expect(parts.lifecycle.readiness()).toEqual({ ready: true });
      const url = `http://${server.host}:${server.port}`;
      expect((await send(url, '/')).status).toBe(401);
      await server.stop('immediate');
      expect(parts.lifecycle.readiness()).toMatchObject({ ready: false, reason: { code: 'stopping' } });
      await expect(send(url, '/')).rejects.toThrow('ECONNREFUSED');
      expect(events).toEqual(['started', 'stopping', 'end waits', 'close second', 'close first', 'stopped']);
    });

    it('stops only once, even if stop is called again', async () => {
      const { events, parts } = recordedParts();
      const server = await startServer(parts);
      await Promise.all([server.stop('immediate'), server.stop('planned')]);
      await server.stop('immediate');
      expect(events.filter((event) => event === 'stopped')).toHaveLength(1);
    });

    it('accepts requests during the grace time of a planned shutdown, and closes each connection', async () => {
      const { parts } = recordedParts({ graceMs: 300 });
      const server = await startServer(parts);
      const stopped = server.stop('planned');
      const answer = await send(`http://${server.host}:${server.port}`, '/');
      expect([answer.status, answer.headers['connection']]).toEqual([401, 'close']);
      await stopped;
    });

    it('rejects with the reason if a port is in use, and leaves nothing open', async () => {
      const taken = await startServer(recordedParts().parts);
      const [first, second] = [createHttpServer([]), createHttpServer([])];
      const { events, parts } = recordedParts({
        management: { server: first, host: '127.0.0.1', port: 0 },
        listener: () => ({ server: second, host: '127.0.0.1', port: taken.port }),
      });
      await expect(startServer(parts)).rejects.toThrow('EADDRINUSE');
      expect([first.listening, second.listening]).toEqual([false, false]);
      expect(events).toEqual(['end waits', 'close second', 'close first']);
      expect(parts.lifecycle.readiness().ready).toBe(false);
      await taken.stop('immediate');
    });

    it('opens its port when it can answer, and its management port before', async () => {
      const [management, server] = [createHttpServer([]), createHttpServer([])];
      const listening: (readonly boolean[])[] = [];
      const { parts } = recordedParts({
        management: { server: management, host: '127.0.0.1', port: 0 },
        listener: () => ({ server, host: '127.0.0.1', port: 0 }),
        publish: async () => {
          listening.push([management.listening, server.listening]);
        },
      });
      const running = await startServer(parts);
      expect(listening).toEqual([[true, false]]);
      await running.stop('immediate');
    });
  });

  describe('HttpServer', () => {
    /** A server for two connections. Requests to `/held` have no end. */
    async function serverForTwo(idleMs: typeof HTTP_TIMEOUTS.idleMs) {
      let begun = 0;
      const hold = () => {
        begun += 1;
        return new Promise<void>(() => {});
      };
      const good = async (ctx: Exchange) => {
        ctx.status = 200;
        ctx.state.clientId = 'a client';
      };
      const publish = async (ctx: Exchange) => {
        ctx.status = 200;
      };
      const access = { kind: 'public' } as const;
      const routes = [
        { path: '/held', access, methods: { GET: hold } },
        { path: '/good', access, methods: { GET: good } },
        { path: '/public', access, methods: { GET: publish } },
      ];
      const server = createHttpServer(routes, { connectionsMax: 2, timeouts: { ...HTTP_TIMEOUTS, idleMs } });
      const { port } = await server.listen({ port: 0, host: '127.0.0.1' });
      const ask = (path: string, field = '') => `GET ${path} HTTP/1.1\r\nHost: x\r\n${field}\r\n`;
      /** A connection, once the server has accepted it, and answered the request that it begins with. */
      const open = async (text = '') => {
        const { connections, dropped } = server.load;
        const exchange = openRawExchange(port);
        if (text !== '') exchange.write(text);
        await until(() => server.load.connections + server.load.dropped > connections + dropped, 'it is accepted');
        const isAnswered = text.endsWith('\r\n\r\n') && text !== ask('/held');
        await until(() => !isAnswered || exchange.received().length > 0, 'the request is answered');
        return exchange;
      };
      return { server, port, ask, open, begun: () => begun };
    }

    it('closes the connections beyond its limit at once while none has been idle for long, and counts them', async () => {
      const { server, port, ask, open, begun } = await serverForTwo({ stranger: 0, begun: 60_000, served: 60_000 });
      const busy = [await open(ask('/held')), await open(ask('/good'))];
      await until(() => begun() === 1, 'one is busy');
      expect(await sendRaw(port, ask('/'))).toBe('');
      expect(server.load).toMatchObject({ connections: 2, dropped: 1 });
      for (const exchange of busy) exchange.end();
      await until(() => server.load.connections === 0, 'they are closed');
      expect((await send(`http://127.0.0.1:${port}`, '/')).status).toBe(401);
      await server.close(0, () => {});
    });

    it('closes the connection that has been idle longest for a new one, those of strangers first', async () => {
      const { server, port, ask, open } = await serverForTwo({ stranger: 0, begun: 60_000, served: 0 });
      const served = await open(ask('/good'));
      const refused = await open(ask('/'));
      expect(await sendRaw(port, ask('/', 'Connection: close\r\n'))).toMatch(/^HTTP\/1.1 401 /);
      await refused.closed;
      const silent = await open();
      expect([served.isClosed(), server.load.dropped]).toEqual([false, 1]);
      served.write(ask('/good'));
      await until(() => readResponses(served.received()).length > 1, 'the next request is answered');
      const next = await open(ask('/good'));
      await silent.closed;
      const last = await open(ask('/good'));
      await served.closed;
      expect(server.load.dropped).toBe(3);
      for (const exchange of [next, last]) exchange.end();
      await server.close(0, () => {});
    });

    it('lets a caller in while others open idle connections as fast as they can', async () => {
      const { server, port, ask, open } = await serverForTwo({ stranger: 0, begun: 60_000, served: 60_000 });
      const floods = ['', ask('/'), ask('/public')];
      for (let count = 0; count < 30; count += 1) await open(floods[count % 3]);
      expect(await sendRaw(port, ask('/', 'Connection: close\r\n'))).toMatch(/^HTTP\/1.1 401 /);
      expect(server.load).toMatchObject({ connections: 1, dropped: 29 });
      await server.close(0, () => {});
    });

    it.each([
      ['header section', 'POST /held HTTP/1.1\r\nHost: x\r\n'],
      ['body', 'POST /held HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nx'],
    ])('lets a caller in while others send their %s byte by byte', async (_what, text) => {
      const { server, port, ask, open } = await serverForTwo({ stranger: 0, begun: 0, served: 60_000 });
      for (let count = 0; count < 20; count += 1) await open(text);
      expect(await sendRaw(port, ask('/', 'Connection: close\r\n'))).toMatch(/^HTTP\/1.1 401 /);
      await server.close(0, () => {});
    });

    it('closes no connection whose request has arrived, however long it takes', async () => {
      const { server, port, ask, open, begun } = await serverForTwo({ stranger: 0, begun: 0, served: 60_000 });
      const held = [await open(ask('/held')), await open(ask('/held'))];
      await until(() => begun() === 2, 'both have begun');
      expect(await sendRaw(port, ask('/'))).toBe('');
      expect(held.map((exchange) => exchange.isClosed())).toEqual([false, false]);
      for (const exchange of held) exchange.end();
      await server.close(0, () => {});
    });

    it('closes no connection on which a request has just begun to arrive', async () => {
      const { server, port, ask, open } = await serverForTwo({ stranger: 0, begun: 60_000, served: 0 });
      const begun = await open(ask('/'));
      begun.write(ask('/').slice(0, 9));
      // What was sent before is read before a connection that begins after it.
      await open();
      await open();
      expect(await sendRaw(port, ask('/', 'Connection: close\r\n'))).toMatch(/^HTTP\/1.1 401 /);
      begun.write(ask('/').slice(9));
      await until(() => readResponses(begun.received()).length > 1, 'the request is answered');
      begun.end();
      await server.close(0, () => {});
    });

    it('closes a connection on which no further request comes', async () => {
      const server = createHttpServer([], { timeouts: { ...HTTP_TIMEOUTS, keepAliveMs: 50 } });
      const { port } = await server.listen({ port: 0, host: '127.0.0.1' });
      expect(await sendRaw(port, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n')).toMatch(/^HTTP\/1\.1 401 /);
      await server.close(0, () => {});
    });

    it('answers 503 when it stops to wait for a request, and ends the connection', async () => {
      let isBegun = false;
      const work = () => {
        isBegun = true;
        return new Promise<void>(() => {});
      };
      const server = createHttpServer([{ path: '/slow', access: { kind: 'public' }, methods: { GET: work } }]);
      const { port } = await server.listen({ port: 0, host: '127.0.0.1' });
      const answer = sendRaw(port, 'GET /slow HTTP/1.1\r\nHost: x\r\n\r\n');
      await until(() => isBegun, 'the request has begun');
      await server.close(0, () => {});
      const text = await answer;
      expect(text).toMatch(/^HTTP\/1\.1 503 /);
      expect(text).toMatch(/\r\nX-Request-Id: [0-9a-f-]{36}\r\n/);
      expect(text).toMatch(/\r\nRetry-After: 1\r\n(?:.+\r\n)*Connection: close\r\n/);
      expect(text).toMatch(/\r\n\r\n\{"error":"temporarily_unavailable"\}$/);
    });
  });
});

describe('pipelined requests', () => {
  /** Each request of `/held` is answered when the test says so. */
  function heldRequests() {
    const begun: { readonly ctx: Exchange; readonly answer: () => void }[] = [];
    const handler = (ctx: Exchange) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      begun.push({ ctx, answer: resolve });
      ctx.res.once('close', resolve);
      return promise.then(() => {
        ctx.body = { number: ctx.query['number'] };
      });
    };
    return { begun, handler };
  }

  describe('the pipelined requests of a connection', () => {
    let server: HttpServer;
    let load: LoadLimit;
    let port: number;
    let held: ReturnType<typeof heldRequests>;
    /** Requests that Node.js has parsed. */
    let parsed = 0;
    const countParsed = () => {
      parsed += 1;
    };
    const sockets: Socket[] = [];

    beforeAll(() => subscribe('http.server.request.start', countParsed));
    afterAll(() => void unsubscribe('http.server.request.start', countParsed));
    beforeEach(async () => {
      held = heldRequests();
      parsed = 0;
      load = new LoadLimit(LOAD_LIMITS);
      server = createHttpServer(
        [{ path: '/held', access: { kind: 'public' }, methods: { GET: held.handler, POST: held.handler } }],
        { load },
      );
      ({ port } = await server.listen({ port: 0, host: '127.0.0.1' }));
    });
    afterEach(async () => {
      for (const socket of sockets.splice(0)) socket.destroy();
      await server.close(0, () => {});
    });

    const get = (number: number, more = '') => `GET /held?number=${number} HTTP/1.1\r\nHost: x\r\n${more}\r\n`;
    const requests = (count: number, more = '') => Array.from({ length: count }, (_, n) => get(n, more)).join('');

    /** A connection that has sent the text. */
    function send(text: string) {
      const connection = { socket: connect(port, '127.0.0.1'), received: '', closed: false };
      sockets.push(connection.socket);
      connection.socket.on('data', (chunk) => {
        connection.received += chunk;
      });
      connection.socket.on('error', () => {});
      connection.socket.on('close', () => {
        connection.closed = true;
      });
      connection.socket.write(text);
      return connection;
    }

    const numbers = (received: string) =>
      [...received.matchAll(/"number":"(\d+)"/g)].map(([, number]) => Number(number));

    it('close the connection behind the response that is in progress', async () => {
      const connection = send(get(0));
      await until(() => held.begun.length === 1, 'the first request has begun');
      connection.socket.write(
        `POST /held?number=1 HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n${'a'.repeat(100_000)}`,
      );
      await until(() => parsed === 2, 'the second request has arrived');
      held.begun[0]?.answer();
      await until(() => connection.closed, 'the connection is closed');
      expect(numbers(connection.received)).toEqual([0]);
      expect(connection.received).toMatch(/^Connection: close\r$/m);
      expect(held.begun).toHaveLength(1);
    });

    it('end the connection at once if they are more than two, and the request that is in progress', async () => {
      const connection = send(requests(3));
      await until(() => connection.closed, 'the client is disconnected');
      expect(connection.received).toBe('');
      await until(() => load.inFlight === 0, 'the first request has ended');
      expect(held.begun).toHaveLength(1);
      expect(server.load.connections).toBe(0);
    });

    it('end their own connection alone', async () => {
      const other = send(get(7));
      await until(() => held.begun.length === 1, 'another connection has a request in progress');
      const connection = send(get(0));
      await until(() => held.begun.length === 2, 'the connection has one too');
      connection.socket.write(requests(2));
      await until(() => connection.closed, 'the client is disconnected');
      held.begun[0]?.answer();
      await until(() => numbers(other.received).length === 1, 'the other connection has its response');
    });

    it('are parsed to the end of what was read at once, and none of them begins', async () => {
      const connection = send(requests(1_000));
      await until(() => connection.closed, 'the client is disconnected');
      expect(parsed).toBeGreaterThan(2);
      expect(parsed).toBeLessThanOrEqual(1_000);
      expect(held.begun).toHaveLength(1);
    });

    it('let nobody else wait: with large header fields on 200 connections, others are answered', async () => {
      const header = `X-Long: ${'a'.repeat(7_000)}\r\n`;
      const connections = Array.from({ length: 200 }, () => send(requests(15, header)));
      await until(() => connections.every(({ closed }) => closed), 'all clients are disconnected');
      expect(server.load.connections).toBe(0);
      const begun = held.begun.length;
      const other = send(get(1, header));
      await until(() => held.begun.length > begun, 'a client that does not pipeline is served');
      held.begun.at(-1)?.answer();
      await until(() => numbers(other.received).length === 1, 'it has its response');
    });

    it('are none that follow a response, one by one', async () => {
      const connection = send(get(0));
      for (let number = 0; number < 4; number += 1) {
        await until(() => held.begun.length === number + 1, `request ${number} has begun`);
        held.begun[number]?.answer();
        await until(() => numbers(connection.received).length === number + 1, `response ${number} has arrived`);
        connection.socket.write(get(number + 1));
      }
      expect(numbers(connection.received)).toEqual([0, 1, 2, 3]);
      expect(server.load.connections).toBe(1);
    });

    it('do not begin after a response that closes the connection', async () => {
      const connection = send(get(0, 'Connection: close\r\n'));
      await until(() => held.begun.length === 1, 'the request has begun');
      connection.socket.once('data', () => connection.socket.write(requests(2)));
      held.begun[0]?.answer();
      await until(() => server.load.connections === 0, 'the connection is closed');
      expect(numbers(connection.received)).toEqual([0]);
      expect(held.begun).toHaveLength(1);
    });

    it('are none when the server begins to close: the response of the one in progress closes the connection', async () => {
      const connection = send(get(0));
      await until(() => held.begun.length === 1, 'the request has begun');
      const closed = server.close(60_000, () => {});
      held.begun[0]?.answer();
      await closed;
      await until(() => connection.closed, 'the connection is closed');
      expect(connection.received).toMatch(/^Connection: close\r$/m);
    });
  });
});

describe('what the server keeps of a request', () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage: () => void = runInNewContext('gc');

  const load = new LoadLimit(LOAD_LIMITS);
  const ROUTE: Route = {
    path: '/form',
    access: { kind: 'public' },
    methods: {
      POST: async (ctx) => {
        const form = await readForm(ctx);
        ctx.body = { resources: form.ok && form.value.resources };
      },
    },
  };
  const FIELDS = Array.from({ length: 90 }, (_, number) => `X-${number}: ${number}\r\n`).join('');
  const HEAD = `POST /form HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\n${FIELDS}`;

  /** What must not be kept of a request. */
  interface Seen {
    readonly request: WeakRef<IncomingMessage>;
    readonly fields: readonly WeakRef<object>[];
  }

  let server: HttpServer;
  let port: number;
  const seen: Seen[] = [];
  const sockets: Socket[] = [];
  const received = new Map<Socket, string>();

  beforeAll(async () => {
    server = createHttpServer([ROUTE], {
      load,
      // No wait ends by itself.
      timeouts: { ...HTTP_TIMEOUTS, headersMs: 600_000, requestMs: 600_000 },
      // The first that sees a request.
      clientAddress(request) {
        const { rawHeaders, headers } = request as IncomingMessage;
        seen.push({
          request: new WeakRef(request as IncomingMessage),
          fields: [new WeakRef(rawHeaders), new WeakRef(headers)],
        });
        return '127.0.0.1';
      },
    });
    ({ port } = await server.listen({ host: '127.0.0.1', port: 0 }));
  });
  afterAll(async () => {
    for (const socket of sockets) socket.destroy();
    await server.close(0, () => {});
  });

  function send(text: string): Socket {
    const socket = connect(port, '127.0.0.1').setEncoding('latin1');
    sockets.push(socket);
    socket.on('data', (more) => received.set(socket, (received.get(socket) ?? '') + more));
    socket.write(text);
    return socket;
  }

  /** Sends on as many connections as `count`, and resolves when all of the requests are in progress. */
  async function sendAll(count: number, text: string): Promise<readonly Socket[]> {
    const before = seen.length;
    const all = Array.from({ length: count }, () => send(text));
    await until(() => seen.length === before + count, 'all requests have arrived');
    return all;
  }

  const collected = (refs: readonly WeakRef<object>[]) => {
    collectGarbage();
    return refs.every((ref) => ref.deref() === undefined);
  };

  it.each([
    ['a body that lacks its end', `${HEAD}Content-Length: 100\r\n\r\nresource=a`],
    ['a body that does not begin', `${HEAD}Content-Length: 100\r\n\r\n`],
    ['the rest of a body behind its refusal', `${HEAD}Content-Encoding: gzip\r\nContent-Length: 100\r\n\r\nresource`],
    ['fields behind a body that do not end', `${HEAD}Transfer-Encoding: chunked\r\n\r\n0\r\n${FIELDS}`],
  ])('is none of its header fields while it waits for %s', async (_what, text) => {
    const begin = seen.length;
    const [socket] = await sendAll(1, text);
    await until(() => collected(seen.slice(begin).flatMap(({ fields }) => fields)), 'the fields are collected');
    expect(socket?.destroyed).toBe(false);
  });

  it('is nothing once it is answered, while its connection stays open', async () => {
    const begin = seen.length;
    const [socket] = await sendAll(1, `${HEAD}Content-Length: 10\r\n\r\nresource=a`);
    await until(() => received.get(socket as Socket)?.includes('{"resources":["a"]}') === true, 'it is answered');
    await until(() => collected(seen.slice(begin).map(({ request }) => request)), 'the request is collected');
    expect(socket?.destroyed).toBe(false);
  });

  it.each(['Content-Length: 16384\r\n\r\nresource=a', 'Transfer-Encoding: chunked\r\n\r\na\r\nresource=a\r\n'])(
    'is as much of its body as has arrived, whatever it announces: %j',
    async (rest) => {
      collectGarbage();
      const before = process.memoryUsage().arrayBuffers;
      await sendAll(200, HEAD + rest);
      collectGarbage();
      expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(200 * 4_096);
    },
  );

  it.each([1, 7, 4_000, 16_384])('is all of a body of 16 KiB that arrives in pieces of %d bytes', async (size) => {
    const body = `resource=${'abcdefg'.repeat(3_000)}`.slice(0, 16_384);
    const socket = send(`${HEAD}Content-Length: ${body.length}\r\n\r\n`);
    socket.setNoDelay(true);
    for (let at = 0; at < body.length; at += size) socket.write(body.slice(at, at + size));
    await until(() => received.get(socket)?.endsWith('}') === true, 'it is answered');
    expect(received.get(socket)).toContain(JSON.stringify({ resources: [body.slice('resource='.length)] }));
  });
});

describe('a response that the client does not read', () => {
  /** More than the buffers of both sockets hold. */
  const LARGE_BYTES = 32 * 2 ** 20;

  /** Milliseconds. A client that reads nothing is disconnected after twice as long. */
  const LIMIT_MS = 250;

  const GET = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;

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
    await until(() => connection.socket.readableLength > 0, 'the response has begun');
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

  it('is given up also before the response to the next request', async () => {
    await start();
    const { socket } = await sendUnread();
    socket.write(GET('/held'));
    await until(() => server.load.connections === 0, 'the client is disconnected');
    answerHeld.resolve();
    await until(() => load.inFlight === 0, 'the next request has ended');
  });

  it('is given up also before the response to CONNECT', async () => {
    await start();
    const { socket } = await sendUnread();
    socket.write('CONNECT x:443 HTTP/1.1\r\nHost: x:443\r\n\r\n');
    await until(() => server.load.connections === 0, 'the client is disconnected');
  });

  it('is given up also if the service needed longer than the limit for it', async () => {
    await start();
    const { socket } = send(GET('/large-and-held'));
    await until(() => load.inFlight === 1, 'a request waits for its response');
    await awaitDisconnection(1);
    answerHeld.resolve();
    await until(() => socket.readableLength > 0, 'the response has begun');
    await until(() => server.load.connections === 0, 'the client is disconnected');
  });

  it('is sent to its end while the client reads it slowly, for longer than the limit', async () => {
    const limitMs = 3 * LIMIT_MS;
    await start(limitMs);
    const connection = await sendUnread();
    const begin = performance.now();
    while (performance.now() - begin < 3 * limitMs) {
      // So much that the system makes room for more of the response each time.
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

  it('is no response that the service has not sent yet, and no idle connection', async () => {
    await start();
    const waiting = send(GET('/held'));
    await until(() => load.inFlight === 1, 'a request waits for its response');
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

describe('load', () => {
  const LIMITS = { inFlight: 3, inFlightWhenLate: 1, lateMs: 200 };
  const ON_TIME = { delayMs: 0 };

  const requests = (count: number): readonly Countable[] => Array.from({ length: count }, () => ({}));

  function enterAll(load: LoadLimit, count: number): readonly boolean[] {
    return requests(count).map((request) => load.enter(request));
  }

  describe('LoadLimit', () => {
    it('admits requests up to the limit, and one more for each that leaves', () => {
      const load = new LoadLimit(LIMITS, ON_TIME);
      const [first = {}, ...others] = requests(5);
      expect([first, ...others].map((request) => load.enter(request))).toEqual([true, true, true, false, false]);
      load.leave(first);
      expect(enterAll(load, 2)).toEqual([true, false]);
      expect(load.inFlight).toBe(3);
    });

    it('admits 1,000 requests in the service, and 100 while the event loop is late by 200 ms', () => {
      const eventLoop = { delayMs: 199 };
      const load = new LoadLimit(LOAD_LIMITS, eventLoop);
      expect(load.max).toBe(1_000);
      eventLoop.delayMs = 200;
      expect(load.max).toBe(100);
    });

    it('reserves a tenth of the places for connections with at most three requests within ten seconds', () => {
      const load = new LoadLimit({ ...LIMITS, inFlight: 20 }, ON_TIME);
      const connection = {};
      const request = (now: number): Countable => ({ isRepeated: load.isRepeated(connection, now) });
      const admitted = Array.from({ length: 30 }, (_, number) => load.enter(request(number)));
      expect(admitted.filter(Boolean)).toHaveLength(18);
      expect(load.enter(request(9_999))).toBe(false);
      expect(load.enter({ isRepeated: load.isRepeated({}, 9_999) })).toBe(true);
      expect(load.enter(request(10_000))).toBe(true);
      expect(load.enter({})).toBe(false);
    });

    it('counts a request once, however often it leaves, and not at all if it was not admitted', () => {
      const load = new LoadLimit(LIMITS, ON_TIME);
      const all = requests(5);
      for (const request of all) load.enter(request);
      for (const request of all.toReversed()) {
        load.leave(request);
        load.leave(request);
      }
      expect(load.inFlight).toBe(0);
    });

    it('admits fewer while the event loop is late, and as many as before afterwards', () => {
      const eventLoop = { delayMs: 200 };
      const load = new LoadLimit(LIMITS, eventLoop);
      expect(enterAll(load, 2)).toEqual([true, false]);
      eventLoop.delayMs = 199;
      expect(enterAll(load, 3)).toEqual([true, true, false]);
    });

    it('counts the event loop as late once it is blocked again and again, not after one pause, and until that ends', async () => {
      const load = new LoadLimit({ inFlight: 1, inFlightWhenLate: 0, lateMs: 200 });
      const isLate = () => {
        const request = {};
        if (!load.enter(request)) return true;
        load.leave(request);
        return false;
      };
      block(500);
      await new Promise(setImmediate);
      expect(isLate()).toBe(false);
      await until(() => {
        block(600);
        return isLate();
      }, 'the event loop is late');
      await until(() => !isLate(), 'the event loop has recovered');
    });
  });

  /** Blocks the event loop, without work for the processor. */
  function block(milliseconds: number): void {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
  }

  describe('a request that waits for a verification', () => {
    function countedRequest(load: LoadLimit): Countable {
      const request = {};
      expect(load.enter(request)).toBe(true);
      return request;
    }

    /** So many requests that wait for the same, and are counted again if it is true. */
    async function waitTogether(load: LoadLimit, count: number, outcome: Promise<boolean>) {
      const requests: Countable[] = [];
      const waiting = Array.from({ length: count }, () => {
        const request = countedRequest(load);
        requests.push(request);
        const waits = load.waitUncounted(request, () => outcome, Boolean);
        expect(load.inFlight).toBe(0);
        return waits;
      });
      return { requests, outcomes: await Promise.allSettled(waiting) };
    }

    it('counts again when there is more work for it, up to the limit, and goes on in any case', async () => {
      const load = new LoadLimit(LIMITS, ON_TIME);
      const { requests, outcomes } = await waitTogether(load, 5, Promise.resolve(true));
      expect(outcomes).toEqual(Array(5).fill({ status: 'fulfilled', value: true }));
      expect(load.inFlight).toBe(3);
      for (const request of requests) load.leave(request);
      expect(load.inFlight).toBe(0);
    });

    it.each([
      ['is refused', () => Promise.resolve(false)],
      ['ends with a fault', () => Promise.reject(new Error('the caller has disconnected'))],
    ])('counts no more when it %s', async (_case, outcome) => {
      const load = new LoadLimit(LIMITS, ON_TIME);
      const { requests } = await waitTogether(load, 5, outcome());
      expect(load.inFlight).toBe(0);
      for (const request of requests) load.leave(request);
      expect(load.inFlight).toBe(0);
    });
  });

  describe('the reserved places of a server', () => {
    it('are for other connections than one that sends its fourth request', async () => {
      const held = Promise.withResolvers<void>();
      const answer = async (ctx: Exchange) => {
        if (ctx.path === '/held') await held.promise;
        ctx.body = {};
      };
      const routes = ['/held', '/quick'].map((path) => {
        return { path, access: { kind: 'public' }, methods: { GET: answer } } as const;
      });
      const load = new LoadLimit({ ...LIMITS, inFlight: 10 }, ON_TIME);
      const server = createHttpServer(routes, { load });
      const { port } = await server.listen({ port: 0, host: '127.0.0.1' });
      const get = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nHost: x\r\n${more}\r\n`;
      const last = get('/quick', 'Connection: close\r\n');
      const others = Array.from({ length: 9 }, () => statusesInTurn(port, [get('/held'), last]));
      await until(() => load.inFlight === 9, 'nine of ten places are taken');
      expect(await statusesInTurn(port, [...Array(3).fill(get('/quick')), last])).toEqual([200, 200, 200, 503]);
      expect(await statusesInTurn(port, [last])).toEqual([200]);
      held.resolve();
      expect((await Promise.all(others)).flat()).toEqual(Array(18).fill(200));
      await server.close(0, () => {});
    });
  });
});

describe('delays of rejections', () => {
  describe('RejectionDelay', () => {
    it('delays rejections beyond a connection’s limit per second until that second is over', () => {
      let now = 0;
      const delay = new RejectionDelay({ perSecond: 2, waiting: 10 }, () => now);
      const socket = new Socket();
      expect([delay.delayMs(socket), delay.delayMs(socket)]).toEqual([0, 0]);
      now = 400;
      expect(delay.delayMs(socket)).toBe(600);
      expect(delay.delayMs(new Socket())).toBe(0);
      now = 1_000;
      expect([delay.delayMs(socket), delay.delayMs(socket), delay.delayMs(socket)]).toEqual([0, 0, 1_000]);
    });

    it('lets 20 rejections a second go, and 1,000 wait, if nobody says how many', () => {
      const delay = new RejectionDelay(undefined, () => 0);
      const socket = new Socket();
      const delays = Array.from({ length: 22 }, () => delay.delayMs(socket));
      expect(delays).toEqual([...Array(20).fill(0), 1_000, 1_000]);
      expect([delay.max, delay.waiting, delay.full]).toEqual([1_000, 0, false]);
      // Its own clock passes, too.
      expect(new RejectionDelay().delayMs(socket)).toBe(0);
    });

    it('counts the rejections that wait, and is full at its limit until one of them is sent', async () => {
      const delay = new RejectionDelay({ perSecond: 0, waiting: 2 });
      const waits = [delay.wait(20), delay.wait(1)];
      expect([delay.waiting, delay.full]).toEqual([2, true]);
      await waits[1];
      expect([delay.waiting, delay.full]).toEqual([1, false]);
      await waits[0];
      expect(delay.waiting).toBe(0);
    });
  });

  describe('a connection whose requests are rejected', () => {
    const rejectionDelay = new RejectionDelay({ perSecond: 3, waiting: 10 }, () => 0);
    const wait = Promise.withResolvers<void>();
    rejectionDelay.wait = () => wait.promise;
    const service = serviceForSuite({
      override: (container) => container.registerInstance(PARTS.rejectionDelay, rejectionDelay),
    });

    it('gets the same responses with a delay, while other connections get theirs without one', async () => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      const other = new Agent({ keepAlive: true, maxSockets: 1 });
      for (let time = 0; time < 3; time += 1) expect(await ask(agent)).toBe('{"error":"unauthorized"}');
      let isAnswered = false;
      const slowed = ask(agent).finally(() => {
        isAnswered = true;
      });
      for (let time = 0; time < 3; time += 1) await ask(other);
      expect(isAnswered).toBe(false);
      wait.resolve();
      expect(await slowed).toBe('{"error":"unauthorized"}');
      agent.destroy();
      other.destroy();
    });

    function ask(agent: Agent): Promise<string> {
      return new Promise((resolve, reject) => {
        const asked = request(`${service().url}/nowhere`, { agent }, (answer) => text(answer).then(resolve, reject));
        asked.on('error', reject);
        asked.end();
      });
    }
  });

  describe('a connection whose rejections are delayed, while as many wait as may', () => {
    const service = serviceForSuite({
      override: (container) => {
        const rejectionDelay = new RejectionDelay({ perSecond: 3, waiting: 0 }, () => 0);
        container.registerInstance(PARTS.rejectionDelay, rejectionDelay);
      },
    });

    it('is answered at once and closed', async () => {
      const refused = Array(6).fill('GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n');
      expect(await statusesInTurn(service().port, refused)).toEqual([401, 401, 401, 401]);
    });
  });

  describe('a rejection that waits', () => {
    it('is counted, and holds no header fields', async () => {
      const contexts: Exchange[] = [];
      const rejectionDelay = new RejectionDelay({ perSecond: 1, waiting: 2 });
      const reject = async (ctx: Exchange) => {
        contexts.push(ctx);
        sendRefusal(ctx, httpRefusal('resource_unknown'));
      };
      const route = { path: '/rejected', access: { kind: 'public' }, methods: { GET: reject } } as const;
      const server = createHttpServer([route], { rejectionDelay });
      const { port } = await server.listen({ port: 0, host: '127.0.0.1' });
      const socket = connect(port, '127.0.0.1');
      const rejected = `GET /rejected HTTP/1.1\r\nHost: x\r\nAuthorization: Basic ${'a'.repeat(7_000)}\r\n\r\n`;
      socket.write(rejected);
      socket.once('data', () => socket.write(rejected));
      await until(() => rejectionDelay.waiting === 1, 'the second rejection waits');
      expect(contexts.map(({ req }) => req.rawHeaders.length)).toEqual([0, 0]);
      expect(contexts.at(-1)).toMatchObject({
        req: { headers: {} },
        state: { head: { authorization: { kind: 'absent' } } },
      });
      socket.destroy();
      await server.close(0, () => {});
    });
  });
});

describe('pacing of responses', () => {
  type Kind = Parameters<ResponsePacing['mustWait']>[0];

  /** Two responses of a kind in one pass. */
  const TWO = { perPass: 2, waiting: 10 };

  /** Has a response ready for each of these. Returns the names of those that were sent, as they are. */
  function ready(pacing: ResponsePacing, responses: readonly (readonly [string, Kind, Socket?])[]): string[] {
    const sent: string[] = [];
    for (const [name, kind, socket = new Socket()] of responses) {
      if (pacing.mustWait(kind)) void pacing.wait(kind, socket).then(() => sent.push(name));
      else sent.push(name);
    }
    return sent;
  }

  it('endOfPass ends for all who wait in a pass of the event loop at once, and for later ones in the next pass', async () => {
    const ended: string[] = [];
    const wait = (name: string) => endOfPass().then(() => ended.push(name));
    await nextPass();
    const all = ['one', 'two'].map(wait);
    process.nextTick(() => ended.push('what was read'));
    const later = all[0]?.then(() => wait('three'));
    await Promise.all(all);
    expect(ended).toEqual(['what was read', 'one', 'two']);
    await later;
    expect(ended.at(-1)).toBe('three');
  });

  it('endOfPass lets so many wait in a pass, and further ones go on at once, so that the load limit refuses none of them', async () => {
    expect(WAITING_MAX).toBeLessThan(LOAD_LIMITS.inFlightWhenLate);
    await nextPass();
    const ended: number[] = [];
    const all = Array.from({ length: WAITING_MAX + 3 }, (_, index) => endOfPass().then(() => ended.push(index)));
    await Promise.all(all.slice(WAITING_MAX));
    expect(ended).toEqual([64, 65, 66]);
    await Promise.all(all);
    expect(ended).toHaveLength(WAITING_MAX + 3);
  });

  describe('ResponsePacing', () => {
    it('sends the first refusals at once, and as many in each further pass, in order', async () => {
      const pacing = new ResponsePacing(TWO);
      const sent = ready(
        pacing,
        [...'abcde'].map((name) => [name, 'repeated refusal'] as const),
      );
      expect(sent).toEqual(['a', 'b']);
      await nextPass();
      expect(sent).toEqual(['a', 'b', 'c', 'd']);
      await nextPass();
      expect(sent).toEqual(['a', 'b', 'c', 'd', 'e']);
      expect(pacing.waiting).toBe(0);
    });

    it('sends a later response after those that wait', async () => {
      const pacing = new ResponsePacing(TWO);
      const sent = ready(
        pacing,
        [...'abcd'].map((name) => [name, 'repeated refusal'] as const),
      );
      await nextPass();
      const later = ready(pacing, [['e', 'repeated refusal']]);
      expect([sent, later]).toEqual([['a', 'b', 'c', 'd'], []]);
      await nextPass();
      expect(later).toEqual(['e']);
    });

    it('lets no token wait for refusals, nor for what needs no signature', () => {
      const pacing = new ResponsePacing(TWO);
      const refusals = [...'abcde'].map((name) => [name, 'repeated refusal'] as const);
      const keySets = [...'vwxyz'].map((name) => [name, 'other'] as const);
      expect(ready(pacing, [...refusals, ...keySets, ['token', 'token']])).toEqual(['a', 'b', 'v', 'w', 'token']);
    });

    it('forgets what it sent when a pass is over', async () => {
      const pacing = new ResponsePacing(TWO);
      for (let pass = 0; pass < 3; pass += 1) {
        const sent = ready(
          pacing,
          [...'ab'].map((name) => [name, 'repeated refusal'] as const),
        );
        expect(sent).toEqual(['a', 'b']);
        await nextPass();
      }
    });

    it('gives no place to a connection that was closed', async () => {
      const pacing = new ResponsePacing(TWO);
      const closed = new Socket().destroy();
      const sent = ready(pacing, [
        ['a', 'repeated refusal'],
        ['b', 'repeated refusal'],
        ['closed', 'repeated refusal', closed],
        ['c', 'repeated refusal'],
        ['d', 'repeated refusal'],
      ]);
      await nextPass();
      expect(sent).toEqual(['a', 'b', 'closed', 'c', 'd']);
    });

    it('is full when as many responses wait as may', async () => {
      const pacing = new ResponsePacing({ perPass: 1, waiting: 2 });
      ready(
        pacing,
        [...'abc'].map((name) => [name, 'repeated refusal'] as const),
      );
      expect([pacing.waiting, pacing.max, pacing.full]).toEqual([2, 2, true]);
      await nextPass();
      expect([pacing.waiting, pacing.full]).toEqual([1, false]);
    });
  });

  describe('a response that would wait, while as many wait as may', () => {
    it('is sent at once and ends its connection', async () => {
      const refuse = {
        GET: async (ctx: Parameters<typeof sendRefusal>[0]) => sendRefusal(ctx, httpRefusal('route_unknown')),
      };
      const route = { path: '/refused', access: { kind: 'public' }, methods: refuse } as const;
      const server = createHttpServer([route], { responsePacing: new ResponsePacing({ perPass: 0, waiting: 0 }) });
      const { port } = await server.listen({ port: 0, host: '127.0.0.1' });
      expect(await statusesInTurn(port, Array(3).fill('GET /refused HTTP/1.1\r\nHost: x\r\n\r\n'))).toEqual([404]);
      await server.close(0, () => {});
    });
  });
});

describe('memory of requests', () => {
  const REQUESTS = 200;
  const BODY_BYTES = 15_000;

  setFlagsFromString('--expose-gc');
  const collectGarbage: () => void = runInNewContext('gc');

  const heapBytes = () => {
    collectGarbage();
    return process.memoryUsage().heapUsed;
  };

  /** Sends requests with large bodies, and expects that far less of each is kept. */
  async function expectLittleKept(ask: (number: number) => Promise<{ readonly status: number }>, status: number) {
    for (let number = 0; number < 50; number += 1) await ask(number);
    const before = heapBytes();
    for (let number = 50; number < 50 + REQUESTS; number += 1) expect((await ask(number)).status).toBe(status);
    expect(heapBytes() - before).toBeLessThan((REQUESTS * BODY_BYTES) / 2);
  }

  const PAD = 'x'.repeat(BODY_BYTES);

  describe('what the service keeps of a request', () => {
    const service = serviceForSuite({ environment: { CLIENT_SECRET_COST: '4' } });

    it('is far less than its body, when it counts a failed attempt', () =>
      expectLittleKept((number) => {
        const [client_id, client_secret] = [`an-unknown-client-${number}`, 'a-wrong-secret'];
        return requestToken(service().url, { grant_type: 'client_credentials', client_id, client_secret, more: PAD });
      }, 401));
  });

  describe('what the service keeps of a request behind a proxy', () => {
    it('is far less than its header fields, when it knows the address from one of them', () => {
      const addresses: string[] = [];
      const addressOf = clientAddressBehind([{ address: '127.0.0.1', prefixBits: 8 }]);
      const requestFrom = (number: number) => {
        const line = `${PAD.slice(0, 7_000)}${number}, 203.0.113.${100 + (number % 100)}`;
        return { socket: { remoteAddress: '127.0.0.1' }, rawHeaders: ['X-Forwarded-For', line] } as IncomingMessage;
      };
      const before = heapBytes();
      for (let number = 0; number < REQUESTS; number += 1) addresses.push(addressOf(requestFrom(number)));
      expect(addresses[7]).toBe('203.0.113.107');
      expect(heapBytes() - before).toBeLessThan((REQUESTS * 7_000) / 2);
    });
  });
});
