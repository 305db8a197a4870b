import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { LOAD_LIMITS, LoadLimit } from '../../../adapters/http/admission/load-limit.ts';
import { PipelinedRequests } from '../../../adapters/http/admission/pipelined-requests.ts';
import type { Exchange } from '../../../adapters/http/server/exchange.ts';
import type { HttpServer } from '../../../adapters/http/server/http-server.ts';
import { createHttpServer } from '../../support/http-server.ts';
import { until } from '../../support/until.ts';

const MEBIBYTE = 2 ** 20;

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
  const sockets: Socket[] = [];

  beforeEach(async () => {
    held = heldRequests();
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

  const numbers = (received: string) => [...received.matchAll(/"number":"(\d+)"/g)].map(([, number]) => Number(number));

  it('are handled one after the other, in order', async () => {
    const connection = send(requests(4));
    await until(() => server.load.pipelined === 3, 'three requests wait');
    for (let number = 0; number < 4; number += 1) {
      await until(() => held.begun.length === number + 1, `request ${number} has begun`);
      expect(server.load.pipelined).toBe(3 - number);
      expect(load.inFlight).toBe(1);
      held.begun[number]?.answer();
      await until(() => numbers(connection.received).length === number + 1, `response ${number} has arrived`);
    }
    expect(numbers(connection.received)).toEqual([0, 1, 2, 3]);
    expect(server.load).toMatchObject({ connections: 1, pipelined: 0, pipelinedBytes: 0 });
  });

  it('do not wait for those of other connections', async () => {
    send(requests(2));
    await until(() => held.begun.length === 1, 'the first connection has a request in progress');
    const other = send(get(7));
    await until(() => held.begun.length === 2, 'the other connection has one too');
    held.begun[1]?.answer();
    await until(() => numbers(other.received).length === 1, 'the other connection has its response');
  });

  it('end with their connection: the one in progress hears of it at once, and no other begins', async () => {
    const connection = send(requests(5));
    await until(() => server.load.pipelined === 4, 'four requests wait');
    const [first] = held.begun;
    connection.socket.destroy();
    await until(() => first?.ctx.res.closed === true, 'the request in progress hears of it');
    expect(server.load).toMatchObject({ connections: 0, pipelined: 0, pipelinedBytes: 0 });
    expect(held.begun).toHaveLength(1);
  });

  it('may be 16; a client that pipelines more is disconnected', async () => {
    const connection = send(requests(16));
    await until(() => server.load.pipelined === 15, 'fifteen requests wait');
    connection.socket.write(get(17));
    await until(() => connection.closed, 'the client is disconnected');
    expect(server.load).toMatchObject({ connections: 0, pipelined: 0, pipelinedBytes: 0 });
    expect(held.begun).toHaveLength(1);
  });

  it('are not parsed any further when the client is disconnected, however many were read at once', async () => {
    let parsed = 0;
    const count = () => {
      parsed += 1;
    };
    subscribe('http.server.request.start', count);
    const connection = send(requests(1_000));
    await until(() => connection.closed, 'the client is disconnected');
    unsubscribe('http.server.request.start', count);
    expect(parsed).toBeGreaterThanOrEqual(17);
    expect(parsed).toBeLessThanOrEqual(20);
  });

  it('hold a bounded amount of memory, beyond which clients that pipeline are disconnected and others are not', async () => {
    const header = `X-Long: ${'a'.repeat(7_000)}\r\n`;
    const connections = Array.from({ length: 200 }, () => send(requests(15, header)));
    await until(() => connections.some(({ closed }) => closed), 'some clients are disconnected');
    await until(() => held.begun.length >= 200, 'each connection had a request in progress');
    const { pipelinedBytes } = server.load;
    expect(pipelinedBytes).toBeGreaterThan(15 * MEBIBYTE);
    expect(pipelinedBytes).toBeLessThanOrEqual(20 * MEBIBYTE);

    const other = send(get(1, header));
    const begun = held.begun.length;
    await until(() => held.begun.length > begun, 'a client that does not pipeline is served');
    held.begun.at(-1)?.answer();
    await until(() => numbers(other.received).length === 1, 'it has its response');
  });

  it('count with the body that may arrive before they begin', async () => {
    const post = (body: string) => `POST /held HTTP/1.1\r\nHost: x\r\n${body}`;
    send(
      get(0) + post(`Content-Length: 8000\r\n\r\n${'a'.repeat(8_000)}`) + post('Transfer-Encoding: chunked\r\n\r\n'),
    );
    await until(() => server.load.pipelined === 2, 'two requests wait');
    expect(server.load.pipelinedBytes).toBeGreaterThan(2 * 4_096 + 8_000 + 65_536);
  });

  it('close the connection with the response that was in progress when the server began to close', async () => {
    const connection = send(get(0));
    await until(() => held.begun.length === 1, 'the request has begun');
    const closed = server.close(60_000, () => {});
    held.begun[0]?.answer();
    await closed;
    await until(() => connection.closed, 'the connection is closed');
    expect(connection.received).toMatch(/^Connection: close\r$/m);
  });

  it('are answered if they were received before the server closes, and the last response closes the connection', async () => {
    const connection = send(requests(3));
    await until(() => server.load.pipelined === 2, 'two requests wait');
    const closed = server.close(60_000, () => {});
    for (let number = 0; number < 3; number += 1) {
      await until(() => held.begun.length === number + 1, `request ${number} has begun`);
      held.begun[number]?.answer();
    }
    await closed;
    await until(() => connection.closed, 'the connection is closed');
    expect(numbers(connection.received)).toEqual([0, 1, 2]);
    expect(connection.received.match(/Connection: close/gi)).toHaveLength(1);
  });

  it('are answered if they arrive after the server began to close, and before its last response', async () => {
    const connection = send(get(0));
    await until(() => held.begun.length === 1, 'the first request has begun');
    const closed = server.close(60_000, () => {});
    for (let number = 1; number < 4; number += 1) {
      connection.socket.write(get(number));
      await until(() => server.load.pipelined === 1, `request ${number} waits`);
      held.begun[number - 1]?.answer();
      await until(() => held.begun.length === number + 1, `request ${number} has begun`);
    }
    held.begun[3]?.answer();
    await closed;
    await until(() => connection.closed, 'the connection is closed');
    expect(numbers(connection.received)).toEqual([0, 1, 2, 3]);
    expect(connection.received.match(/Connection: close/gi)).toHaveLength(1);
  });

  it('are answered before the connection ends, if bytes that are not HTTP follow them', async () => {
    const connection = send(`${requests(3)}NONSENSE\r\n\r\n`);
    for (let number = 0; number < 3; number += 1) {
      await until(() => held.begun.length === number + 1, `request ${number} has begun`);
      held.begun[number]?.answer();
    }
    await until(() => connection.closed, 'the connection is closed');
    expect(numbers(connection.received)).toEqual([0, 1, 2]);
  });

  it('do not begin after a response that closes the connection', async () => {
    send(requests(1) + get(1, 'Connection: close\r\n') + requests(2));
    await until(() => held.begun.length === 1, 'the first request has begun');
    held.begun[0]?.answer();
    await until(() => held.begun.length === 2, 'the second request has begun');
    held.begun[1]?.answer();
    await until(() => server.load.connections === 0, 'the connection is closed');
    await delay(0);
    expect(held.begun).toHaveLength(2);
    expect(server.load).toMatchObject({ pipelined: 0, pipelinedBytes: 0 });
  });
});

