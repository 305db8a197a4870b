import { isDeepStrictEqual } from 'node:util';
import { MessageChannel } from 'node:worker_threads';
import { afterEach, describe, expect, it } from '@jest/globals';
import { VerificationQueue } from '../../../adapters/secrets/verification-queue.ts';
import { PrimaryProcess } from '../../../adapters/workers/primary-process.ts';
import {
  connectToPrimary,
  connectToWorker,
  type Pipe,
  type PrimaryFunctions,
  type WorkerFunctions,
} from '../../../adapters/workers/protocol.ts';
import { RemoteVerificationSlots, SlotsForWorker } from '../../../adapters/workers/remote-verification-slots.ts';
import type { VerificationSlot, VerificationSlots } from '../../../application/ports/verification-slots.ts';
import { slotRequest, verifyInSlot } from '../../contracts/verification-slots.ts';
import { until } from '../../support/until.ts';

const NO_ANSWER = { name: 'DependencyUnavailable', cause: { message: 'the primary process does not answer' } };

/** Longer than a test may take. */
const NEVER_MS = 300_000;

/** So short that tests hardly wait. What has to be answered in time is asked again, as clients do. */
const SOON_MS = 50;

const UNANSWERED_MAX = 100;

const opened: { close(): void }[] = [];
afterEach(() => {
  for (const part of opened.splice(0)) part.close();
});

/** One direction of a pipe. While it is held, its messages wait, as in a pipe that its reader does not read. */
class Direction {
  /** Messages that were sent so far. */
  sent = 0;
  #waiting: unknown[] | undefined;
  #deliver: (message: unknown) => void = () => {};

  hold(): void {
    this.#waiting = [];
  }

  /** All that waits arrives at once. */
  release(): void {
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    for (const message of waiting) this.#deliver(message);
  }

