import { describe, expect, it } from '@jest/globals';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';
import { FixedClock } from '../../support/fixed-clock.ts';
import { freshKeyRing, unstartedKeyRing } from '../../support/fresh-key-ring.ts';
import { kidsOf, signingKid } from '../../support/ring-kids.ts';
import { SharedRing } from '../../support/shared-ring.ts';

const TIMES = { rotationSeconds: 1000, publicationSeconds: 100, tokenLifetimeSeconds: 300 };

function world() {
  const clock = new FixedClock();
  const shared = new SharedRing(clock);
  // The clock that nobody sets does not show the time of day.
  clock.setWall(1_000_000);
  shared.aheadSeconds = 1_000_000;
  return { clock, shared, ...TIMES };
}

describe.each([7_200, -7_200, 30, -30])('a replica whose clock is %s s off', (offset) => {
  it('adds nothing, signs nothing and refuses no token when it starts, until the clock is right', async () => {
    const { clock, shared, ...rest } = world();
    const kid = await signingKid(await freshKeyRing({ clock, shared, ...rest }));
    clock.setWall(offset);
    const ring = unstartedKeyRing({ clock, shared, ...rest });
    await ring.advance();
    expect(shared.rows).toHaveLength(1);
    const problem = {
      code: 'clock_wrong',
      text: 'the clock of this machine differs too much from that of the key directory',
      fix: 'correct the clock of this machine or of the database (NTP)',
    };
    expect([ring.whyNotSigning(), ring.whyNotVerifying()]).toEqual([problem, problem]);
    expect(ring.clockOffsetSeconds()).toBe(offset);
    await expect(ring.signingKey()).rejects.toThrow(DependencyUnavailable);
    await expect(ring.verificationKey(kid)).rejects.toThrow(DependencyUnavailable);
    expect(await kidsOf(ring)).toEqual([kid]);

    clock.setWall(-offset);
    expect(await signingKid(ring)).toBe(kid);
    expect(await ring.verificationKey(kid)).toBeDefined();
  });

  it('stops in the second in which the clock is set, and goes on when it is set back', async () => {
    const ring = await freshKeyRing(world());
    const { clock, shared, ...rest } = world();
    const own = await freshKeyRing({ clock, shared, ...rest });
    const { kid } = await own.signingKey();
    clock.setWall(offset);
    await expect(own.signingKey()).rejects.toThrow(DependencyUnavailable);
    await expect(own.verificationKey(kid)).rejects.toThrow(DependencyUnavailable);
    expect([own.maxAgeSeconds(), ring.maxAgeSeconds()]).toEqual([0, 30]);
    clock.advance(60);
    await own.advance();
    expect(shared.rows).toHaveLength(1);
    clock.setWall(-offset);
    expect(await signingKid(own)).toBe(kid);
  });

  it('gives no time to tokens until it is right', async () => {
    const { clock, shared, ...rest } = world();
    const ring = await freshKeyRing({ clock, shared, ...rest });
    expect(ring.sharedTime()).toBe(shared.now);
    clock.setWall(offset);
    expect(ring.sharedTime()).toBeUndefined();
  });
});

describe('a ring whose clock is set', () => {
  it('stops its replicas until theirs is set too, and asks for it once a second', async () => {
    const { clock, shared, ...rest } = world();
    const ring = await freshKeyRing({ clock, shared, ...rest });
    const kid = await signingKid(ring);
    shared.aheadSeconds += 7_200;
    await ring.advance();
    const before = shared.reads;
    for (let times = 0; times < 20; times += 1) {
      clock.advance(0.1);
      await expect(ring.signingKey()).rejects.toThrow(DependencyUnavailable);
    }
    expect(shared.reads - before).toBeLessThanOrEqual(2);
    shared.aheadSeconds -= 7_200;
    clock.advance(2);
    expect(await signingKid(ring)).toBe(kid);
  });

  it('is asked before a key signs, where the clock of day was set with it', async () => {
    const { clock, shared, ...rest } = world();
    const ring = await freshKeyRing({ clock, shared, ...rest });
    clock.setWall(500);
    shared.aheadSeconds += 500;
    clock.advance(2);
    expect(await signingKid(ring)).toBe(shared.rows[0]?.kid);
  });

  it('allows small offsets, and tells them', async () => {
    const { clock, shared, ...rest } = world();
    clock.setWall(9);
    const ring = await freshKeyRing({ clock, shared, ...rest });
    expect(await signingKid(ring)).toBe(shared.rows[0]?.kid);
    expect(ring.clockOffsetSeconds()).toBe(9);
    // Tokens have the time that all replicas know.
    expect(ring.sharedTime()).toBe(shared.now);
  });
});

describe('a ring in memory', () => {
  it('signs whatever happens to the clock of day', async () => {
    const clock = new FixedClock();
    const ring = await freshKeyRing({ clock });
    const kid = await signingKid(ring);
    clock.setWall(-1e9);
    expect(await signingKid(ring)).toBe(kid);
    expect([ring.clockOffsetSeconds(), ring.sharedTime()]).toEqual([undefined, undefined]);
  });
});