describe('the memory of pipelined requests', () => {
  const requestWith = (headers: Readonly<Record<string, string>> = {}, url: string | undefined = '/a') =>
    ({ url, headers, rawHeaders: Object.entries(headers).flat() }) as unknown as IncomingMessage;
  const bytesOf = (request: IncomingMessage) => {
    const requests = new PipelinedRequests();
    requests.add(request);
    return requests.bytes;
  };

  it('is 4 KiB for each, its target, and each name and value with 32 bytes more', () => {
    expect(bytesOf(requestWith())).toBe(4_096 + 2);
    expect(bytesOf({ ...requestWith(), url: undefined } as unknown as IncomingMessage)).toBe(4_096);
    expect(bytesOf(requestWith({ host: 'x', accept: '*/*' }))).toBe(
      4_096 + 2 + (32 + 4) + (32 + 1) + (32 + 6) + (32 + 3),
    );
  });

  it.each([
    ['a body of 8,000 bytes', { 'content-length': '8000' }, 8_000],
    ['a body of 64 KiB', { 'content-length': '65536' }, 65_536],
    ['a longer body, of which no more is read ahead', { 'content-length': '16777216' }, 65_536],
    ['a body in chunks', { 'transfer-encoding': 'chunked' }, 65_536],
  ])('has room for %s', (_what, headers, body) => {
    const texts = Object.entries(headers).flat();
    const head = texts.reduce((bytes, text) => bytes + 32 + text.length, 4_096 + 2);
    expect(bytesOf(requestWith(headers))).toBe(head + body);
  });

  it('is full beyond 20 MiB, until a request is no longer there', () => {
    const requests = new PipelinedRequests();
    expect([requests.maxBytes, requests.full]).toEqual([20 * MEBIBYTE, false]);
    const request = requestWith({}, 'a'.repeat(MEBIBYTE - 4_096));
    for (let count = 0; count < 20; count += 1) requests.add(request);
    expect([requests.waiting, requests.bytes, requests.full]).toEqual([20, 20 * MEBIBYTE, false]);
    requests.add(requestWith());
    expect([requests.waiting, requests.full]).toEqual([21, true]);
    requests.delete(requestWith());
    expect([requests.waiting, requests.bytes, requests.full]).toEqual([20, 20 * MEBIBYTE, false]);
  });
});
