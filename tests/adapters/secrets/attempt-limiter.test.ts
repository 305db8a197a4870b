import { describe, expect, it } from '@jest/globals';
import { AttemptLimiter } from '../../../adapters/secrets/attempt-limiter.ts';
import { VerificationQueue } from '../../../adapters/secrets/verification-queue.ts';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';
import type { SecretVerdict } from '../../../application/ports/secret-verifier.ts';
import {
  type ClosableVerificationSlots,
  VerificationQueueFull,
} from '../../../application/ports/verification-slots.ts';
import { describeVerificationSlots, slotRequest, verifyInSlot } from '../../contracts/verification-slots.ts';
import { A_CALLER } from '../../support/a-caller.ts';
import { until } from '../../support/until.ts';

const FAILURES = 3;
const QUEUE = { concurrent: 1, fifoRounds: 8 * 2 ** 4, overflow: 8, unanswered: 16, waitMs: 60_000 };

function fresh() {
  return new AttemptLimiter(new VerificationQueue(QUEUE), FAILURES);
}

describeVerificationSlots('AttemptLimiter', fresh);

/** Limited slots, and a caller who uses them. */
function world() {
  const slots = fresh();
  let verifications = 0;
  const attempt = (verdict: SecretVerdict, clientId = 'a-client', address = '192.0.2.1', registered = true) =>
    verifyInSlot(slots, slotRequest({ clientId, registered, caller: { ...A_CALLER, address } }), async () => {
      verifications += 1;
      return verdict;
    });
  return { slots, attempt, verifications: () => verifications };
}

describe('AttemptLimiter', () => {
  it.each([true, false])(
    'grants no slot after too many failures, whether the client is registered: %s',
    async (registered) => {
      const { attempt, verifications } = world();
      for (let time = 0; time < FAILURES; time += 1) {
        expect(await attempt('mismatch', 'a-client', '192.0.2.1', registered)).toBe('mismatch');
      }
      expect(await attempt('mismatch', 'a-client', '192.0.2.1', registered)).toBe('attempts_exhausted');
      expect(verifications()).toBe(FAILURES);
    },
  );

  it('grants slots to the owner of the secret at another address, and to other clients at the same address', async () => {
    const { attempt } = world();
    for (let time = 0; time < FAILURES; time += 1) await attempt('mismatch');
    expect(await attempt('match', 'a-client', '192.0.2.2')).toBe('match');
    expect(await attempt('match', 'b-client')).toBe('match');
  });

  it('does not count a match, and does not reduce the count because of one', async () => {
    const { attempt } = world();
    for (let time = 0; time < 10; time += 1) expect(await attempt('match')).toBe('match');
    for (let time = 0; time < FAILURES; time += 1) {
      await attempt('mismatch');
      if (time + 1 < FAILURES) await attempt('match');
    }
    expect(await attempt('match')).toBe('attempts_exhausted');
  });

  it('counts a caller who disconnects during the verification', async () => {
    const slots = fresh();
    for (let time = 0; time < FAILURES; time += 1) {
      const leaving = new AbortController();
      const caller = { ...A_CALLER, disconnected: leaving.signal };
      const left = verifyInSlot(slots, slotRequest({ caller }), async () => {
        leaving.abort();
        return 'mismatch';
      });
      await expect(left).rejects.toThrow(DependencyUnavailable);
    }
    expect(await slots.acquire(slotRequest())).toBe('attempts_exhausted');
  });

  it('counts a caller who disconnects while waiting, since the verification might have run', async () => {
    const { slots, attempt } = world();
    const held = await slots.acquire(slotRequest({ clientId: 'b-client' }));
    for (let time = 0; time < FAILURES; time += 1) {
      const leaving = new AbortController();
      const waiting = slots.acquire(slotRequest({ caller: { ...A_CALLER, disconnected: leaving.signal } }));
      // The limiter looks the count up before it requests a slot.
      setImmediate(() => leaving.abort());
      await expect(waiting).rejects.toThrow(DependencyUnavailable);
    }
    if (held !== 'attempts_exhausted') held.release();
    expect(await attempt('match')).toBe('attempts_exhausted');
  });

  it('does not count a request that found the queue full', async () => {
    const full: ClosableVerificationSlots = {
      acquire: () => Promise.reject(new VerificationQueueFull()),
      close: () => {},
    };
    const slots = new AttemptLimiter(full, 1);
    for (let time = 0; time < 3; time += 1) {
      await expect(slots.acquire(slotRequest())).rejects.toThrow(VerificationQueueFull);
    }
  });

  it('grants a slot for the renewal of a verified secret, however many attempts failed at that address', async () => {
    const { slots, attempt } = world();
    for (let time = 0; time < FAILURES; time += 1) await attempt('mismatch');
    const renewal = slotRequest({ purpose: 'renewal' });
    expect(await verifyInSlot(slots, renewal, async () => 'match')).toBe('match');
  });

  it.each([true, false])(
    'counts a deferred refusal when its waiting time is over, not when it is verified, registered: %s',
    async (registered) => {
      const queue = new VerificationQueue({ ...QUEUE, fifoRounds: 0, waitMs: 300 });
      const slots = new AttemptLimiter(queue, 1);
      const running = await slots.acquire(slotRequest({ clientId: 'b-client' }));
      const fifo = slots.acquire(slotRequest({ clientId: 'c-client' }));
      await until(() => queue.load.fifo === 1, 'the FIFO queue is full');
      const wrong = verifyInSlot(slots, slotRequest({ registered }), async () => 'mismatch');
      wrong.catch(() => {});
      await until(() => queue.load.overflow === 1, 'the attempt overflows');
      if (running !== 'attempts_exhausted') running.release();
      const waiting = await fifo;
      if (waiting !== 'attempts_exhausted') waiting.release();
      await until(() => queue.load.overflow === 0 && queue.load.running === 0, 'the attempt is verified');
      expect(await slots.acquire(slotRequest({ registered }))).not.toBe('attempts_exhausted');
      await expect(wrong).rejects.toMatchObject({ cause: { message: 'no slot was free in time' } });
      expect(await slots.acquire(slotRequest({ registered }))).toBe('attempts_exhausted');
    },
  );

  it('counts an attempt whose verification failed', async () => {
    const slots = fresh();
    for (let time = 0; time < FAILURES; time += 1) {
      const failing = verifyInSlot(slots, slotRequest(), () => Promise.reject(new Error('a bug')));
      await expect(failing).rejects.toThrow('a bug');
    }
    expect(await slots.acquire(slotRequest())).toBe('attempts_exhausted');
  });
});
