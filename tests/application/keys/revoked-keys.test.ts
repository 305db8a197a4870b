import { describe, expect, it } from '@jest/globals';
import { createKeyFactory } from '../../../adapters/jwt/create-key-factory.ts';
import { RandomIdGenerator } from '../../../adapters/system/system.ts';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';
import { threadsAtOnce } from '../../support/at-once.ts';
import { FixedClock } from '../../support/fixed-clock.ts';
import { freshKeyRing, unstartedKeyRing } from '../../support/fresh-key-ring.ts';
import { InMemoryAuditLog } from '../../support/in-memory-audit-log.ts';
import { RevocableDirectory } from '../../support/revocable-directory.ts';
import { kidsOf, signingKid } from '../../support/ring-kids.ts';

const PUBLICATION = 100;
const TIMES = { rotationSeconds: 1000, publicationSeconds: PUBLICATION, tokenLifetimeSeconds: 300 };

function world() {
  const clock = new FixedClock();
  return { clock, directory: new RevocableDirectory(clock) };
}

describe('a revoked key', () => {
  it('that signs is replaced at once by the standby key, if every verifier can know that one', async () => {
    const { clock, directory } = world();
    const auditLog = new InMemoryAuditLog();
    const ring = await freshKeyRing({ clock, directory, auditLog, ...TIMES, standby: true });
    const leaked = await signingKid(ring);
    clock.advance(PUBLICATION);
    await ring.advance();
    const [standby] = (await kidsOf(ring)).filter((kid) => kid !== leaked);
    expect(standby).toBeDefined();
    clock.advance(PUBLICATION);
    await ring.advance();

    directory.revoke(leaked);
    await ring.advance();
    expect(await signingKid(ring)).toBe(standby);
    expect(auditLog.events().slice(-2)).toEqual([
      { event: 'key_revoked', at: clock.now(), key_id: leaked },
      { event: 'key_signing', at: clock.now(), key_id: standby },
    ]);
    expect(await kidsOf(ring)).not.toContain(leaked);
    clock.advance(5);
    expect(await ring.verificationKey(leaked)).toBeUndefined();
    // Another key takes the place of the standby key.
    clock.advance(PUBLICATION);
    await ring.advance();
    expect(await kidsOf(ring)).toHaveLength(2);
  });

  it('that signs is replaced by a standby key that is too new only when every verifier can know that one', async () => {
    const { clock, directory } = world();
    const ring = await freshKeyRing({ clock, directory, ...TIMES, standby: true });
    const leaked = await signingKid(ring);
    clock.advance(PUBLICATION);
    await ring.advance();
    directory.revoke(leaked);
    await ring.advance();
    expect(ring.whyNotSigning()).toContain('waits');
    clock.advance(PUBLICATION - 1);
    await expect(ring.signingKey()).rejects.toThrow(DependencyUnavailable);
    clock.advance(1);
    expect(await signingKid(ring)).not.toBe(leaked);
  });

  it('without a standby key is replaced by a new key, which waits even if there is no other replica', async () => {
    const { clock, directory } = world();
    const ring = await freshKeyRing({ clock, directory, ...TIMES });
    const leaked = await signingKid(ring);
    directory.revoke(leaked);
    await ring.advance();
    expect(ring.whyNotSigning()).toContain('waits');
    expect(await kidsOf(ring)).toHaveLength(1);
    expect(await kidsOf(ring)).not.toContain(leaked);
    clock.advance(PUBLICATION);
    expect(await kidsOf(ring)).toEqual([await signingKid(ring)]);
  });

  it('signs nothing while its successor is made and published', async () => {
    const { clock, directory } = world();
    const ring = await freshKeyRing({ clock, directory, ...TIMES });
    const leaked = await signingKid(ring);
    directory.revoke(leaked);
    const publish = directory.publish.bind(directory);
    const whileItIsPublished: (string | undefined)[] = [];
    directory.publish = async (keys) => {
      const published = await publish(keys);
      whileItIsPublished.push(ring.whyNotSigning());
      return published;
    };
    await ring.advance();
    // The first publication tells that the key is revoked, and the second has its successor.
    expect(whileItIsPublished).toEqual([undefined, `the key ${leaked} has been revoked, and there is no other`]);
  });

  it('on standby or retired disappears, and the key that signs goes on', async () => {
    const { clock, directory } = world();
    const ring = await freshKeyRing({ clock, directory, ...TIMES, standby: true });
    const first = await signingKid(ring);
    for (let time = 0; time < 10; time += 1) {
      clock.advance(PUBLICATION);
      await ring.advance();
    }
    const second = await signingKid(ring);
    expect(second).not.toBe(first);
    clock.advance(PUBLICATION);
    await ring.advance();
    const [standby = ''] = (await kidsOf(ring)).filter((kid) => kid !== first && kid !== second);
    for (const kid of [first, standby]) directory.revoke(kid);
    await ring.advance();
    expect(await signingKid(ring)).toBe(second);
    expect(await kidsOf(ring)).not.toEqual(expect.arrayContaining([first]));
    expect(await kidsOf(ring)).not.toEqual(expect.arrayContaining([standby]));
  });

  it('of another replica is no longer trusted after the next advance', async () => {
    const { clock, directory } = world();
    const one = await freshKeyRing({ clock, directory, ...TIMES });
    const other = await freshKeyRing({ clock, directory, ...TIMES });
    const leaked = await signingKid(one);
    expect(await other.verificationKey(leaked)).toBeDefined();
    directory.revoke(leaked);
    await other.advance();
    expect(await other.verificationKey(leaked)).toBeUndefined();
    expect(await kidsOf(other)).not.toContain(leaked);
  });

  it('of a key file never signs and never verifies again, and is recorded once', async () => {
    const { clock, directory } = world();
    const pair = await createKeyFactory({ ids: new RandomIdGenerator(), threads: threadsAtOnce }).make('RS256');
    const factory = {
      ...createKeyFactory({ ids: new RandomIdGenerator(), threads: threadsAtOnce }),
      make: async () => pair,
    };
    const auditLog = new InMemoryAuditLog();
    const ring = await freshKeyRing({ clock, directory, factory, auditLog, ...TIMES, rotationSeconds: 0 });
    directory.revoke(pair.kid);
    for (let time = 0; time < 50; time += 1) {
      clock.advance(10);
      await ring.advance();
      expect(ring.whyNotSigning()).toBe(`the key ${pair.kid} has been revoked, and there is no other`);
      expect(await ring.verificationKey(pair.kid)).toBeUndefined();
      await expect(kidsOf(ring)).rejects.toThrow(DependencyUnavailable);
    }
    expect(auditLog.events().filter(({ event }) => event === 'key_revoked')).toHaveLength(1);
    const restarted = await freshKeyRing({ clock, directory, factory, ...TIMES, rotationSeconds: 0 });
    await expect(restarted.signingKey()).rejects.toThrow('unavailable');
    await expect(kidsOf(restarted)).rejects.toThrow(DependencyUnavailable);
  });
});

describe('a key that is not published', () => {
  it('verifies nothing: it may be the revoked key of a key file', async () => {
    const { clock, directory } = world();
    const pair = await createKeyFactory({ ids: new RandomIdGenerator(), threads: threadsAtOnce }).make('RS256');
    const factory = {
      ...createKeyFactory({ ids: new RandomIdGenerator(), threads: threadsAtOnce }),
      make: async () => pair,
    };
    directory.revoke(pair.kid);
    const found: unknown[] = [];
    const ring = unstartedKeyRing({
      clock,
      factory,
      directory: {
        read: () => directory.read(),
        async publish(keys) {
          found.push(await ring.verificationKey(pair.kid));
          return directory.publish(keys);
        },
      },
      ...TIMES,
    });
    await ring.advance();
    expect(found).toEqual([undefined, undefined]);
  });
});
