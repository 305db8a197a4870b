import { afterEach, describe, expect, it } from '@jest/globals';
import { CheckQueue, type CheckQueueLimits } from '../../../adapters/secrets/verification-queue.ts';
import { type CheckRequest, NoRoomToWait } from '../../../application/ports/check-turns.ts';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';
import type { SecretVerdict } from '../../../application/ports/secret-verifier.ts';
import { checkRequest, describeCheckTurns, heldCheck } from '../../contracts/check-turns.ts';
import { A_CALLER } from '../../support/a-caller.ts';

const COST = 4;
const LIMITS: CheckQueueLimits = {
  atOnce: 1,
  lineRounds: 2 * 2 ** COST,
  crowd: 100,
  unanswered: 1_000,
  waitMs: 60_000,
};

describeCheckTurns('CheckQueue', () => new CheckQueue({ ...LIMITS, lineRounds: 8 * 2 ** COST }));

/** A queue, and the names of the checks in the order in which they began. `step` ends the one that runs. */
function world(limits: Partial<CheckQueueLimits> = {}) {
  const queue = new CheckQueue({ ...LIMITS, ...limits });
  const began: string[] = [];
  const running: ReturnType<typeof heldCheck>[] = [];
  const take = (name: string, request: Partial<CheckRequest> = {}) => {
    const taken = queue.take(checkRequest({ clientId: name, cost: COST, ...request }), () => {
      began.push(name);
      const held = heldCheck();
      running.push(held);
      return held.check();
    });
    // Its outcome is looked at where it matters.
    taken.catch(() => {});
    return taken;
  };
  const step = async (verdict: SecretVerdict = 'mismatch') => {
    running.shift()?.end(verdict);
    await new Promise(setImmediate);
  };
  /** Starts one, and fills the line of two behind it. */
  const fillLine = () => {
    const [first, ...line] = ['running', 'line', 'line'].map((name) => take(name, { registered: false }));
    return { first, line };
  };
  opened.push(queue);
  return { queue, began, take, step, fillLine };
}

const opened: CheckQueue[] = [];
afterEach(() => {
  for (const queue of opened.splice(0)) queue.close();
});

