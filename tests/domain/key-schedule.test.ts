import { describe, expect, it } from '@jest/globals';
import { KeySchedule } from '../../domain/key-schedule.ts';

const SCHEDULE = new KeySchedule({ rotationSeconds: 1_000, publicationSeconds: 60, tokenLifetimeSeconds: 300 });
const STANDBY = new KeySchedule({
  rotationSeconds: 1_000,
  publicationSeconds: 60,
  tokenLifetimeSeconds: 300,
  standby: true,
});
const FOREVER = new KeySchedule({ rotationSeconds: 0, publicationSeconds: 60, tokenLifetimeSeconds: 300 });
/** Keys are published for less than the five seconds for which the directory is not read again. */
const SHORT = new KeySchedule({ rotationSeconds: 10, publicationSeconds: 3, tokenLifetimeSeconds: 300 });

describe('KeySchedule', () => {
  it('accepts a key that signs for exactly twice the time for which it is published before', () => {
    const times = { rotationSeconds: 120, publicationSeconds: 60, tokenLifetimeSeconds: 300 };
    expect(() => new KeySchedule(times)).not.toThrow();
    expect(() => new KeySchedule({ ...times, rotationSeconds: 119 })).toThrow(
      new RangeError('a key has to sign for at least twice the time for which it is published before'),
    );
  });

  it('publishes the successor of a key that early before it is due', () => {
    expect(SCHEDULE.successorPublishedAt(5_000)).toBe(5_940);
    expect(FOREVER.successorPublishedAt(5_000)).toBe(Infinity);
  });

  it('publishes a successor that stands by when every verifier knows the key that signs, and lets it sign no earlier', () => {
    expect(STANDBY.successorPublishedAt(5_000)).toBe(5_060);
    expect(STANDBY.successorSignsAt(5_000, 5_060)).toBe(6_000);
    expect(FOREVER.successorSignsAt(5_000, 5_060)).toBe(Infinity);
  });

  it('lets a successor sign when the key is due, and every verifier can know it', () => {
    expect(SCHEDULE.knownToAllAt(5_000)).toBe(5_060);
    expect(SCHEDULE.successorSignsAt(5_000, 5_940)).toBe(6_000);
    expect(SCHEDULE.successorSignsAt(5_000, 5_950)).toBe(6_010);
    expect(SCHEDULE.successorSignsAt(5_000, 5_100)).toBe(6_000);
  });

  it('trusts a retired key for the lifetime of a token, and lets a published one sign for an hour', () => {
    expect(SCHEDULE.trustedUntil(5_000)).toBe(5_300);
    expect(SCHEDULE.maySignUntil(5_000)).toBe(8_600);
  });

  it.each([
    ['in the same second', SCHEDULE, 5_000, true],
    ['4 seconds later', SCHEDULE, 5_004, true],
    ['5 seconds later', SCHEDULE, 5_005, false],
    ['2 seconds later, while no newer key may sign', SHORT, 5_002, true],
    ['3 seconds later, when a newer key may sign', SHORT, 5_003, false],
  ])('keys are recent or not %s', (_name, schedule, now, isRecent) => {
    expect(schedule.isRecent(5_000, now)).toBe(isRecent);
  });

  it.each([
    ['half of the publication time', 5_000, Infinity, 5_000, 30],
    ['until the next publication', 5_000, 5_010, 5_000, 10],
    ['while the keys are complete', 5_040, Infinity, 5_000, 19],
    ['not at all when the keys may lack one', 5_060, Infinity, 5_000, 0],
    ['not at all when a publication is due', 5_020, 5_010, 5_020, 0],
  ])('a set may be cached for %s', (_name, now, nextPublication, readAt, seconds) => {
    expect(SCHEDULE.maxAgeSeconds(now, nextPublication, readAt)).toBe(seconds);
  });

  it('rounds half of an odd publication time down', () => {
    expect(SHORT.maxAgeSeconds(5_000, Infinity, 5_000)).toBe(1);
  });
});
