import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { AttemptLimiter } from '../../../adapters/secrets/attempt-limiter.ts';

const MINUTE_MS = 60_000;

function world({ failuresPerMinute = 3, pairsMax = 100 } = {}) {
  const time = { ms: 0 };
  const attempts = new AttemptLimiter({ failuresPerMinute, pairsMax, now: () => time.ms });
  const fail = (clientId = 'a-client', network = '192.0.2.1') => {
    const isLeft = attempts.areLeft(clientId, network);
    if (isLeft) attempts.count(clientId, network);
    return isLeft;
  };
  /** Fails until no attempt is left. Returns how many were. */
  const exhaust = (clientId?: string, network?: string) => {
    let count = 0;
    while (fail(clientId, network)) count += 1;
    return count;
  };
  return { attempts, time, fail, exhaust };
}

describe('AttemptLimiter', () => {
  it.each([30, 1_000])('lets %i attempts fail at once, and as many again in the next minute', (limit) => {
    const { exhaust, time } = world({ failuresPerMinute: limit });
    expect(exhaust()).toBe(limit);
    time.ms += MINUTE_MS;
    expect(exhaust()).toBe(limit);
  });

  it('has an attempt again soon after a burst, however low the limit is', () => {
    for (const failuresPerMinute of [1, 3, 300]) {
      const { exhaust, time, fail } = world({ failuresPerMinute });
      exhaust();
      time.ms += Math.min(2_000, MINUTE_MS / failuresPerMinute);
      expect([fail(), fail()]).toEqual([true, false]);
    }
  });

  it('says of an attempt beyond the limit that it is one too many, however often there is one', () => {
    const { attempts, exhaust, time } = world({ failuresPerMinute: 3 });
    expect(attempts.count('a-client', '192.0.2.1').isBeyond).toBe(false);
    exhaust();
    for (let count = 0; count < 3; count += 1) {
      time.ms += 2_000;
      expect(attempts.count('a-client', '192.0.2.1').isBeyond).toBe(true);
    }
    time.ms += MINUTE_MS;
    expect(attempts.count('a-client', '192.0.2.1').isBeyond).toBe(false);
  });

  it('lets a flood that goes on have the attempts of the time that passes, and no more', () => {
    const { time, exhaust } = world({ failuresPerMinute: 60 });
    exhaust();
    let failed = 0;
    for (let step = 0; step < 600; step += 1) {
      time.ms += 100;
      failed += exhaust();
    }
    expect(failed).toBe(60);
  });

  it.each([
    ['another client at the same network', 'b-client', '192.0.2.1'],
    ['the same client at another network', 'a-client', '192.0.2.2'],
    ['a client whose id contains a network', '192.0.2.1 a-client', ''],
  ])('counts nothing for %s', (_case, clientId, network) => {
    const { exhaust, attempts } = world();
    exhaust();
    expect(attempts.areLeft('a-client', '192.0.2.1')).toBe(false);
    expect(attempts.areLeft(clientId, network)).toBe(true);
  });

  it('takes an attempt off again that turned out to be right', () => {
    const { attempts, exhaust } = world();
    const { takeOff } = attempts.count('a-client', '192.0.2.1');
    exhaust();
    takeOff();
    expect(exhaust()).toBe(1);
  });

  it('keeps nothing of attempts that were all right, and allows any number of them', () => {
    const { attempts } = world();
    for (let count = 0; count < 20; count += 1) attempts.count('a-client', '192.0.2.1').takeOff();
    expect(attempts.pairs).toBe(0);
    expect(attempts.areLeft('a-client', '192.0.2.1')).toBe(true);
  });

  it('does not wait longer for attempts that began at the same moment', () => {
    const { attempts, time } = world();
    for (let count = 0; count < 1_000; count += 1) attempts.count('a-client', '192.0.2.1');
    time.ms += 2_001;
    expect(attempts.areLeft('a-client', '192.0.2.1')).toBe(true);
  });

  it('counts no more pairs than its bound, and keeps one with many failures while ids are invented', () => {
    const { attempts, exhaust, fail } = world({ pairsMax: 10 });
    exhaust();
    for (let count = 0; count < 1_000; count += 1) fail(`invented-${count}`);
    expect([attempts.pairs, attempts.pairsMax]).toEqual([10, 10]);
    expect(attempts.areLeft('a-client', '192.0.2.1')).toBe(false);
  });

  it('counts 100,000 pairs if nobody says how many, and holds no client id', () => {
    const attempts = new AttemptLimiter({ failuresPerMinute: 3 });
    attempts.count('a-client', '192.0.2.1');
    expect(attempts.pairsMax).toBe(100_000);
    expect(inspect(attempts, { depth: 9, showHidden: true })).not.toContain('a-client');
  });
});
