import { describe, expect, it } from '@jest/globals';
import {
  type Countable,
  type CountableCaller,
  LOAD_LIMITS,
  LoadLimit,
} from '../../../adapters/http/admission/load-limit.ts';
import type { Exchange } from '../../../adapters/http/server/exchange.ts';
import { sendRaw } from '../../support/http.ts';
import { createHttpServer } from '../../support/http-server.ts';
import { until } from '../../support/until.ts';

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

/** Blocks the event loop. */
function block(milliseconds: number): void {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}

describe('a request that waits for a verification', () => {
  function countedCaller(load: LoadLimit): CountableCaller {
    const caller = { network: '192.0.2.1', disconnected: new AbortController().signal, request: {} };
    expect(load.enter(caller.request)).toBe(true);
    return caller;
  }

  /** So many requests that wait for the same, and are counted again if it is true. */
  async function waitTogether(load: LoadLimit, count: number, outcome: Promise<boolean>) {
    const callers: CountableCaller[] = [];
    const waiting = Array.from({ length: count }, () => {
      const caller = countedCaller(load);
      callers.push(caller);
      const waits = load.waitUncounted(caller, () => outcome, Boolean);
      expect(load.inFlight).toBe(0);
      return waits;
    });
    return { callers, outcomes: await Promise.allSettled(waiting) };
  }

  it('counts again when there is more work for it, up to the limit, and goes on in any case', async () => {
    const load = new LoadLimit(LIMITS, ON_TIME);
    const { callers, outcomes } = await waitTogether(load, 5, Promise.resolve(true));
    expect(outcomes).toEqual(Array(5).fill({ status: 'fulfilled', value: true }));
    expect(load.inFlight).toBe(3);
    for (const { request } of callers) load.leave(request);
    expect(load.inFlight).toBe(0);
  });

  it.each([
    ['is refused', () => Promise.resolve(false)],
    ['ends with a fault', () => Promise.reject(new Error('the caller has disconnected'))],
  ])('counts no more when it %s', async (_case, outcome) => {
    const load = new LoadLimit(LIMITS, ON_TIME);
    const { callers } = await waitTogether(load, 5, outcome());
    expect(load.inFlight).toBe(0);
    for (const { request } of callers) load.leave(request);
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
    const statuses = async (text: string) => {
      const received = await sendRaw(port, `${text}${get('/quick', 'Connection: close\r\n')}`);
      return [...received.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status);
    };
    const others = Array.from({ length: 9 }, () => statuses(get('/held')));
    await until(() => load.inFlight === 9, 'nine of ten places are taken');
    expect(await statuses(get('/quick').repeat(3))).toEqual(['200', '200', '200', '503']);
    expect(await statuses('')).toEqual(['200']);
    held.resolve();
    expect((await Promise.all(others)).flat()).toEqual(Array(18).fill('200'));
    await server.close(0, () => {});
  });
});
