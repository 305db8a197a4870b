import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { listenOnLoopback } from '../../support/loopback-server.ts';
import { RawConnection } from '../raw-connection.ts';
import { collectInTurn, collectSpaced, FallingRate } from './collect-samples.ts';
import { type Case, idPrefix, requestFor } from './timing-cases.ts';

const CASES: readonly Case[] = ['wrong secret', 'unknown id'];
const COUNT = 50;

/** Answers 401 after this time, but 429 every tenth time if the client id is unknown. */
async function listen(milliseconds: number) {
  const opened = new AsyncDisposableStack();
  let unknown = 0;
  const server = createServer(async (request, response) => {
    const body = await text(request);
    if (body.includes(idPrefix('unknown id'))) unknown += 1;
    if (milliseconds > 0) await delay(milliseconds, undefined, { ref: false });
    response.writeHead(unknown % 10 === 9 ? 429 : 401, { 'Content-Length': 2 }).end('{}');
  });
  const port = Number(new URL(opened.use(await listenOnLoopback(server)).url).port);
  const connections = Array.from({ length: 20 }, () => opened.use(new RawConnection(port)));
  const accepts = ({ status }: { readonly status: number }) => status === 401;
  const plan = { connections, cases: CASES, clients: 3, count: COUNT, accepts, requestFor, prepare: async () => {} };
  return { plan, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

describe('collecting the times of refusals', () => {
  it('asks for every case in turn, and counts the answers that are not of the path', async () => {
    await using server = await listen(0);
    let rounds = 0;
    const prepare = async () => {
      rounds += 1;
    };
    const { times, others } = await collectInTurn({ ...server.plan, prepare });
    for (const name of CASES) expect(times.get(name)?.length).toBeGreaterThanOrEqual(COUNT);
    expect(others.get('unknown id')).toBeGreaterThan(0);
    expect(rounds).toBeGreaterThan(COUNT);
  });

  it('asks for several at a time if they wait, and measures the wait', async () => {
    await using server = await listen(20);
    const { times } = await collectSpaced(server.plan, 400);
    for (const name of CASES) {
      expect(times.get(name)?.length).toBeGreaterThanOrEqual(COUNT);
      // A timer may be early by a part of a millisecond.
      expect(Math.min(...(times.get(name) ?? []))).toBeGreaterThan(19_000);
    }
  });

  it('says that all connections wait if the rate is too high for them', async () => {
    await using server = await listen(60_000);
    await expect(collectSpaced(server.plan, 1_000)).rejects.toThrow('all connections wait');
  });

  it('halves its rate when more than a fifth of 100 answers at this rate are not of the path', () => {
    const rate = new FallingRate(80);
    const rateAfter = (perSecond: number, others: number) => {
      for (let n = 0; n < 100; n += 1) rate.add(perSecond, n >= others);
      return rate.perSecond;
    };
    expect([rateAfter(80, 20), rateAfter(80, 21), rateAfter(80, 100), rateAfter(40, 100)]).toEqual([80, 40, 40, 20]);
  });
});
