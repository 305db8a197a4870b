import { describe, expect, it } from '@jest/globals';
import { AttemptLimiter } from '../../../adapters/secrets/attempt-limiter.ts';
import { PacedAttempts } from '../../../adapters/secrets/paced-attempts.ts';
import { VerificationQueue } from '../../../adapters/secrets/verification-queue.ts';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';
import type { SecretVerdict } from '../../../application/ports/secret-verifier.ts';
import { type ClosableVerificationSlots, SlotsExhausted } from '../../../application/ports/verification-slots.ts';
import { describeVerificationSlots, settled, slotRequest, verifyInSlot } from '../../contracts/verification-slots.ts';
import { A_CALLER } from '../../support/a-caller.ts';

const FAILURES = 4;
const INTERVAL_MS = 60_000 / FAILURES;
const QUEUE = { concurrent: 1, fifoRounds: 8 * 2 ** 4, overflow: 8, unanswered: 16, waitMs: 60_000 };
/** Attempts beyond the limit are selected after 20 ms. */
const PACED = { max: 8, waitMs: 60_000, intervalMsMax: 20 };

describeVerificationSlots(
  'AttemptLimiter',
  () => new AttemptLimiter(new VerificationQueue(QUEUE), { failuresPerMinute: 3, paced: new PacedAttempts(PACED) }),
);

/** Limited slots, a caller who uses them, and the time. */
function world({ paced = new PacedAttempts(PACED), queue = QUEUE, pairsMax = 100 } = {}) {
  const time = { ms: 1_000_000 };
  const options = { failuresPerMinute: FAILURES, paced, pairsMax, now: () => time.ms };
  const slots = new AttemptLimiter(new VerificationQueue(queue), options);
  let verifications = 0;
  const attempt = (verdict: SecretVerdict, clientId = 'a-client', network = '192.0.2.1', registered = true) =>
    verifyInSlot(slots, slotRequest({ clientId, registered, caller: { ...A_CALLER, network } }), async () => {
      verifications += 1;
      return verdict;
    });
  const exhaust = async (clientId = 'a-client', network = '192.0.2.1') => {
    for (let count = 0; count < FAILURES; count += 1) await attempt('mismatch', clientId, network);
  };
  const hasAttemptsLeft = (clientId = 'a-client', network = '192.0.2.1') => slots.hasAttemptsLeft(clientId, network);
  return { slots, paced, attempt, exhaust, hasAttemptsLeft, time, verifications: () => verifications };
}

