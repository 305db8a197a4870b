import { connect } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { HTTP_TIMEOUTS } from '../../../adapters/http/server/http-server.ts';
import { Lifecycle, type RunningServerParts, startServer } from '../../../adapters/http/server/running-server.ts';
import { send, sendRaw } from '../../support/http.ts';
import { createHttpServer } from '../../support/http-server.ts';
import { until } from '../../support/until.ts';

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
    expect(parts.lifecycle.readiness()).toEqual({ ready: false, reason: 'starting' });
    const server = await startServer(parts);
    expect(parts.lifecycle.readiness()).toEqual({ ready: true });
    const url = `http://${server.host}:${server.port}`;
    expect((await send(url, '/')).status).toBe(401);
    await server.stop('immediate');
    expect(parts.lifecycle.readiness()).toEqual({ ready: false, reason: 'stopping' });
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
  it('closes the connections beyond its limit at once, and counts them', async () => {
    const server = createHttpServer([], { connectionsMax: 2 });
    const { port } = await server.listen({ port: 0, host: '127.0.0.1' });
    const open = [connect(port, '127.0.0.1'), connect(port, '127.0.0.1')];
    await until(() => server.load.connections === 2, 'two connections are open');
    expect(await sendRaw(port, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n')).toBe('');
    expect(server.load).toMatchObject({ connections: 2, dropped: 1 });
    for (const socket of open) socket.destroy();
    await until(() => server.load.connections === 0, 'they are closed');
    expect((await send(`http://127.0.0.1:${port}`, '/')).status).toBe(401);
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