  connect(deliver: (message: unknown) => void): (message: unknown) => void {
    this.#deliver = deliver;
    return (message) => {
      if (this.#waiting === undefined) deliver(message);
      else this.#waiting.push(message);
    };
  }
}

/** A worker, and the primary with its queue: one slot, one place in the FIFO queue, and an overflow queue. */
function world(deadlineMs: number) {
  const queue = new VerificationQueue({
    concurrent: 1,
    fifoRounds: 2 ** 4,
    overflow: 8,
    unanswered: 16,
    waitMs: NEVER_MS,
  });
  const { port1, port2 } = new MessageChannel();
  opened.push(queue, port1, port2);
  const [toPrimary, toWorker] = [new Direction(), new Direction()];
  const ofPrimary: Pipe = {
    send: (message) => port1.postMessage(message),
    onMessage: (listener) => port1.on('message', toPrimary.connect(listener)),
  };
  const ofWorker: Pipe = {
    send: (message) => {
      toPrimary.sent += 1;
      port2.postMessage(message);
    },
    onMessage: (listener) => port2.on('message', toWorker.connect(listener)),
  };
  const slots: SlotsForWorker = new SlotsForWorker(queue, (id) => worker.isRegistered(id));
  const { settleSlot, callerDisconnected, abandonSlot } = slots;
  let granted = 0;
  const acquireSlot: PrimaryFunctions['acquireSlot'] = async (id, request) => {
    const answer = await slots.acquireSlot(id, request);
    if (typeof answer === 'string') granted += 1;
    return answer;
  };
  const functions = { acquireSlot, settleSlot, callerDisconnected, abandonSlot } as PrimaryFunctions;
  const worker = connectToWorker(ofPrimary, functions);
  const pipe = connectToPrimary(ofWorker, {
    isRegistered: (id: number) => remote.isRegistered(id),
  } as WorkerFunctions);
  const primary = new PrimaryProcess(pipe, {
    slotMs: deadlineMs,
    storageMs: deadlineMs,
    marginMs: 0,
    unansweredMax: UNANSWERED_MAX,
  });
  const remote = new RemoteVerificationSlots(primary);
  /** Whether the primary has answered all questions, and nobody waits for a slot or holds one. */
  const isEmpty = () => primary.unanswered === 0 && isDeepStrictEqual(queue.load, EMPTY);
  return { queue, primary, remote, toPrimary, toWorker, granted: () => granted, isEmpty };
}

const EMPTY = { running: 0, fifo: 0, overflow: 0, unanswered: 0 };

/** A primary with these functions, in the same process. */
function primaryWith(given: Partial<PrimaryFunctions>, limits: { unansweredMax?: number; deadlineMs?: number } = {}) {
  const { deadlineMs = SOON_MS, unansweredMax = UNANSWERED_MAX } = limits;
  const functions = { abandonSlot: async () => {}, ...given } as PrimaryFunctions;
  return new PrimaryProcess(functions, { slotMs: deadlineMs, storageMs: deadlineMs, marginMs: 0, unansweredMax });
}

const never = () => new Promise<never>(() => {});

/** A slot that is granted in time, at last. */
async function grantedSlot(slots: VerificationSlots): Promise<VerificationSlot> {
  let slot: VerificationSlot | 'attempts_exhausted' | undefined;
  await until(async () => {
    slot = await slots.acquire(slotRequest()).catch(() => undefined);
    return typeof slot === 'object';
  }, 'a slot is granted in time');
  if (typeof slot !== 'object') throw new Error('there is no slot');
  return slot;
}

describe('PrimaryProcess', () => {
  it('refuses all that wait for a primary that does not run, and leaves nothing behind when it runs again', async () => {
    const { queue, remote, toPrimary, isEmpty } = world(SOON_MS);
    toPrimary.hold();
    const waiting = Array.from({ length: 6 }, () => verifyInSlot(remote, slotRequest(), async () => 'match'));
    for (const refused of await Promise.allSettled(waiting)) {
      expect(refused).toMatchObject({ status: 'rejected', reason: NO_ANSWER });
    }
    // The primary reads everything at once: the questions, and behind them that nobody waits for their answers.
    toPrimary.release();
    await until(isEmpty, 'nothing is left');
    await (await grantedSlot(remote)).settle('match');
    await until(() => queue.load.running === 0, 'the slot that was granted again is free');
  });

  it('gives back a slot whose grant arrives too late, without waiting for it', async () => {
    const { queue, remote, toWorker, granted, isEmpty } = world(SOON_MS);
    toWorker.hold();
    let verified = false;
    const late = verifyInSlot(remote, slotRequest(), async () => {
      verified = true;
      return 'match';
    });
    late.catch(() => {});
    await until(() => granted() === 1, 'the primary has granted the slot');
    await expect(late).rejects.toMatchObject(NO_ANSWER);
    await until(() => queue.load.running === 0, 'the slot is free, before the late answer has arrived');
    toWorker.release();
    await until(isEmpty, 'nothing is left');
    expect(verified).toBe(false);
  });

  it('gives back a slot that was verified while the primary did not run', async () => {
    const { queue, remote, toPrimary, isEmpty } = world(SOON_MS);
    const slot = await grantedSlot(remote);
    toPrimary.hold();
    await expect(remote.acquire(slotRequest())).rejects.toMatchObject(NO_ANSWER);
    expect(await slot.settle('match')).toBe('match');
    expect(queue.load.running).toBe(1);
    toPrimary.release();
    await until(isEmpty, 'nothing is left');
  });

  it('sends nothing to a primary that does not run, until a message shows that it does', async () => {
    const { primary, remote, toPrimary } = world(SOON_MS);
    toPrimary.hold();
    await expect(remote.acquire(slotRequest())).rejects.toMatchObject(NO_ANSWER);
    const { sent } = toPrimary;
    for (let count = 0; count < 3; count += 1) {
      await expect(remote.acquire(slotRequest())).rejects.toMatchObject(NO_ANSWER);
    }
    expect(toPrimary.sent).toBe(sent);
    primary.heard();
    await expect(remote.acquire(slotRequest())).rejects.toMatchObject(NO_ANSWER);
    expect(toPrimary.sent).toBeGreaterThan(sent);
  });

  it('refuses one question only, if the primary runs and that answer is late', async () => {
    let asked = 0;
    const primary = primaryWith({
      findKey: async () => {
        asked += 1;
        return never();
      },
    });
    for (let count = 1; count <= 3; count += 1) {
      const late = primary.findKey('a-key');
      primary.heard();
      await expect(late).rejects.toMatchObject(NO_ANSWER);
      expect(asked).toBe(count);
    }
  });

  it('refuses a deferred answer that does not come', async () => {
    const slots = new RemoteVerificationSlots(primaryWith({ acquireSlot: async () => 'deferred', settleSlot: never }));
    await expect(verifyInSlot(slots, slotRequest(), async () => 'match')).rejects.toMatchObject(NO_ANSWER);
  });

  it('refuses an assertion whose use is not recorded in time, and a key that is not found in time', async () => {
    const use = { clientId: 'a', assertionId: '1', keptSeconds: 60 };
    const used = primaryWith({ useAssertions: never }).useAssertions([use]);
    await expect(used).rejects.toMatchObject({ ...NO_ANSWER, dependency: 'used assertions' });
    const found = primaryWith({ findKey: never }).findKey('a-key');
    await expect(found).rejects.toMatchObject({ ...NO_ANSWER, dependency: 'key directory' });
  });

  it('says why there is no answer if the pipe is closed', async () => {
    const primary = primaryWith({ findKey: () => Promise.reject(new Error('the pipe is closed')) });
    await expect(primary.findKey('a-key')).rejects.toMatchObject({
      ...NO_ANSWER,
      dependency: 'key directory',
      cause: { message: 'the pipe is closed' },
    });
  });

  it('has at most so many questions without an answer, those beyond their deadline included', async () => {
    const answers: PromiseWithResolvers<undefined>[] = [];
    const primary = primaryWith(
      {
        findKey: () => {
          const answer = Promise.withResolvers<undefined>();
          answers.push(answer);
          return answer.promise;
        },
      },
      { unansweredMax: 2 },
    );
    const first = [primary.findKey('1'), primary.findKey('2')];
    const tooMany = { cause: { message: 'too many questions wait for the primary process' } };
    await expect(primary.findKey('3')).rejects.toMatchObject(tooMany);
    await Promise.allSettled(first);
    primary.heard();
    await expect(primary.findKey('4')).rejects.toMatchObject(tooMany);
    expect(answers).toHaveLength(2);
    for (const { resolve } of answers) resolve(undefined);
    await until(() => primary.unanswered === 0, 'both are answered');
    const next = primary.findKey('5');
    answers[2]?.resolve(undefined);
    expect(await next).toBeUndefined();
  });
});
