import { setImmediate as nextPass } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { readPublicKey } from '../../../adapters/jwt/create-key-factory.ts';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';
import type { SigningKey } from '../../../application/ports/key-provider.ts';
import { WorkerKeyRing } from '../../../application/workers/worker-key-ring.ts';
import { KeySchedule } from '../../../domain/key-schedule.ts';
import { describeKeyProvider } from '../../contracts/key-provider.ts';
import { FixedClock } from '../../support/fixed-clock.ts';
import { freshKeyRing } from '../../support/fresh-key-ring.ts';

/** As the primary sends it. */
const PKCS8 = new Uint8Array();

const TIMES = { rotationSeconds: 600, publicationSeconds: 60, tokenLifetimeSeconds: 300 };

/** A ring and its replica, which `send` brings up to date. */
async function world() {
  const clock = new FixedClock();
  const ring = await freshKeyRing({ clock, ...TIMES });
  const lookedUp: string[] = [];
  const replica = new WorkerKeyRing({
    factory: { read: readPublicKey },
    readPrivateKey: () => ring.signingKey(),
    schedule: new KeySchedule(TIMES),
    clock,
    async lookUp(kid) {
      lookedUp.push(kid);
      await send();
    },
  });
  const send = () => {
    const state = ring.state();
    return replica.take(structuredClone(state), state.signing && PKCS8);
  };
  await send();
  return { clock, ring, replica, send, lookedUp };
}

describeKeyProvider('WorkerKeyRing', async () => (await world()).replica);

describe('WorkerKeyRing', () => {
  it('signs with the key of the ring, publishes its keys and lets them be cached as long', async () => {
    const { ring, replica } = await world();
    expect((await replica.signingKey()).kid).toBe((await ring.signingKey()).kid);
    expect(await replica.publicKeys()).toEqual(await ring.publicKeys());
    expect(replica.maxAgeSeconds()).toBe(ring.maxAgeSeconds());
  });

  it('follows a rotation, and trusts the old key as long as the ring does', async () => {
    const { clock, ring, replica, send } = await world();
    const old = (await replica.signingKey()).kid;
    for (let second = 0; second < 660; second += 15) {
      clock.advance(15);
      await ring.advance();
      await send();
      expect((await replica.signingKey()).kid).toBe((await ring.signingKey()).kid);
      expect(await replica.publicKeys()).toEqual(await ring.publicKeys());
      expect(replica.maxAgeSeconds()).toBe(ring.maxAgeSeconds());
    }
    expect((await replica.signingKey()).kid).not.toBe(old);
    expect(await replica.verificationKey(old)).toBeDefined();
    clock.advance(TIMES.tokenLifetimeSeconds);
    expect(await replica.verificationKey(old)).toBeUndefined();
  });

  it('stops signing when the ring has sent nothing for longer than the lease of a key', async () => {
    const { clock, replica } = await world();
    clock.advance(3_599);
    await replica.signingKey();
    clock.advance(1);
    await expect(replica.signingKey()).rejects.toThrow(DependencyUnavailable);
  });

  it('signs with no key but the one that the last state names', async () => {
    const { ring, replica } = await world();
    const signing = { kid: 'another', alg: 'RS256', from: 0, until: Infinity } as const;
    for (const privateKey of [undefined, PKCS8]) {
      await replica.take({ ...ring.state(), signing }, privateKey);
      const fault = await replica.signingKey().catch((thrown) => thrown);
      expect(fault).toBeInstanceOf(DependencyUnavailable);
      expect(fault.cause.message).toBe('the key has not arrived yet');
    }
  });

  it('ends with the state that was sent last, however long the key of an earlier one takes to read', async () => {
    const { clock, ring } = await world();
    const key = await ring.signingKey();
    const reading = Promise.withResolvers<SigningKey>();
    const replica = new WorkerKeyRing({
      factory: { read: readPublicKey },
      readPrivateKey: async (kid) => (kid === 'earlier' ? reading.promise : key),
      schedule: new KeySchedule(TIMES),
      clock,
      lookUp: async () => {},
    });
    const signing = { kid: 'earlier', alg: 'RS256', from: 0, until: Infinity } as const;
    const taken = [replica.take({ ...ring.state(), signing, trusted: [] }, PKCS8), replica.take(ring.state(), PKCS8)];
    // In these passes the later state could come into use, and be replaced by the earlier one afterwards.
    for (let pass = 0; pass < 10; pass += 1) await nextPass();
    reading.resolve({ ...key, kid: 'earlier' });
    await Promise.all(taken);
    expect(await replica.publicKeys()).toEqual(await ring.publicKeys());
    expect((await replica.signingKey()).kid).toBe(key.kid);
  });

  it('has no key before it receives one', async () => {
    const replica = new WorkerKeyRing({
      factory: { read: readPublicKey },
      readPrivateKey: () => Promise.reject(new Error('none is sent')),
      schedule: new KeySchedule(TIMES),
      clock: new FixedClock(),
      lookUp: async () => {},
    });
    await expect(replica.signingKey()).rejects.toThrow(DependencyUnavailable);
    await expect(replica.publicKeys()).rejects.toThrow(DependencyUnavailable);
    expect(replica.maxAgeSeconds()).toBe(0);
  });

  it('looks up unknown key ids at the ring at most once in five seconds, for all requests that wait', async () => {
    const { clock, replica, lookedUp } = await world();
    expect(await replica.verificationKey('at once')).toBeUndefined();
    expect(lookedUp).toEqual([]);
    clock.advance(5);
    const found = await Promise.all(['one', 'two', 'three'].map((kid) => replica.verificationKey(kid)));
    expect(found).toEqual([undefined, undefined, undefined]);
    expect(lookedUp).toEqual(['one']);
    clock.advance(5);
    await replica.verificationKey('four');
    expect(lookedUp).toEqual(['one', 'four']);
  });

  it('asks the ring for no key that it has', async () => {
    const { clock, replica, lookedUp } = await world();
    const { kid } = await replica.signingKey();
    clock.advance(5);
    expect(await replica.verificationKey(kid)).toBeDefined();
    expect(lookedUp).toEqual([]);
  });
});
