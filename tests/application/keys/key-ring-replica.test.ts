import { describe, expect, it } from '@jest/globals';
import { readPublicKey } from '../../../adapters/jwt/key-pair.ts';
import { KeyRingReplica } from '../../../application/keys/key-ring-replica.ts';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';
import { KeySchedule } from '../../../domain/key-schedule.ts';
import { describeKeyProvider } from '../../contracts/key-provider.ts';
import { FixedClock } from '../../support/fixed-clock.ts';
import { freshKeyRing } from '../../support/fresh-key-ring.ts';

const TIMES = { rotationSeconds: 600, publicationSeconds: 60, tokenLifetimeSeconds: 300 };

/** A ring and its copy, which `tell` brings up to date. */
async function world() {
  const clock = new FixedClock();
  const ring = await freshKeyRing({ clock, ...TIMES });
  const asked: string[] = [];
  const copy = new KeyRingReplica({
    factory: { read: readPublicKey },
    schedule: new KeySchedule(TIMES),
    clock,
    async lookUp(kid) {
      asked.push(kid);
      await tell();
    },
  });
  const tell = async () => {
    const state = ring.state();
    const key = await ring.signingKey().catch(() => undefined);
    await copy.update(structuredClone(state), state.signing && key);
  };
  await tell();
  return { clock, ring, copy, tell, asked };
}

describeKeyProvider('KeyRingReplica', async () => (await world()).copy);

describe('KeyRingReplica', () => {
  it('signs with the key of the ring, publishes its keys and lets them be kept as long', async () => {
    const { ring, copy } = await world();
    expect((await copy.signingKey()).kid).toBe((await ring.signingKey()).kid);
    expect(await copy.publicKeys()).toEqual(await ring.publicKeys());
    expect(copy.maxAgeSeconds()).toBe(ring.maxAgeSeconds());
  });

  it('follows a rotation, and trusts the old key as long as the ring does', async () => {
    const { clock, ring, copy, tell } = await world();
    const old = (await copy.signingKey()).kid;
    for (let second = 0; second < 660; second += 15) {
      clock.advance(15);
      await ring.advance();
      await tell();
      expect((await copy.signingKey()).kid).toBe((await ring.signingKey()).kid);
      expect(await copy.publicKeys()).toEqual(await ring.publicKeys());
      expect(copy.maxAgeSeconds()).toBe(ring.maxAgeSeconds());
    }
    expect((await copy.signingKey()).kid).not.toBe(old);
    expect(await copy.verificationKey(old)).toBeDefined();
    clock.advance(TIMES.tokenLifetimeSeconds);
    expect(await copy.verificationKey(old)).toBeUndefined();
  });

  it('stops signing when the ring has said nothing for longer than a key may sign on one word', async () => {
    const { clock, copy } = await world();
    clock.advance(3_599);
    await copy.signingKey();
    clock.advance(1);
    await expect(copy.signingKey()).rejects.toThrow(DependencyUnavailable);
  });

  it('has no key before it is told of one', async () => {
    const copy = new KeyRingReplica({
      factory: { read: readPublicKey },
      schedule: new KeySchedule(TIMES),
      clock: new FixedClock(),
      lookUp: async () => {},
    });
    await expect(copy.signingKey()).rejects.toThrow(DependencyUnavailable);
    expect(await copy.publicKeys()).toEqual([]);
    expect(copy.maxAgeSeconds()).toBe(0);
  });

  it('asks the ring, not oftener than every five seconds, once for all who wait for key ids that it does not know', async () => {
    const { clock, copy, asked } = await world();
    expect(await copy.verificationKey('at once')).toBeUndefined();
    expect(asked).toEqual([]);
    clock.advance(5);
    const found = await Promise.all(['one', 'two', 'three'].map((kid) => copy.verificationKey(kid)));
    expect(found).toEqual([undefined, undefined, undefined]);
    expect(asked).toEqual(['one']);
  });
});
