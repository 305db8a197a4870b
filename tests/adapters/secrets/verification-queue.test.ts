import { afterEach, describe, expect, it } from '@jest/globals';
import {
  OVERFLOW_LOOK_UPS_MAX,
  SHARES_MAX,
  VerificationQueue,
  type VerificationQueueLimits,
} from '../../../adapters/secrets/verification-queue.ts';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';
import type { SecretVerdict } from '../../../application/ports/secret-verifier.ts';
import { SlotsExhausted } from '../../../application/ports/verification-slots.ts';
import {
  describeVerificationSlots,
  heldVerification,
  settled,
  slotRequest,
  verifyInSlot,
} from '../../contracts/verification-slots.ts';
import { A_CALLER } from '../../support/a-caller.ts';

const COST = 4;
const LIMITS: VerificationQueueLimits = {
  concurrent: 1,
  fifoRounds: 2 * 2 ** COST,
  overflow: 100,
  unanswered: 1_000,
  waitMs: 60_000,
};

describeVerificationSlots('VerificationQueue', () => new VerificationQueue({ ...LIMITS, fifoRounds: 8 * 2 ** COST }));

/** A queue, and the names of the verifications in the order in which they began. `step` ends the one that runs. */
function world(limits: Partial<VerificationQueueLimits> = {}) {
  const queue = new VerificationQueue({ ...LIMITS, ...limits });
  const began: string[] = [];
  const running: ReturnType<typeof heldVerification>[] = [];
  const verify = (name: string, request: Parameters<typeof slotRequest>[0] = {}) => {
    const verified = verifyInSlot(queue, slotRequest({ clientId: name, cost: COST, ...request }), () => {
      began.push(name);
      const held = heldVerification();
      running.push(held);
      return held.verify();
    });
    // A test that needs the outcome awaits it.
    verified.catch(() => {});
    return verified;
  };
  const step = async (verdict: SecretVerdict = 'mismatch') => {
    await settled();
    running.shift()?.end(verdict);
    await settled();
  };
  /** Starts one, and fills the FIFO queue of two behind it. */
  const fillFifo = () => {
    const [first, ...fifo] = ['running', 'fifo', 'fifo'].map((name) => verify(name, { registered: false }));
    return { first, fifo };
  };
  opened.push(queue);
  return { queue, began, verify, step, fillFifo };
}

/** A caller at this address. */
const at = (network: string) => ({ ...A_CALLER, network });

const opened: VerificationQueue[] = [];
afterEach(() => {
  for (const queue of opened.splice(0)) queue.close();
});

