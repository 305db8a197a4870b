import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { afterEach, describe, expect, it } from '@jest/globals';
import { VerificationQueue } from '../../../adapters/secrets/verification-queue.ts';
import { PrimaryProcess } from '../../../adapters/workers/primary-process.ts';
import { connectToPrimary, connectToWorker, type Pipe, type PrimaryPipe } from '../../../adapters/workers/protocol.ts';
import {
  RemoteVerificationSlots,
  type SlotFunctions,
  SlotsForWorker,
} from '../../../adapters/workers/remote-verification-slots.ts';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';
import { SlotsExhausted } from '../../../application/ports/verification-slots.ts';
import {
  describeVerificationSlots,
  heldVerification,
  slotRequest,
  verifyInSlot,
} from '../../contracts/verification-slots.ts';
import { until } from '../../support/until.ts';

const LIMITS = { concurrent: 1, fifoRounds: 8 * 2 ** 4, overflow: 8, unanswered: 16, waitMs: 60_000 };

const opened: { close(): void }[] = [];
afterEach(() => {
  for (const part of opened.splice(0)) part.close();
});

function pipeOf(port: MessagePort): Pipe {
  return { send: (message) => port.postMessage(message), onMessage: (listener) => port.on('message', listener) };
}

function notCalled(): never {
  throw new Error('this test does not call this');
}

/** One queue, and two workers that get their slots from it over real message ports. */
function world(limits: Partial<typeof LIMITS> = {}) {
  const queue = new VerificationQueue({ ...LIMITS, ...limits });
  opened.push(queue);
  const workers = [1, 2].map(() => {
    const { port1, port2 } = new MessageChannel();
    opened.push(port1, port2);
    const slots: SlotsForWorker = new SlotsForWorker(queue, (id) => toWorker.isRegistered(id));
    const { acquireSlot, settleSlot, callerDisconnected, abandonSlot } = slots;
    const toWorker = connectToWorker(pipeOf(port1), {
      acquireSlot,
      settleSlot,
      callerDisconnected,
      abandonSlot,
      useAssertions: notCalled,
      findKey: notCalled,
      answerRoute: notCalled,
      secretVerified: notCalled,
      costFound: notCalled,
      health: notCalled,
    });
    const toPrimary: PrimaryPipe = connectToPrimary(pipeOf(port2), {
      start: notCalled,
      listen: notCalled,
      ping: notCalled,
      takeKeys: notCalled,
      cacheSecret: notCalled,
      isRegistered: (id) => remote.isRegistered(id),
      includeCost: notCalled,
      takeIssuerKeys: notCalled,
      reopenFiles: notCalled,
      metrics: notCalled,
      figures: notCalled,
      findRefusals: notCalled,
      stop: notCalled,
    });
    const primary = new PrimaryProcess(toPrimary, { slotMs: LIMITS.waitMs, storageMs: 0, unansweredMax: 100 });
    const remote = new RemoteVerificationSlots(primary);
    /** Does what the primary does when the worker's process has ended. */
    const die = () => {
      slots.close();
      toWorker.$close();
      toPrimary.$close();
    };
    return { remote, die };
  });
  const [one, other] = workers;
  if (one === undefined || other === undefined) throw new Error('two workers are needed');
  return { queue, one, other };
}

describeVerificationSlots('RemoteVerificationSlots', () => world().one.remote);

