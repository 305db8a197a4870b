import type { IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { LOAD_LIMITS, LoadLimit } from '../../../adapters/http/admission/load-limit.ts';
import { readForm } from '../../../adapters/http/parsing/form.ts';
import { HTTP_TIMEOUTS, type HttpServer } from '../../../adapters/http/server/http-server.ts';
import type { Route } from '../../../adapters/http/server/koa-application.ts';
import { createHttpServer } from '../../support/http-server.ts';
import { until } from '../../support/until.ts';

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

const load = new LoadLimit(LOAD_LIMITS);
const ROUTE: Route = {
  path: '/form',
  access: { kind: 'public' },
  methods: {
    POST: async (ctx) => {
      const form = await readForm(ctx, load);
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

describe('what the server keeps of a request', () => {
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
      around: (handle) => (request, response) => {
        const { rawHeaders, headers } = request;
        seen.push({ request: new WeakRef(request), fields: [new WeakRef(rawHeaders), new WeakRef(headers)] });
        return handle(request, response);
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
