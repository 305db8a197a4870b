import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { FairQueue, SHARES_MAX } from '../../../adapters/secrets/fair-queue.ts';
import {
  ASSERTION_QUEUE_LIMITS,
  VERIFICATION_QUEUE_LIMITS,
  VerificationQueue,
  type VerificationQueueLimits,
} from '../../../adapters/secrets/verification-queue.ts';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';
import type { SecretVerdict } from '../../../application/ports/secret-verifier.ts';
import { type SlotRequest, SlotsExhausted } from '../../../application/ports/verification-slots.ts';
import {
  describeVerificationSlots,
  heldSlot,
  heldVerification,
  settled,
  slotRequest,
  verifyInSlot,
} from '../../contracts/verification-slots.ts';
import { A_CALLER } from '../../support/a-caller.ts';

const COST = 4;
const LIMITS: VerificationQueueLimits = {
  ...VERIFICATION_QUEUE_LIMITS,
  fifoRounds: 2 * 2 ** COST,
  unanswered: 1_000,
  waitMs: 60_000,
  placesOfPair: 100,
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
  const fillFifo = async () => {
    const [first, ...fifo] = ['running', 'fifo', 'fifo'].map((name) => verify(name, { registered: false }));
    await settled();
    return { first, fifo };
  };
  /** Steps until this has begun. Returns what began in the meantime. */
  const until = async (name: string) => {
    const before = began.length;
    while (!began.includes(name, before)) await step();
    return began.slice(before);
  };
  opened.push(queue);
  return { queue, began, verify, step, until, fillFifo };
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

  it('begins with the FIFO queue, first come, first served, and then serves the overflow queue in the order of arrival', async () => {
    const { began, verify, step, fillFifo } = world();
    await fillFifo();
    for (const name of ['a', 'b', 'c', 'd']) void verify(name);
    for (let count = 0; count < 6; count += 1) await step();
    expect(began).toEqual(['running', 'fifo', 'fifo', 'a', 'b', 'c', 'd']);
  });

  it('lets nobody overtake those that wait in the overflow queue', async () => {
    const { queue, verify, step, fillFifo } = world();
    await fillFifo();
    for (const name of ['a', 'b', 'c']) void verify(name);
    await step();
    void verify('late');
    await settled();
    expect(queue.load).toMatchObject({ fifo: 1, overflow: 4 });
  });

  describe('serves next, of those that wait in the overflow queue,', () => {
    const NEWCOMERS = ['new 1', 'new 2', 'new 3'];

    it.each([
      ['one client', (_count: number) => ({ clientId: 'flooding' })],
      ['unregistered ids', (count: number) => ({ clientId: `unknown ${count}`, registered: false })],
      [
        'unregistered ids at many networks',
        (count: number) => ({ clientId: `unknown ${count}`, registered: false, caller: at(`10.0.${count}.1`) }),
      ],
      ['one client at many networks', (count: number) => ({ clientId: 'flooding', caller: at(`10.0.${count}.1`) })],
    ])('clients at one network, however many requests of %s wait before them', async (_case, flood) => {
      const { verify, until, fillFifo } = world();
      await fillFifo();
      for (let count = 0; count < 90; count += 1) void verify('guess', flood(count));
      await until('guess');
      for (const name of NEWCOMERS) void verify(name);
      expect((await until('new 3')).length).toBeLessThanOrEqual(8);
    });

    it.each([
      ['registered clients are guessed at another network', (count: number) => ({ clientId: `guessed ${count}` })],
      ['secrets of the same client are guessed at another network', () => ({ clientId: 'owned' })],
      [
        'networks guess the secret of the same client',
        (count: number) => ({ clientId: 'owned', caller: at(`10.0.${count % 4}.1`) }),
      ],
    ])('a client at its own network, however many %s', async (_case, flood) => {
      const { verify, until, fillFifo } = world();
      await fillFifo();
      for (let count = 0; count < 90; count += 1) void verify('guess', flood(count));
      await until('guess');
      void verify('owner', { clientId: 'owned', caller: at('198.51.100.1') });
      expect((await until('owner')).length).toBeLessThanOrEqual(12);
    });

    it('a new client before clients whose guesses were verified, at the same network too', async () => {
      const { verify, until, fillFifo } = world();
      await fillFifo();
      const guesses = () => {
        for (let count = 0; count < 8; count += 1) void verify(`guessed ${count}`);
      };
      guesses();
      await until('guessed 0');
      guesses();
      await until('guessed 7');
      void verify('good');
      expect((await until('good')).length).toBeLessThanOrEqual(2);
    });

    it('the newest secret of a client at its network, however many guesses wait before it', async () => {
      const { verify, until, fillFifo } = world({ placesOfPair: 4 });
      await fillFifo();
      for (let count = 0; count < 90; count += 1) void verify('guess', { clientId: 'owned' });
      await until('guess');
      void verify('right', { clientId: 'owned' });
      expect((await until('right')).length).toBeLessThanOrEqual(4);
    });

    it('clients and networks in turn, so that neither many clients nor many networks get everything', async () => {
      const { began, verify, step, fillFifo } = world();
      await fillFifo();
      for (let count = 0; count < 6; count += 1) {
        void verify('many clients', { clientId: `c${count}`, caller: at('10.0.0.1') });
        void verify('many networks', { clientId: 'one', caller: at(`10.0.1.${count}`) });
      }
      for (let count = 0; count < 8; count += 1) await step();
      for (const name of ['many clients', 'many networks']) {
        expect(began.filter((other) => other === name).length).toBeGreaterThanOrEqual(2);
      }
    });
  });

  it('gives the place of a caller who disconnects back to its client', async () => {
    const { verify, until, fillFifo } = world();
    await fillFifo();
    for (let count = 0; count < 3; count += 1) void verify(`other ${count}`);
    const leaving = new AbortController();
    for (let count = 0; count < 20; count += 1) {
      void verify('left', { clientId: 'good', caller: { ...A_CALLER, disconnected: leaving.signal } });
    }
    await settled();
    leaving.abort();
    void verify('again', { clientId: 'good' });
    expect(await until('again')).not.toContain('left');
  });

  it('answers a right secret from the overflow queue as soon as it is verified', async () => {
    const { began, verify, step, fillFifo } = world();
    await fillFifo();
    const good = verify('good');
    while (!began.includes('good')) await step();
    await step('match');
    expect(await good).toBe('match');
  });

  it('answers every other request in the overflow queue when the waiting time is over: wrong secret, unknown id and not verified', async () => {
    const { began, verify, step, fillFifo } = world({ waitMs: 300 });
    await fillFifo();
    const begin = performance.now();
    const times: number[] = [];
    // Counts time as this process sees it: a busy machine stretches the ticks as it stretches the responses.
    const ticksAtResponse: number[] = [];
    let ticks = 0;
    const ticking = setInterval(() => (ticks += 1), 10);
    const [wrong, unknown] = [verify('wrong'), verify('unknown', { registered: false })];
    void verify('verified all the time');
    const overflow = [wrong, unknown, verify('waiting')].map((verified) =>
      verified.finally(() => {
        times.push(performance.now() - begin);
        ticksAtResponse.push(ticks);
      }),
    );
    const outcomes = Promise.allSettled(overflow);
    while (!began.includes('verified all the time')) await step();
    expect(times).toEqual([]);
    for (const outcome of await outcomes) {
      expect(outcome).toMatchObject({
        status: 'rejected',
        reason: { cause: { message: 'no slot was free in time' } },
      });
    }
    clearInterval(ticking);
    expect(Math.min(...times)).toBeGreaterThanOrEqual(299);
    expect(Math.max(...ticksAtResponse) - Math.min(...ticksAtResponse)).toBeLessThan(5);
  });

  it.each([
    ['registered', 'verified', true, true],
    ['registered', 'not verified', true, false],
    ['unknown', 'verified', false, true],
    ['unknown', 'not verified', false, false],
  ])(
    'refuses an attempt when four newer ones of its client at its network have come: %s, %s',
    async (_who, _what, registered, isVerified) => {
      const { began, verify, step, fillFifo } = world({ placesOfPair: 4 });
      await fillFifo();
      const order: string[] = [];
      const attempt = (name: string, caller = at('10.0.0.1')) =>
        verify(name, { clientId: 'guessed', registered, caller }).catch(({ name: fault }) =>
          order.push(`${name} ${fault}`),
        );
      void attempt('first');
      for (let count = 0; count < 9; count += 1) void verify(`other ${count}`, { registered });
      await settled();
      if (isVerified) while (!began.includes('first')) await step();
      if (isVerified) await step('mismatch');
      for (const name of ['second', 'third', 'fourth']) void attempt(name);
      void attempt('elsewhere', at('10.0.0.2'));
      await settled();
      expect(order).toEqual([]);
      void attempt('fifth');
      await settled();
      expect(order).toEqual(['first SlotsExhausted']);
    },
  );

  it('begins no verification that could hardly end before its response: late ones only wait for it', async () => {
    const { queue, began, verify, step, until, fillFifo } = world({ waitMs: 60_000 });
    await fillFifo();
    for (const name of ['late', 'too']) void verify(name);
    await settled();
    const now = performance.now() + 0.95 * 60_000;
    using _clock = jest.spyOn(performance, 'now').mockImplementation(() => now);
    void verify('in time');
    await until('in time');
    await step('match');
    expect(began).toEqual(['running', 'fifo', 'fifo', 'in time']);
    expect(queue.load).toMatchObject({ running: 0, overflow: 0, unanswered: 2 });
  });

  it('refuses at once when its limit of unanswered requests is reached, and accepts the next one when a request is answered', async () => {
    const { queue, verify, step, fillFifo } = world({ unanswered: 3 });
    await fillFifo();
    void verify('overflow');
    await settled();
    expect(queue.load).toEqual({ running: 1, fifo: 2, overflow: 1, unanswered: 3 });
    await expect(verify('one too many')).rejects.toThrow(SlotsExhausted);
    await step();
    void verify('again');
    await settled();
    expect(queue.load).toEqual({ running: 1, fifo: 1, overflow: 2, unanswered: 3 });
    // A request from the overflow queue is verified, and waits for its response all the same.
    for (let count = 0; count < 4; count += 1) await step();
    expect(queue.load).toEqual({ running: 0, fifo: 0, overflow: 0, unanswered: 2 });
  });

  it.each([
    ['each secret', {}, ['running', 'fifo', 'fifo', 'overflow']],
    ['an assertion only for the overflow queue', { looksUpFirst: false }, ['overflow']],
  ])('looks the client up for %s, before it has a slot', async (_case, limits, expected) => {
    const { began, verify } = world(limits);
    const asked: string[] = [];
    for (const name of ['running', 'fifo', 'fifo', 'overflow']) {
      const isRegistered = async () => {
        if (name === 'running') expect(began).toEqual([]);
        asked.push(name);
        return true;
      };
      void verify(name, { isRegistered });
    }
    await settled();
    expect(asked).toEqual(expected);
  });

  it('looks up so many clients at once, and none for callers who have left meanwhile', async () => {
    const { queue, verify, fillFifo } = world({ lookUps: 3 });
    await fillFifo();
    const lookUps: PromiseWithResolvers<boolean>[] = [];
    const isRegistered = () => {
      const lookUp = Promise.withResolvers<boolean>();
      lookUps.push(lookUp);
      return lookUp.promise;
    };
    const leaving = new AbortController();
    for (let count = 0; count < 3; count += 1) void verify(`client-${count}`, { isRegistered });
    void verify('left', { isRegistered, caller: { ...A_CALLER, disconnected: leaving.signal } });
    for (const name of ['next', 'last']) void verify(name, { isRegistered });
    await settled();
    expect(lookUps).toHaveLength(3);
    leaving.abort();
    lookUps[0]?.resolve(true);
    lookUps[1]?.reject(new Error('a fault'));
    await settled();
    expect(lookUps).toHaveLength(5);
    for (const { resolve } of lookUps) resolve(false);
    await settled();
    expect(queue.load).toMatchObject({ overflow: 4 });
  });

  it.each([
    ['ids that nobody has registered', (count: number) => ({ clientId: `unknown ${count}` })],
    ['guesses for the same client', () => ({ clientId: 'owned' })],
  ])('looks up a client at its own network soon, however many %s wait for theirs', async (_case, flood) => {
    const { verify } = world({ lookUps: 1 });
    const lookUps: { readonly name: string; readonly end: (isRegistered: boolean) => void }[] = [];
    const isRegistered = (name: string) => () => {
      const { promise, resolve } = Promise.withResolvers<boolean>();
      lookUps.push({ name, end: resolve });
      return promise;
    };
    for (let count = 0; count < 90; count += 1) {
      void verify('guess', { isRegistered: isRegistered('guess'), ...flood(count) });
    }
    void verify('owner', { isRegistered: isRegistered('owner'), clientId: 'owned', caller: at('198.51.100.1') });
    for (let count = 0; count < 4; count += 1) {
      await settled();
      lookUps.at(-1)?.end(false);
    }
    await settled();
    expect(lookUps.map(({ name }) => name)).toContain('owner');
  });

  it('says that the database is slow where a request waited for its look-up until its time was over, or most do in a full queue', async () => {
    const { queue, verify } = world({ waitMs: 20, lookUps: 1, unanswered: 4 });
    const never = { isRegistered: () => new Promise<boolean>(() => {}) };
    const waiting = Array.from({ length: 4 }, (_, count) => verify(`client-${count}`, never));
    const slow = { dependency: 'client repository', cause: { message: 'no look-up ended in time' } };
    await expect(verify('one too many', never)).rejects.toMatchObject(slow);
    for (const outcome of waiting) {
      const fault = await outcome.catch((reason: unknown) => reason);
      expect(fault).toMatchObject(slow);
      expect(fault).not.toBeInstanceOf(SlotsExhausted);
    }
    expect(queue.load).toEqual({ running: 0, fifo: 0, overflow: 0, unanswered: 0 });
  });

  it('looks nobody up for a refusal at once', async () => {
    const { verify } = world({ unanswered: 0 });
    const isRegistered = () => Promise.reject(new Error('looked up'));
    await expect(verify('one too many', { isRegistered })).rejects.toThrow(SlotsExhausted);
  });

  it('passes on the fault of a look-up, and forgets the request', async () => {
    const { queue, verify, fillFifo } = world();
    await fillFifo();
    const outage = new DependencyUnavailable('client repository', new Error('connection refused'));
    await expect(verify('overflow', { isRegistered: () => Promise.reject(outage) })).rejects.toBe(outage);
    await settled();
    expect(queue.load).toEqual({ running: 1, fifo: 2, overflow: 0, unanswered: 2 });
  });

  it('grants no slot to a caller who disconnects during the look-up', async () => {
    const { queue, began, verify, step, fillFifo } = world();
    await fillFifo();
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
    const { first, fifo } = await fillFifo();
    await Promise.allSettled([...fifo, verify('overflow'), verify('overflow')]);
    await step();
    await first;
    expect(queue.load).toEqual({ running: 0, fifo: 0, overflow: 0, unanswered: 0 });
  });

  it('lets the running verification end when it is closed, and refuses all others', async () => {
    const { queue, verify, step, fillFifo } = world();
    const { first, fifo } = await fillFifo();
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
    await fillFifo();
    void verify('overflow');
    void verify('elsewhere', { caller: at('198.51.100.1') });
    await settled();
    // Two clients and two networks.
    expect(queue.shares).toBe(4);
    for (let count = 0; count < 5; count += 1) await step();
    expect(queue.shares).toBe(0);
  });

  it('lets a secret wait for 10 s and an assertion for 2 s, if nobody says how long', () => {
    const { limits } = new VerificationQueue();
    expect(limits).toMatchObject({ concurrent: 1, fifoRounds: 4_096, unanswered: 8_192, waitMs: 10_000 });
    expect(ASSERTION_QUEUE_LIMITS).toMatchObject({ unanswered: 4_096, waitMs: 2_000, placesOfPair: Infinity });
  });

  it('gives the place of an item to another one, and only of one that waits', () => {
    const queue = new FairQueue<{ readonly request: SlotRequest }>();
    const items = ['a', 'b', 'b', 'a', 'a'].map((clientId) => ({ request: slotRequest({ clientId }) }));
    const [first, other, last, newer, late] = items;
    if (!first || !other || !last || !newer || !late) throw new Error('no items');
    for (const item of [first, other, last]) queue.add(item, true);
    expect([queue.replace(first, newer), queue.replace(first, late), queue.size]).toEqual([true, false, 3]);
    const taken = Array.from({ length: 4 }, () => queue.take());
    // The newer one is in the first round, as the one before it was.
    expect(taken.map((item) => item && items.indexOf(item))).toEqual([1, 3, 2, undefined]);
  });

  it('keeps no more clients and networks than its bound', () => {
    const queue = new FairQueue<{ readonly request: SlotRequest }>();
    for (let count = 0; count < 10_100; count += 1) {
      const clientId = `client-${count}`;
      queue.add({ request: slotRequest({ clientId, caller: at(clientId) }) }, true);
    }
    expect([queue.size, queue.shares]).toEqual([10_100, SHARES_MAX]);
    while (queue.take() !== undefined);
    expect([queue.size, queue.shares]).toEqual([0, 0]);
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

  it('says why it refuses: no slot in time, the caller has disconnected, the service stops', async () => {
    const { queue, verify, fillFifo } = world({ waitMs: 50 });
    const because = (message: string) => ({ dependency: 'secret verification', cause: { message } });
    const slot = await heldSlot(queue);
    await fillFifo();
    const gone = { ...A_CALLER, disconnected: AbortSignal.abort() };
    await expect(verify('gone', { caller: gone })).rejects.toMatchObject(because('the caller has disconnected'));
    await expect(verify('late')).rejects.toMatchObject(because('no slot was free in time'));
    const waiting = verify('waiting');
    queue.close();
    await expect(waiting).rejects.toMatchObject(because('the service stops'));
    await expect(verify('new')).rejects.toMatchObject(because('the service stops'));
    slot.release();
  });

  it('starts the next verification when one fails', async () => {
    const { queue } = world({ fifoRounds: 4 * 2 ** COST });
    const first = Promise.withResolvers<SecretVerdict>();
    const failing = verifyInSlot(queue, slotRequest(), () => first.promise);
    const held = [heldVerification(), heldVerification()];
    const others = held.map(({ verify }) => verifyInSlot(queue, slotRequest(), verify));
    await settled();
    expect(queue.load).toEqual({ running: 1, fifo: 2, overflow: 0, unanswered: 2 });
    first.reject(new TypeError('a bug'));
    await expect(failing).rejects.toThrow('a bug');
    await settled();
    expect(queue.load).toEqual({ running: 1, fifo: 1, overflow: 0, unanswered: 1 });
    for (const { end } of held) end('mismatch');
    await Promise.all(others);
    await settled();
    expect(queue.load).toEqual({ running: 0, fifo: 0, overflow: 0, unanswered: 0 });
  });
});