describe('CheckQueue', () => {
  it('never runs more checks at once than it may', async () => {
    const { began, take, step } = world({ atOnce: 2 });
    for (const name of ['a', 'b', 'c', 'd']) void take(name);
    expect(began).toEqual(['a', 'b']);
    await step();
    expect(began).toEqual(['a', 'b', 'c']);
  });

  it('lets one check run beside those that are much dearer, and no other', async () => {
    const { began, take, step } = world();
    for (const [name, cost] of [
      ['dear', 8],
      ['cheap', 4],
      ['cheap too', 4],
    ] as const)
      void take(name, { cost });
    expect(began).toEqual(['dear', 'cheap']);
    await step();
    expect(began).toEqual(['dear', 'cheap']);
    await step();
    expect(began).toEqual(['dear', 'cheap', 'cheap too']);
  });

  it('lets a client of the crowd come next, however many checks of another wait before him', async () => {
    const { began, take, step, fillLine } = world();
    fillLine();
    for (let count = 0; count < 20; count += 1) void take('flooding');
    await step();
    expect(began).toEqual(['running', 'flooding']);
    void take('good');
    await step();
    await step();
    expect(began).toEqual(['running', 'flooding', 'line', 'good']);
  });

  it('gives unknown ids one lane together', async () => {
    const { began, take, step, fillLine } = world();
    fillLine();
    for (let count = 0; count < 20; count += 1) void take(`unknown ${count}`, { registered: false });
    void take('good');
    for (let count = 0; count < 4; count += 1) await step();
    expect(began).toContain('good');
  });

  it('shares by work: a client with dear checks comes once where others come as often as their checks are cheaper', async () => {
    const { began, take, step, fillLine } = world();
    fillLine();
    for (let count = 0; count < 3; count += 1) void take('dear', { cost: COST + 2 });
    for (let count = 0; count < 9; count += 1) void take('cheap');
    for (let count = 0; count < 15; count += 1) await step();
    const crowd = began.filter((name) => name === 'dear' || name === 'cheap');
    expect(crowd.slice(0, 11).filter((name) => name === 'cheap')).toHaveLength(8);
  });

  it('answers a right secret of the crowd when its check is done', async () => {
    const { began, take, step, fillLine } = world();
    fillLine();
    const good = take('good');
    while (!began.includes('good')) await step();
    await step('match');
    expect(await good).toBe('match');
  });

  it('answers everybody else of the crowd when the waiting time is over: wrong secret, unknown id and not checked', async () => {
    const { began, take, step, fillLine } = world({ waitMs: 300 });
    fillLine();
    const begin = performance.now();
    const times: number[] = [];
    const crowd = [take('wrong'), take('unknown', { registered: false }), take('wrong')].map((taken) =>
      taken.finally(() => times.push(performance.now() - begin)),
    );
    while (!began.includes('wrong') || !began.includes('unknown')) await step();
    await step();
    expect(times).toEqual([]);
    for (const outcome of await Promise.allSettled(crowd)) {
      expect(outcome).toMatchObject({
        status: 'rejected',
        reason: { cause: { message: 'no check was free in time' } },
      });
    }
    expect(Math.min(...times)).toBeGreaterThanOrEqual(299);
    expect(Math.max(...times) - Math.min(...times)).toBeLessThan(50);
  });

  it.each(['registered', 'unknown'])('lets the line move as fast beside a crowd of %s clients', async (kind) => {
    const { began, take, step, fillLine } = world({ lineRounds: 6 * 2 ** COST });
    fillLine();
    for (let count = 0; count < 4; count += 1) void take('line', { registered: false });
    for (let count = 0; count < 10; count += 1) void take(`crowd ${count}`, { registered: kind === 'registered' });
    for (let count = 0; count < 12; count += 1) await step();
    expect(began.map((name) => name.split(' ')[0])).toEqual([
      'running',
      ...Array.from({ length: 6 }, () => ['crowd', 'line']).flat(),
    ]);
  });

  it('refuses at once where as many wait as may, and takes the next when one was answered', async () => {
    const { queue, take, step, fillLine } = world({ unanswered: 3 });
    fillLine();
    void take('crowd');
    expect(queue.load).toEqual({ running: 1, line: 2, crowd: 1 });
    await expect(take('one too many')).rejects.toThrow(NoRoomToWait);
    // The one of the crowd is checked, and waits for his answer all the same; one of the line is answered.
    await step();
    await expect(take('still one too many')).rejects.toThrow(NoRoomToWait);
    await step();
    void take('again');
    expect(queue.load).toEqual({ running: 1, line: 2, crowd: 0 });
  });

  it('has room in a full crowd for one more client, at the cost of the last of the longest lane', async () => {
    const { queue, began, take, step, fillLine } = world({ crowd: 3 });
    fillLine();
    const flooding = [1, 2, 3].map(() => take('flooding'));
    void take('good');
    expect(queue.load).toEqual({ running: 1, line: 2, crowd: 3 });
    for (let count = 0; count < 8; count += 1) await step();
    expect(began.filter((name) => name === 'good')).toHaveLength(1);
    expect(began.filter((name) => name === 'flooding')).toHaveLength(2);
    queue.close();
    for (const taken of flooding) await expect(taken).rejects.toThrow(DependencyUnavailable);
  });

  it('starts the next that may run when one that waited before it leaves', async () => {
    const { began, take } = world({ lineRounds: 10_000 });
    const leaving = new AbortController();
    void take('dear', { cost: 8 });
    void take('as dear', { cost: 8, caller: { ...A_CALLER, disconnected: leaving.signal } });
    void take('cheap');
    expect(began).toEqual(['dear']);
    leaving.abort();
    expect(began).toEqual(['dear', 'cheap']);
  });

  it('holds nothing of those who were answered', async () => {
    const { queue, take, step, fillLine } = world({ waitMs: 20 });
    const { first, line } = fillLine();
    await Promise.allSettled([...line, take('crowd'), take('crowd')]);
    await step();
    await first;
    expect(queue.load).toEqual({ running: 0, line: 0, crowd: 0 });
  });

  it('refuses what waits and what comes once it is closed, and lets what runs end', async () => {
    const { queue, take, step, fillLine } = world();
    const { first, line } = fillLine();
    const crowd = take('crowd');
    queue.close();
    for (const taken of [...line, crowd, take('too late')]) await expect(taken).rejects.toThrow(DependencyUnavailable);
    await step('match');
    expect(await first).toBe('match');
  });
});
