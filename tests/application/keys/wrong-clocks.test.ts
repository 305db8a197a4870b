import { describe, expect, it } from '@jest/globals';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';
import { FixedClock } from '../../support/fixed-clock.ts';
import { freshKeyRing, unstartedKeyRing } from '../../support/fresh-key-ring.ts';
import { RevocableDirectory } from '../../support/revocable-directory.ts';
import { kidsOf, signingKid } from '../../support/ring-kids.ts';

const PUBLICATION = 100;
const LEASE = 3_600;
const TIMES = { rotationSeconds: 1000, publicationSeconds: PUBLICATION, tokenLifetimeSeconds: 300 };

function world() {
  const clock = new FixedClock();
  const directory = new RevocableDirectory(clock);
  // The clock that nobody sets does not show the time of day.
  clock.setWall(1_000_000);
  directory.aheadSeconds = 1_000_000;
  return { clock, directory };
}

describe.each([7_200, -7_200])('a replica whose clock is %s s off', (offset) => {
  it('publishes nothing, signs nothing and refuses no token when it starts, until the clock is right', async () => {
    const { clock, directory } = world();
    const other = await freshKeyRing({ clock, directory, ...TIMES });
    const kid = await signingKid(other);
    clock.setWall(offset);
    const published = directory.published.length;
    const ring = unstartedKeyRing({ clock, directory, ...TIMES });
    await ring.advance();
    expect(directory.published).toHaveLength(published);
    expect(ring.whyNotSigning()).toContain('clock');
    expect(ring.whyNotVerifying()).toContain('clock');
    expect(ring.clockOffsetSeconds()).toBe(offset);
    await expect(ring.verificationKey(kid)).rejects.toThrow(DependencyUnavailable);
    expect(await kidsOf(ring)).toEqual([kid]);
    expect((await directory.read()).keys.map(({ jwk }) => jwk.kid)).toEqual([kid]);

    clock.setWall(-offset);
    await ring.advance();
    clock.advance(PUBLICATION);
    expect(await signingKid(ring)).not.toBe(kid);
    expect(await ring.verificationKey(kid)).toBeDefined();
  });

  it('stops in the second in which the clock is set, and goes on when it is set back', async () => {
    const { clock, directory } = world();
    const ring = await freshKeyRing({ clock, directory, ...TIMES });
    const key = await ring.signingKey();
    clock.setWall(offset);
    await expect(ring.signingKey()).rejects.toThrow(DependencyUnavailable);
    await expect(ring.verificationKey(key.kid)).rejects.toThrow(DependencyUnavailable);
    expect(ring.maxAgeSeconds()).toBe(0);
    const published = directory.published.length;
    clock.advance(60);
    await ring.advance();
    expect(directory.published).toHaveLength(published);

    clock.setWall(-offset);
    expect(await signingKid(ring)).toBe(key.kid);
  });
});

describe('a clock that is set', () => {
  it.each([9, -9])('by %s s does not interrupt a key that has signed', async (seconds) => {
    const { clock, directory } = world();
    const ring = await freshKeyRing({ clock, directory, ...TIMES });
    const kid = await signingKid(ring);
    clock.setWall(seconds);
    expect(await signingKid(ring)).toBe(kid);
    await ring.advance();
    expect(await signingKid(ring)).toBe(kid);
    expect(ring.clockOffsetSeconds()).toBe(seconds);
  });

  it.each([86_400, -86_400])('by %s s does not matter to a service without a shared directory', async (seconds) => {
    const clock = new FixedClock();
    const ring = await freshKeyRing({ clock, ...TIMES });
    const kid = await signingKid(ring);
    clock.setWall(seconds);
    expect(await signingKid(ring)).toBe(kid);
    await ring.advance();
    expect(await signingKid(ring)).toBe(kid);
    expect(await kidsOf(ring)).toEqual([kid]);
  });
});

describe('a replica that returns after the lease', () => {
  it('signs nothing before it is published again, and then waits as for a new key', async () => {
    const { clock, directory } = world();
    const ring = await freshKeyRing({ clock, directory, ...TIMES, rotationSeconds: 0 });
    const kid = await signingKid(ring);
    // The process is stopped. Meanwhile its peers forget the key, and a resource server caches their key set.
    clock.advance(LEASE + 300);
    const peer = await freshKeyRing({ clock, directory, ...TIMES, rotationSeconds: 0 });
    expect(await kidsOf(peer)).not.toContain(kid);
    clock.advance(1);
    await expect(ring.signingKey()).rejects.toThrow(DependencyUnavailable);
    await ring.advance();
    expect(ring.whyNotSigning()).toContain('waits');
    clock.advance(PUBLICATION - 1);
    await peer.advance();
    expect(await kidsOf(peer)).toContain(kid);
    await expect(ring.signingKey()).rejects.toThrow(DependencyUnavailable);
    clock.advance(1);
    expect(await signingKid(ring)).toBe(kid);
  });

  it('does so too if its monotonic clock was suspended with the machine', async () => {
    const { clock, directory } = world();
    await freshKeyRing({ clock, directory, ...TIMES });
    const ring = await freshKeyRing({ clock, directory, ...TIMES });
    clock.advance(PUBLICATION);
    await signingKid(ring);
    // The clock of day is corrected when the machine continues, and the other clock has not moved.
    directory.aheadSeconds += LEASE;
    clock.setWall(LEASE);
    await expect(ring.signingKey()).rejects.toThrow(DependencyUnavailable);
    await ring.advance();
    expect(ring.whyNotSigning()).toContain('waits');
    clock.advance(PUBLICATION);
    await signingKid(ring);
  });

  it('signs at once after less than the lease', async () => {
    const { clock, directory } = world();
    await freshKeyRing({ clock, directory, ...TIMES });
    const ring = await freshKeyRing({ clock, directory, ...TIMES, rotationSeconds: 0 });
    clock.advance(LEASE - 1);
    const kid = await signingKid(ring);
    await ring.advance();
    expect(await signingKid(ring)).toBe(kid);
  });
});