describe('AttemptLimiter', () => {
  it.each([true, false])(
    'verifies beyond the limit when the attempt is selected, and refuses a wrong secret with attempts_exhausted, registered: %s',
    async (registered) => {
      const { attempt, hasAttemptsLeft, verifications } = world();
      for (let count = 0; count < FAILURES; count += 1) {
        expect(hasAttemptsLeft()).toBe(true);
        expect(await attempt('mismatch', 'a-client', '192.0.2.1', registered)).toBe('mismatch');
      }
      expect(hasAttemptsLeft()).toBe(false);
      expect(await attempt('mismatch', 'a-client', '192.0.2.1', registered)).toBe('attempts_exhausted');
      expect(verifications()).toBe(FAILURES + 1);
    },
  );

  it('answers a right secret beyond the limit when it is selected: the limit paces and never locks', async () => {
    const { attempt, exhaust } = world();
    await exhaust();
    expect(await attempt('match')).toBe('match');
  });

  it('counts for client id and address together', async () => {
    const { exhaust, hasAttemptsLeft } = world();
    await exhaust();
    expect(hasAttemptsLeft('a-client', '192.0.2.1')).toBe(false);
    expect(hasAttemptsLeft('a-client', '192.0.2.2')).toBe(true);
    expect(hasAttemptsLeft('b-client', '192.0.2.1')).toBe(true);
  });

  it('counts an attempt when it arrives, before its secret is compared with anything', async () => {
    const { slots, hasAttemptsLeft } = world();
    for (let count = 0; count < FAILURES; count += 1) void slots.acquire(slotRequest()).catch(() => {});
    expect(hasAttemptsLeft('a-client', A_CALLER.network)).toBe(false);
    slots.close();
  });

  it('gives an attempt back whose secret is right, and no other one with it', async () => {
    const { attempt, hasAttemptsLeft } = world();
    for (let count = 0; count < 3 * FAILURES; count += 1) expect(await attempt('match')).toBe('match');
    for (let count = 0; count < FAILURES; count += 1) {
      expect(hasAttemptsLeft()).toBe(true);
      await attempt('mismatch');
      if (count + 1 < FAILURES) await attempt('match');
    }
    expect(hasAttemptsLeft()).toBe(false);
  });

  it('makes an attempt available again after each interval, and all of them after a minute', async () => {
    const { attempt, exhaust, hasAttemptsLeft, time } = world();
    await exhaust();
    time.ms += INTERVAL_MS * 0.9;
    expect(hasAttemptsLeft()).toBe(false);
    time.ms += INTERVAL_MS * 0.1;
    expect(await attempt('mismatch')).toBe('mismatch');
    expect(hasAttemptsLeft()).toBe(false);
    time.ms += 60_000;
    for (let count = 0; count < FAILURES; count += 1) expect(await attempt('mismatch')).toBe('mismatch');
    expect(hasAttemptsLeft()).toBe(false);
  });

  it('counts no debt: however many attempts come beyond the limit, the next one waits for one interval', async () => {
    const { attempt, exhaust, hasAttemptsLeft, time } = world();
    await exhaust();
    for (let count = 0; count < 10; count += 1) await attempt('mismatch');
    time.ms += INTERVAL_MS;
    expect(hasAttemptsLeft()).toBe(true);
  });

  it('counts a caller who disconnects during the verification', async () => {
    const { slots, hasAttemptsLeft } = world();
    for (let count = 0; count < FAILURES; count += 1) {
      const leaving = new AbortController();
      const caller = { ...A_CALLER, disconnected: leaving.signal };
      const left = verifyInSlot(slots, slotRequest({ caller }), async () => {
        leaving.abort();
        return 'mismatch';
      });
      await expect(left).rejects.toThrow(DependencyUnavailable);
    }
    expect(hasAttemptsLeft('a-client', A_CALLER.network)).toBe(false);
  });

  it('counts a caller who disconnects while waiting for a slot, and grants none', async () => {
    const { slots, hasAttemptsLeft } = world();
    const held = await slots.acquire(slotRequest({ clientId: 'b-client' }));
    for (let count = 0; count < FAILURES; count += 1) {
      const leaving = new AbortController();
      const waiting = slots.acquire(slotRequest({ caller: { ...A_CALLER, disconnected: leaving.signal } }));
      leaving.abort();
      await expect(waiting).rejects.toThrow(DependencyUnavailable);
    }
    if (held !== 'attempts_exhausted') held.release();
    expect(hasAttemptsLeft('a-client', A_CALLER.network)).toBe(false);
  });

  it('counts a request that found the queue full', async () => {
    const full: ClosableVerificationSlots = {
      hasAttemptsLeft: () => true,
      acquire: () => Promise.reject(new SlotsExhausted('the verification queue is full')),
      close: () => {},
    };
    const slots = new AttemptLimiter(full, { failuresPerMinute: 2, paced: new PacedAttempts(PACED) });
    for (let count = 0; count < 2; count += 1) {
      expect(slots.hasAttemptsLeft('a-client', A_CALLER.network)).toBe(true);
      await expect(slots.acquire(slotRequest())).rejects.toThrow(SlotsExhausted);
    }
    expect(slots.hasAttemptsLeft('a-client', A_CALLER.network)).toBe(false);
  });

  it('does not count an attempt that found out nothing because of a fault', async () => {
    const { slots, hasAttemptsLeft } = world();
    for (let count = 0; count < 2 * FAILURES; count += 1) {
      const failing = verifyInSlot(slots, slotRequest(), () => Promise.reject(new Error('a bug')));
      await expect(failing).rejects.toThrow('a bug');
    }
    expect(hasAttemptsLeft('a-client', A_CALLER.network)).toBe(true);
  });

  it('grants a slot for the renewal of a verified secret, however many attempts failed at that address', async () => {
    const { slots, exhaust } = world({ paced: new PacedAttempts({ ...PACED, intervalMsMax: 60_000 }) });
    await exhaust('a-client', A_CALLER.network);
    const renewal = slotRequest({ purpose: 'renewal' });
    expect(await verifyInSlot(slots, renewal, async () => 'match')).toBe('match');
  });

  it('lets no attempt overtake those that wait, when one becomes available', async () => {
    const { attempt, exhaust, hasAttemptsLeft, paced, time } = world({
      paced: new PacedAttempts({ ...PACED, waitMs: 100, intervalMsMax: 60_000 }),
    });
    await exhaust();
    const first = attempt('match');
    await settled();
    time.ms += INTERVAL_MS;
    expect(hasAttemptsLeft()).toBe(false);
    const second = attempt('match');
    await settled();
    expect(paced.size).toBe(2);
    expect(await Promise.all([first, second])).toEqual(['attempts_exhausted', 'attempts_exhausted']);
  });

  it('serves a client that sends many requests at once: each right secret makes room for the next', async () => {
    const { attempt, paced, hasAttemptsLeft } = world({
      paced: new PacedAttempts({ ...PACED, max: 100, intervalMsMax: 60_000 }),
      queue: { ...QUEUE, overflow: 100, unanswered: 100 },
    });
    const outcomes = await Promise.all(Array.from({ length: 20 * FAILURES }, () => attempt('match')));
    expect(outcomes.every((outcome) => outcome === 'match')).toBe(true);
    expect(paced.size).toBe(0);
    expect(hasAttemptsLeft()).toBe(true);
  });

  it('withholds a refusal from the overflow queue beyond the limit too, as one attempt too many', async () => {
    const { slots, attempt, exhaust } = world({ queue: { ...QUEUE, fifoRounds: 0, waitMs: 200 } });
    await exhaust();
    const running = await slots.acquire(slotRequest({ clientId: 'b-client' }));
    const outcomes = await Promise.allSettled([
      slots.acquire(slotRequest({ clientId: 'c-client' })),
      attempt('mismatch'),
    ]);
    expect(outcomes).toMatchObject([
      { status: 'rejected', reason: { cause: { message: 'no slot was free in time' } } },
      { status: 'fulfilled', value: 'attempts_exhausted' },
    ]);
    if (running !== 'attempts_exhausted') running.release();
  });

  it('holds no more pairs than its limit, and evicts one with few failures before one with many', async () => {
    const { slots, attempt, exhaust, hasAttemptsLeft } = world({ pairsMax: 5 });
    await exhaust('guessed');
    for (let count = 0; count < 50; count += 1) await attempt('mismatch', `invented ${count}`);
    expect(slots.pairs).toBe(5);
    expect(hasAttemptsLeft('guessed')).toBe(false);
    // If every pair has many failures, one of them is evicted all the same.
    for (let count = 0; count < 8; count += 1) await exhaust(`guessed ${count}`);
    expect(slots.pairs).toBe(5);
  });

  it('counts 100,000 pairs if nobody says how many', () => {
    const paced = new PacedAttempts(PACED);
    const slots = new AttemptLimiter(new VerificationQueue(QUEUE), { failuresPerMinute: FAILURES, paced });
    expect([slots.pairs, slots.pairsMax]).toEqual([0, 100_000]);
  });

  it('forgets a pair with up to two failures, although seven older ones have more, and the eighth in any case', async () => {
    const { attempt, exhaust, hasAttemptsLeft } = world({ pairsMax: 9 });
    for (let count = 0; count < 7; count += 1) await exhaust(`guessed ${count}`);
    for (const name of ['tried twice', 'tried thrice'])
      for (let count = 0; count < 3; count += 1) {
        if (name === 'tried thrice' || count < 2) await attempt('mismatch', name);
      }
    await attempt('mismatch', 'new');
    // It has all of its attempts again.
    for (let count = 0; count < FAILURES; count += 1) {
      expect(hasAttemptsLeft('tried twice')).toBe(true);
      await attempt('mismatch', 'tried twice');
    }
    expect(hasAttemptsLeft('guessed 0')).toBe(false);
  });

  it('gives an attempt that was selected the rest of two seconds for its slot', async () => {
    const time = { ms: 1_000_000 };
    const waits: (number | undefined)[] = [];
    const behind: ClosableVerificationSlots = {
      hasAttemptsLeft: () => true,
      acquire: async ({ waitMs }) => {
        waits.push(waitMs);
        return { refusals: 'immediate', settle: async (verdict) => verdict, release: () => {} };
      },
      close: () => {},
    };
    const paced = new PacedAttempts(PACED);
    const slots = new AttemptLimiter(behind, { failuresPerMinute: 1, paced, now: () => time.ms });
    await slots.acquire(slotRequest());
    const selected = slots.acquire(slotRequest());
    await settled();
    time.ms += 1_200;
    await selected;
    expect(waits).toEqual([undefined, 800]);
  });

  it('wakes an attempt that waits as soon as another one is given back', async () => {
    const { slots, attempt, paced } = world({
      paced: new PacedAttempts({ ...PACED, intervalMsMax: 59_000 }),
    });
    for (let count = 1; count < FAILURES; count += 1) await attempt('mismatch', 'a-client', A_CALLER.network);
    const held = await slots.acquire(slotRequest());
    const waiting = attempt('match', 'a-client', A_CALLER.network);
    await settled();
    expect(paced.size).toBe(1);
    if (held !== 'attempts_exhausted') await held.settle('match');
    expect(await waiting).toBe('match');
    expect(paced.size).toBe(0);
  });

  it('closes what is behind it, and what waits', async () => {
    let closed = 0;
    const behind: ClosableVerificationSlots = {
      hasAttemptsLeft: () => true,
      acquire: async () => 'attempts_exhausted',
      close: () => {
        closed += 1;
      },
    };
    const paced = new PacedAttempts(PACED);
    new AttemptLimiter(behind, { failuresPerMinute: 1, paced }).close();
    await expect(paced.wait('a pair', A_CALLER.disconnected, { waitMs: () => 0, take: () => {} })).rejects.toThrow(
      DependencyUnavailable,
    );
    expect(closed).toBe(1);
  });
});