describe('VerificationQueue', () => {
  it('never runs more verifications at once than its limit', async () => {
    const { began, verify, step } = world({ concurrent: 2 });
    for (const name of ['a', 'b', 'c', 'd']) void verify(name);
    await settled();
    expect(began).toEqual(['a', 'b']);
    await step();
    expect(began).toEqual(['a', 'b', 'c']);
  });

  it('serves a client in the overflow queue next, however many requests of another client wait before it', async () => {
    const { began, verify, step, fillFifo } = world();
    fillFifo();
    for (let count = 0; count < 20; count += 1) void verify('flooding');
    await step();
    expect(began).toEqual(['running', 'flooding']);
    void verify('good');
    await step();
    await step();
    expect(began).toEqual(['running', 'flooding', 'fifo', 'good']);
  });

  it('puts all unregistered ids in one client queue', async () => {
    const { began, verify, step, fillFifo } = world();
    fillFifo();
    for (let count = 0; count < 20; count += 1) void verify(`unknown ${count}`, { registered: false });
    void verify('good');
    for (let count = 0; count < 4; count += 1) await step();
    expect(began).toContain('good');
  });

  it('serves a client at another address soon, however many registered clients are guessed at one address', async () => {
    const { began, verify, step, fillFifo } = world();
    fillFifo();
    for (let count = 0; count < 90; count += 1) void verify(`guessed ${count}`);
    for (let count = 0; count < 5; count += 1) void verify('good', { caller: at(`198.51.100.${count}`) });
    for (let count = 0; count < 14; count += 1) await step();
    expect(began.filter((name) => name === 'good')).toHaveLength(5);
  });

  it('serves a new client before clients whose guesses were verified, at the same address too', async () => {
    const { began, verify, step, fillFifo } = world();
    fillFifo();
    const guesses = () => {
      for (let count = 0; count < 8; count += 1) void verify(`guessed ${count}`);
    };
    guesses();
    while (!began.includes('guessed 7')) await step();
    guesses();
    fillFifo();
    while (began.lastIndexOf('guessed 0') < began.indexOf('guessed 7')) await step();
    void verify('good');
    for (let count = 0; count < 3; count += 1) await step();
    expect(began).toContain('good');
  });

  it('serves the owner of a client id soon, however many addresses guess its secret', async () => {
    const { began, verify, step, fillFifo } = world();
    fillFifo();
    for (let count = 0; count < 80; count += 1)
      void verify('guess', { clientId: 'x', caller: at(`10.0.${count % 4}.1`) });
    void verify('owner', { clientId: 'x', caller: at('198.51.100.1') });
    for (let count = 0; count < 12; count += 1) await step();
    expect(began).toContain('owner');
  });

  it('serves a registered client soon, however many addresses guess for unknown ids', async () => {
    const { began, verify, step, fillFifo } = world();
    fillFifo();
    for (let count = 0; count < 90; count += 1) {
      void verify(`unknown ${count}`, { registered: false, caller: at(`10.0.${count}.1`) });
    }
    for (let count = 0; count < 5; count += 1) void verify('good', { clientId: `good ${count}` });
    for (let count = 0; count < 26; count += 1) await step();
    expect(began.filter((name) => name === 'good')).toHaveLength(5);
  });

  it('shares by work: a client with expensive verifications is served proportionally less often', async () => {
    const { began, verify, step, fillFifo } = world();
    fillFifo();
    for (let count = 0; count < 3; count += 1) void verify('expensive', { cost: COST + 2 });
    for (let count = 0; count < 9; count += 1) void verify('cheap');
    for (let count = 0; count < 15; count += 1) await step();
    const overflow = began.filter((name) => name === 'expensive' || name === 'cheap');
    expect(overflow.slice(0, 11).filter((name) => name === 'cheap')).toHaveLength(8);
  });

  it('answers a right secret from the overflow queue as soon as it is verified', async () => {
    const { began, verify, step, fillFifo } = world();
    fillFifo();
    const good = verify('good');
    while (!began.includes('good')) await step();
    await step('match');
    expect(await good).toBe('match');
  });

  it('answers every other request in the overflow queue when the waiting time is over: wrong secret, unknown id and not verified', async () => {
    const { began, verify, step, fillFifo } = world({ waitMs: 300 });
    fillFifo();
    const begin = performance.now();
    const times: number[] = [];
    // Counts time as this process sees it: a busy machine stretches the ticks as it stretches the answers.
    const ticksAtAnswer: number[] = [];
    let ticks = 0;
    const ticking = setInterval(() => (ticks += 1), 10);
    const overflow = [verify('wrong'), verify('unknown', { registered: false }), verify('wrong')].map((verified) =>
      verified.finally(() => {
        times.push(performance.now() - begin);
        ticksAtAnswer.push(ticks);
      }),
    );
    const outcomes = Promise.allSettled(overflow);
    while (!began.includes('wrong') || !began.includes('unknown')) await step();
    await step();
    expect(times).toEqual([]);
    for (const outcome of await outcomes) {
      expect(outcome).toMatchObject({
        status: 'rejected',
        reason: { cause: { message: 'no slot was free in time' } },
      });
    }
    clearInterval(ticking);
    expect(Math.min(...times)).toBeGreaterThanOrEqual(299);
    expect(Math.max(...ticksAtAnswer) - Math.min(...ticksAtAnswer)).toBeLessThan(5);
  });

  it.each(['registered', 'unknown'])(
    'serves the FIFO queue at the same speed beside an overflow queue of %s clients',
    async (kind) => {
      const { began, verify, step, fillFifo } = world({ fifoRounds: 6 * 2 ** COST });
      fillFifo();
      for (let count = 0; count < 4; count += 1) void verify('fifo', { registered: false });
      for (let count = 0; count < 10; count += 1)
        void verify(`overflow ${count}`, { registered: kind === 'registered' });
      for (let count = 0; count < 12; count += 1) await step();
      expect(began.map((name) => name.split(' ')[0])).toEqual([
        'running',
        ...Array.from({ length: 6 }, () => ['overflow', 'fifo']).flat(),
      ]);
    },
  );

  it('refuses at once when its limit of unanswered requests is reached, and accepts the next one when a request is answered', async () => {
    const { queue, verify, step, fillFifo } = world({ unanswered: 3 });
    fillFifo();
    void verify('overflow');
    await settled();
    expect(queue.load).toEqual({ running: 1, fifo: 2, overflow: 1, unanswered: 3 });
    await expect(verify('one too many')).rejects.toThrow(SlotsExhausted);
    // A request from the overflow queue is verified, and waits for its answer all the same; one from the FIFO queue is answered.
    await step();
    await expect(verify('still one too many')).rejects.toThrow(SlotsExhausted);
    await step();
    void verify('again');
    expect(queue.load).toEqual({ running: 1, fifo: 2, overflow: 0, unanswered: 3 });
  });

  it('accepts another client in a full overflow queue, and evicts the newest request of the longest client queue', async () => {
    const { queue, began, verify, step, fillFifo } = world({ overflow: 3 });
    fillFifo();
    const flooding = [1, 2, 3].map(() => verify('flooding'));
    await settled();
    void verify('good');
    await settled();
    expect(queue.load).toEqual({ running: 1, fifo: 2, overflow: 3, unanswered: 6 });
    for (let count = 0; count < 8; count += 1) await step();
    expect(began.filter((name) => name === 'good')).toHaveLength(1);
    expect(began.filter((name) => name === 'flooding')).toHaveLength(2);
    queue.close();
    for (const verified of flooding) await expect(verified).rejects.toThrow(DependencyUnavailable);
  });

  it.each([
    ['one address', (count: number) => ({ clientId: `guessed ${count}` })],
    ['many addresses, for one client', (count: number) => ({ clientId: 'guessed', caller: at(`10.0.${count}.1`) })],
  ])('evicts guesses from %s, and nothing of a client that has less in the full overflow queue', async (_, guess) => {
    const { began, verify, step, fillFifo } = world({ overflow: 6 });
    fillFifo();
    for (let count = 0; count < 2; count += 1) void verify('good', { caller: at('198.51.100.1') });
    await settled();
    for (let count = 0; count < 20; count += 1) void verify('guess', guess(count));
    for (let count = 0; count < 20; count += 1) await step();
    expect(began.filter((name) => name === 'good')).toHaveLength(2);
    expect(began.filter((name) => name === 'guess')).toHaveLength(4);
  });

  it('puts a renewal in the FIFO queue however full it is, since its secret was right', async () => {
    const { queue, verify, fillFifo } = world();
    fillFifo();
    void verify('cached', { purpose: 'renewal' });
    await settled();
    expect(queue.load).toEqual({ running: 1, fifo: 3, overflow: 0, unanswered: 3 });
  });

  it('gives a request that has waited before only the rest of its time', async () => {
    const { verify, fillFifo } = world();
    fillFifo();
    await expect(verify('selected late', { waitMs: 20 })).rejects.toMatchObject({
      cause: { message: 'no slot was free in time' },
    });
  });

  it('does not look a client up unless its request overflows', async () => {
    const { verify } = world();
    const asked: string[] = [];
    for (const name of ['running', 'fifo', 'fifo', 'overflow']) {
      const isRegistered = async () => {
        asked.push(name);
        return true;
      };
      void verify(name, { isRegistered });
    }
    await settled();
    expect(asked).toEqual(['overflow']);
  });

  it('looks up so many clients at once for the overflow queue, and none for callers who have left meanwhile', async () => {
    const { queue, verify, fillFifo } = world({ unanswered: 100 });
    fillFifo();
    const lookUps: PromiseWithResolvers<boolean>[] = [];
    const isRegistered = () => {
      const lookUp = Promise.withResolvers<boolean>();
      lookUps.push(lookUp);
      return lookUp.promise;
    };
    const leaving = new AbortController();
    for (let count = 0; count < OVERFLOW_LOOK_UPS_MAX; count += 1) void verify(`client-${count}`, { isRegistered });
    void verify('left', { isRegistered, caller: { ...A_CALLER, disconnected: leaving.signal } });
    for (const name of ['next', 'last']) void verify(name, { isRegistered });
    await settled();
    expect(lookUps).toHaveLength(OVERFLOW_LOOK_UPS_MAX);
    leaving.abort();
    lookUps[0]?.resolve(true);
    lookUps[1]?.reject(new Error('a fault'));
    await settled();
    expect(lookUps).toHaveLength(OVERFLOW_LOOK_UPS_MAX + 2);
    for (const { resolve } of lookUps) resolve(false);
    await settled();
    expect(queue.load).toMatchObject({ overflow: OVERFLOW_LOOK_UPS_MAX + 1 });
  });

  it('looks up the next clients if a worker does not answer the look-ups before', async () => {
    const { verify, fillFifo } = world({ waitMs: 50 });
    fillFifo();
    const never = () => new Promise<boolean>(() => {});
    const hanging = Array.from({ length: OVERFLOW_LOOK_UPS_MAX }, (_, n) => verify(`${n}`, { isRegistered: never }));
    await Promise.allSettled(hanging);
    // Those in the FIFO queue were refused too.
    for (const name of ['fifo', 'fifo']) void verify(name, { registered: false });
    let asked = false;
    const answered = verify('next', {
      isRegistered: async () => {
        asked = true;
        return true;
      },
    });
    await Promise.allSettled([answered]);
    expect(asked).toBe(true);
  });

  it('passes on the fault of a look-up, and forgets the request', async () => {
    const { queue, verify, fillFifo } = world();
    fillFifo();
    const outage = new DependencyUnavailable('client repository', new Error('connection refused'));
    await expect(verify('overflow', { isRegistered: () => Promise.reject(outage) })).rejects.toBe(outage);
    await settled();
    expect(queue.load).toEqual({ running: 1, fifo: 2, overflow: 0, unanswered: 2 });
  });

  it('grants no slot to a caller who disconnects during the look-up', async () => {
    const { queue, began, verify, step, fillFifo } = world();
    fillFifo();
    const registered = Promise.withResolvers<boolean>();
    const leaving = new AbortController();
    const caller = { ...A_CALLER, disconnected: leaving.signal };
    const left = verify('left', { caller, isRegistered: () => registered.promise });
    leaving.abort();
    registered.resolve(true);
    await expect(left).rejects.toThrow(DependencyUnavailable);
    for (let count = 0; count < 4; count += 1) await step();
    expect(began).not.toContain('left');
    expect(queue.load).toEqual({ running: 0, fifo: 0, overflow: 0, unanswered: 0 });
  });

  it('keeps nothing of requests that were answered', async () => {
    const { queue, verify, step, fillFifo } = world({ waitMs: 20 });
    const { first, fifo } = fillFifo();
    await Promise.allSettled([...fifo, verify('overflow'), verify('overflow')]);
    await step();
    await first;
    expect(queue.load).toEqual({ running: 0, fifo: 0, overflow: 0, unanswered: 0 });
  });

  it('lets the running verification end when it is closed, and refuses all others', async () => {
    const { queue, verify, step, fillFifo } = world();
    const { first, fifo } = fillFifo();
    const overflow = verify('overflow');
    await settled();
    queue.close();
    for (const verified of [...fifo, overflow, verify('too late')]) {
      await expect(verified).rejects.toThrow(DependencyUnavailable);
    }
    await step('match');
    expect(await first).toBe('match');
  });

  it('says what bounds it, and how many shares it remembers', async () => {
    const { queue, verify, step, fillFifo } = world();
    expect(queue.limits).toEqual(LIMITS);
    expect([queue.shares, SHARES_MAX]).toEqual([0, 20_000]);
    expect(queue.hasAttemptsLeft()).toBe(true);
    fillFifo();
    void verify('overflow');
    void verify('elsewhere', { caller: at('198.51.100.1') });
    for (let count = 0; count < 4; count += 1) await step();
    // Two clients and two addresses.
    expect(queue.shares).toBe(4);
  });

  it('holds 0.2 s of work at cost 10 for each verification that runs, and 8,192 requests, if nobody says how much', () => {
    const { limits } = new VerificationQueue();
    expect(limits).toEqual({ concurrent: 1, fifoRounds: 4_096, overflow: 512, unanswered: 8_192, waitMs: 2_000 });
  });

  it('lets as many rounds wait in the FIFO queue for each verification that runs', async () => {
    const { queue, verify } = world({ concurrent: 2, fifoRounds: 2 * 2 ** COST });
    for (let count = 0; count < 7; count += 1) void verify(`client ${count}`);
    await settled();
    expect(queue.load).toEqual({ running: 2, fifo: 4, overflow: 1, unanswered: 5 });
  });

  it('lets one request wait in the FIFO queue, whatever it costs', async () => {
    const { queue, verify } = world({ fifoRounds: 1 });
    for (const name of ['running', 'fifo', 'overflow']) void verify(name, { cost: 14 });
    await settled();
    expect(queue.load).toEqual({ running: 1, fifo: 1, overflow: 1, unanswered: 2 });
  });

  it('alternates between clients and addresses, so that neither many clients nor many addresses get all of the work', async () => {
    const { began, verify, step } = world({ fifoRounds: 1 });
    void verify('running');
    void verify('fifo');
    for (let count = 0; count < 6; count += 1)
      void verify(`many clients`, { clientId: `c${count}`, caller: at('10.0.0.1') });
    for (let count = 0; count < 6; count += 1)
      void verify(`many addresses`, { clientId: 'one', caller: at(`10.0.1.${count}`) });
    for (let count = 0; count < 8; count += 1) await step();
    const overflow = began.filter((name) => name.startsWith('many')).slice(0, 6);
    expect(overflow.filter((name) => name === 'many clients').length).toBeGreaterThanOrEqual(2);
    expect(overflow.filter((name) => name === 'many addresses').length).toBeGreaterThanOrEqual(2);
  });

  it('says why it refuses: no slot in time, the caller has disconnected, the look-up or the verification failed, the service stops', async () => {
    const { queue, verify, fillFifo } = world();
    const because = (message: string) => ({ dependency: 'secret verification', cause: { message } });
    const slot = await queue.acquire(slotRequest());
    fillFifo();
    const gone = { ...A_CALLER, disconnected: AbortSignal.abort() };
    await expect(verify('gone', { caller: gone })).rejects.toMatchObject(because('the caller has disconnected'));
    const failing = { isRegistered: () => Promise.reject(new Error('a bug')) };
    await expect(verify('broken', failing)).rejects.toMatchObject(because('the look-up failed'));
    await expect(verify('late', { waitMs: 10 })).rejects.toMatchObject(because('no slot was free in time'));
    const waiting = verify('waiting');
    queue.close();
    await expect(waiting).rejects.toMatchObject(because('the service stops'));
    await expect(verify('new')).rejects.toMatchObject(because('the service stops'));
    slot.release();
  });

  it('starts the next verification when one fails, and frees its slot once', async () => {
    const { queue } = world({ fifoRounds: 4 * 2 ** COST });
    const first = await queue.acquire(slotRequest());
    const others = [1, 2].map(() => queue.acquire(slotRequest()));
    first.release();
    first.release();
    await settled();
    expect(queue.load).toEqual({ running: 1, fifo: 1, overflow: 0, unanswered: 1 });
    (await others[0])?.release();
    (await others[1])?.release();
    expect(queue.load).toEqual({ running: 0, fifo: 0, overflow: 0, unanswered: 0 });
  });
});
