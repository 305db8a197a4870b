import { Agent, request } from 'node:http';
import { connect, Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from '@jest/globals';
import { RejectionDelay } from '../../../adapters/http/admission/rejection-delay.ts';
import { type Exchange, sendRefusal } from '../../../adapters/http/server/exchange.ts';
import { httpRefusal } from '../../../adapters/http/server/http-refusal.ts';
import { PARTS } from '../../../config/parts.ts';
import { sendRaw } from '../../support/http.ts';
import { createHttpServer } from '../../support/http-server.ts';
import { until } from '../../support/until.ts';
import { serviceForSuite } from './service-for-suite.ts';

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

  it('gets the same answers with a delay, while other connections get theirs without one', async () => {
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
    const received = await sendRaw(service().port, 'GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(6));
    expect(received.match(/HTTP\/1\.1 401/g)).toHaveLength(4);
    expect(received.match(/Connection: close/gi)).toHaveLength(1);
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
    socket.write(`GET /rejected HTTP/1.1\r\nHost: x\r\nAuthorization: Basic ${'a'.repeat(7_000)}\r\n\r\n`.repeat(2));
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