describe('RemoteVerificationSlots', () => {
  it('lets one worker wait until the verification of another has ended', async () => {
    const { queue, one, other } = world();
    const first = heldVerification();
    const running = verifyInSlot(one.remote, slotRequest(), first.verify);
    await until(() => queue.load.running === 1, 'the first verification runs');
    let began = false;
    const second = verifyInSlot(other.remote, slotRequest(), async () => {
      began = true;
      return 'match';
    });
    await until(() => queue.load.fifo === 1, 'the second verification waits');
    expect(began).toBe(false);
    first.end('mismatch');
    expect(await Promise.all([running, second])).toEqual(['mismatch', 'match']);
  });

  it('answers a right secret from the overflow queue at once, and a wrong one when the waiting time is over', async () => {
    const { queue, one, other } = world({ fifoRounds: 2 ** 4, waitMs: 500 });
    const held = heldVerification();
    const running = verifyInSlot(one.remote, slotRequest(), held.verify);
    await until(() => queue.load.running === 1, 'the first verification runs');
    const fifo = verifyInSlot(one.remote, slotRequest(), async () => 'mismatch');
    await until(() => queue.load.fifo === 1, 'the FIFO queue is full');
    let wrongAnswered = false;
    const wrong = verifyInSlot(one.remote, slotRequest({ clientId: 'wrong' }), async () => 'mismatch').finally(() => {
      wrongAnswered = true;
    });
    wrong.catch(() => {});
    const right = verifyInSlot(other.remote, slotRequest({ clientId: 'right' }), async () => 'match');
    await until(() => queue.load.overflow === 2, 'two requests overflow');
    held.end('mismatch');
    expect(await Promise.all([running, fifo, right])).toEqual(['mismatch', 'mismatch', 'match']);
    expect(wrongAnswered).toBe(false);
    await expect(wrong).rejects.toMatchObject({ cause: { message: 'no slot was free in time' } });
  });

  it('distinguishes a full queue from other faults', async () => {
    const { one } = world({ unanswered: 0 });
    await expect(one.remote.acquire(slotRequest())).rejects.toThrow(SlotsExhausted);
  });

  it('frees the slot of a worker that has ended, and drops its waiting requests', async () => {
    const { queue, one, other } = world();
    const running = verifyInSlot(one.remote, slotRequest(), heldVerification().verify);
    const waiting = verifyInSlot(one.remote, slotRequest(), heldVerification().verify);
    waiting.catch(() => {});
    await until(() => queue.load.fifo === 1, 'one verification runs and one waits');
    one.die();
    await expect(waiting).rejects.toThrow(DependencyUnavailable);
    expect(await verifyInSlot(other.remote, slotRequest(), async () => 'match')).toBe('match');
    await until(() => queue.load.running === 0, 'both slots are free again');
    expect(queue.load).toEqual({ running: 0, fifo: 0, overflow: 0, unanswered: 0 });
    void running;
  });

  it('frees each slot of a worker that died once, with refusals still deferred', async () => {
    const { queue, one, other } = world({ fifoRounds: 0 });
    const held = heldVerification();
    const first = verifyInSlot(one.remote, slotRequest(), held.verify);
    await until(() => queue.load.running === 1, 'the first verification runs');
    const behind = verifyInSlot(one.remote, slotRequest(), async () => 'mismatch');
    await until(() => queue.load.fifo === 1, 'the FIFO queue is full');
    const deferred = ['a', 'b', 'c'].map((clientId) =>
      verifyInSlot(one.remote, slotRequest({ clientId }), async () => 'mismatch'),
    );
    for (const refusal of deferred) refusal.catch(() => {});
    await until(() => queue.load.overflow === deferred.length, 'the others overflow');
    held.end('mismatch');
    await Promise.all([first, behind]);
    await until(() => queue.load.overflow === 0 && queue.load.running === 0, 'all are verified');
    const blocking = verifyInSlot(other.remote, slotRequest(), heldVerification().verify);
    blocking.catch(() => {});
    await until(() => queue.load.running === 1, 'a verification of the other worker runs');
    one.die();
    const next = verifyInSlot(other.remote, slotRequest(), heldVerification().verify);
    next.catch(() => {});
    await until(() => queue.load.fifo === 1, 'the next waits');
    expect(queue.load).toEqual({ running: 1, fifo: 1, overflow: 0, unanswered: 1 });
  });

  it('grants no slot to a worker that has ended', async () => {
    const queue = new VerificationQueue(LIMITS);
    opened.push(queue);
    const slots = new SlotsForWorker(queue, notCalled);
    slots.close();
    const { caller: _caller, isRegistered: _isRegistered, ...request } = slotRequest();
    await expect(slots.acquireSlot(1, { ...request, network: '192.0.2.1' })).rejects.toMatchObject({
      cause: { message: 'the worker has ended' },
    });
    expect(queue.load).toEqual({ running: 0, fifo: 0, overflow: 0, unanswered: 0 });
  });

  it('asks the worker whether the client is registered only when the request overflows, and passes a fault on', async () => {
    const { queue, one } = world({ fifoRounds: 0 });
    const asked: string[] = [];
    const request = (clientId: string, isRegistered: () => Promise<boolean>) =>
      slotRequest({
        clientId,
        isRegistered: () => {
          asked.push(clientId);
          return isRegistered();
        },
      });
    const running = verifyInSlot(
      one.remote,
      request('runs', async () => true),
      heldVerification().verify,
    );
    running.catch(() => {});
    await until(() => queue.load.running === 1, 'the first verification runs');
    const fifo = verifyInSlot(
      one.remote,
      request('waits', async () => true),
      heldVerification().verify,
    );
    fifo.catch(() => {});
    await until(() => queue.load.fifo === 1, 'the FIFO queue is full');
    expect(asked).toEqual([]);
    const outage = new DependencyUnavailable('client repository', new Error('connection refused'));
    const failing = verifyInSlot(
      one.remote,
      request('overflows', () => Promise.reject(outage)),
      heldVerification().verify,
    );
    await expect(failing).rejects.toMatchObject({ cause: { message: 'connection refused' } });
    expect(asked).toEqual(['overflows']);
  });

  it('answers a wrong secret beyond the limit of attempts with attempts_exhausted', async () => {
    const primary: SlotFunctions = {
      acquireSlot: async () => 'slow_down',
      settleSlot: async () => 'attempts_exhausted',
      callerDisconnected: async () => {},
      abandonSlot: async () => {},
    };
    const slots = new RemoteVerificationSlots(primary);
    expect(await verifyInSlot(slots, slotRequest(), async () => 'mismatch')).toBe('attempts_exhausted');
    expect(await verifyInSlot(slots, slotRequest(), async () => 'match')).toBe('match');
  });
});
