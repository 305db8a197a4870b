import { describe, expect, it } from '@jest/globals';
import { InMemoryKeyDirectory } from '../../../adapters/memory/in-memory-key-directory.ts';
import type { KeyRing } from '../../../application/keys/key-ring.ts';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';
import type { DirectoryAnswer, KeyDirectory, SharedKey } from '../../../application/ports/key-directory.ts';
import { describeKeyProvider } from '../../contracts/key-provider.ts';
import { FixedClock } from '../../support/fixed-clock.ts';
import { freshKeyRing, unstartedKeyRing } from '../../support/fresh-key-ring.ts';
import { InMemoryAuditLog } from '../../support/in-memory-audit-log.ts';
import { kidsOf, signingKid } from '../../support/ring-kids.ts';
import { until } from '../../support/until.ts';

const ROTATION = 1000;
const PUBLICATION = 100;
const LIFETIME = 300;
const TIMES = { rotationSeconds: ROTATION, publicationSeconds: PUBLICATION, tokenLifetimeSeconds: LIFETIME };

/** A directory that can become unavailable, that counts its queries, and whose answers can be delayed. */
class SwitchedDirectory implements KeyDirectory {
  readonly #directory: InMemoryKeyDirectory;
  available = true;
  queries = 0;
  /** Delays the answers to publications, and to other queries, that are started while it is set. */
  delivery: Promise<void> = Promise.resolve();
  readDelivery: Promise<void> = Promise.resolve();

  constructor(clock: FixedClock) {
    this.#directory = new InMemoryKeyDirectory(clock);
  }

  publish(keys: readonly SharedKey[]): Promise<DirectoryAnswer> {
    return this.#query(() => this.#directory.publish(keys), this.delivery);
  }

  read(): Promise<DirectoryAnswer> {
    return this.#query(() => this.#directory.read(), this.readDelivery);
  }

  async #query<Answer>(run: () => Promise<Answer>, delivery: Promise<void>): Promise<Answer> {
    this.queries += 1;
    if (!this.available) throw new DependencyUnavailable('key directory', new Error('unavailable'));
    const answer = await run();
    await delivery;
    return answer;
  }
}

describeKeyProvider('KeyRing', () => freshKeyRing());
describeKeyProvider('KeyRing with a successor and a retired key', async () => {
  const clock = new FixedClock();
  const ring = await freshKeyRing({ clock, ...TIMES });
  for (const seconds of [900, 100, 0]) {
    clock.advance(seconds);
    await ring.advance();
  }
  return ring;
});

describe('the rotation of a key', () => {
  it('publishes the next key before it signs, by the time that a verifier may cache the set', async () => {
    const clock = new FixedClock();
    const ring = await freshKeyRing({ clock, ...TIMES });
    const first = await signingKid(ring);
    clock.advance(ROTATION - PUBLICATION - 1);
    await ring.advance();
    expect(await kidsOf(ring)).toEqual([first]);

    clock.advance(1);
    await ring.advance();
    expect(await kidsOf(ring)).toHaveLength(2);
    clock.advance(PUBLICATION - 1);
    await ring.advance();
    expect(await signingKid(ring)).toBe(first);

    clock.advance(1);
    await ring.advance();
    expect(await signingKid(ring)).not.toBe(first);
    expect(await kidsOf(ring)).toContain(await signingKid(ring));
  });

  it('lets the key set be cached until the next key is published, and for half of the publication time at most', async () => {
    const clock = new FixedClock();
    const ring = await freshKeyRing({ clock, ...TIMES });
    for (const [seconds, maxAge] of [
      [ROTATION - PUBLICATION - 60, PUBLICATION / 2],
      [50, 10],
      [10, PUBLICATION / 2],
    ] as const) {
      clock.advance(seconds);
      await ring.advance();
      expect(ring.maxAgeSeconds()).toBe(maxAge);
    }
  });

  it('records when each key is published, signs and retires', async () => {
    const [clock, auditLog] = [new FixedClock(), new InMemoryAuditLog()];
    const ring = await freshKeyRing({ clock, auditLog, ...TIMES });
    const [start, first] = [clock.now(), await signingKid(ring)];
    for (const seconds of [ROTATION - PUBLICATION, PUBLICATION]) {
      clock.advance(seconds);
      await ring.advance();
    }
    const second = await signingKid(ring);
    expect(auditLog.events()).toEqual([
      { event: 'key_published', at: start, key_id: first },
      { event: 'key_signing', at: start, key_id: first },
      { event: 'key_published', at: start + ROTATION - PUBLICATION, key_id: second },
      { event: 'key_signing', at: start + ROTATION, key_id: second },
      { event: 'key_retired', at: start + ROTATION, key_id: first },
    ]);
  });

  it('tells how old the key is, how long it may sign, and when the next one is due', async () => {
    const clock = new FixedClock();
    const directory = new SwitchedDirectory(clock);
    const ring = unstartedKeyRing({ clock, directory, ...TIMES });
    expect(ring.times()).toEqual({ age: undefined, lease: undefined, rotation: undefined, directoryAge: undefined });
    await ring.advance();
    expect(ring.times()).toEqual({ age: 0, lease: 3_600, rotation: ROTATION, directoryAge: 0 });

    clock.advance(ROTATION - PUBLICATION);
    await ring.advance();
    clock.advance(30);
    expect(ring.times()).toEqual({
      age: ROTATION - PUBLICATION + 30,
      lease: 3_570,
      rotation: PUBLICATION - 30,
      directoryAge: 30,
    });
  });

  it('tells by how much the next key is late while the directory is unavailable', async () => {
    const clock = new FixedClock();
    const directory = new SwitchedDirectory(clock);
    const ring = await freshKeyRing({ clock, directory, ...TIMES });
    directory.available = false;
    clock.advance(ROTATION + 20);
    await expect(ring.advance()).rejects.toThrow(DependencyUnavailable);
    const late = { age: ROTATION + 20, lease: 3_600 - ROTATION - 20, rotation: -20, directoryAge: ROTATION + 20 };
    expect(ring.times()).toEqual(late);

    directory.available = true;
    await ring.advance();
    // It is published now, and signs when every verifier can know it.
    expect(ring.times()).toMatchObject({ rotation: PUBLICATION, directoryAge: 0 });
  });

  it('tells no time of a rotation that does not come', async () => {
    expect((await freshKeyRing()).times().rotation).toBeUndefined();
  });

  it('trusts and publishes a retired key until the last token that it signed has expired, and not a second longer', async () => {
    const clock = new FixedClock();
    const ring = await freshKeyRing({ clock, ...TIMES });
    const first = await signingKid(ring);
    await passRotation(clock, ring);
    expect(await signingKid(ring)).not.toBe(first);

    clock.advance(LIFETIME - 1);
    expect(await ring.verificationKey(first)).toBeDefined();
    expect(await kidsOf(ring)).toContain(first);
    clock.advance(1);
    expect(await ring.verificationKey(first)).toBeUndefined();
    expect(await kidsOf(ring)).not.toContain(first);
  });

  it('never signs with a key that is missing from a cached set, however long verifiers may cache it, over many rotations', async () => {
    const clock = new FixedClock();
    const ring = await freshKeyRing({ clock, ...TIMES });
    let cached = { kids: await kidsOf(ring), until: clock.now() + ring.maxAgeSeconds() };
    for (let second = 0; second < 5 * ROTATION; second += 7) {
      clock.advance(7);
      await ring.advance();
      if (clock.now() >= cached.until) cached = { kids: await kidsOf(ring), until: clock.now() + ring.maxAgeSeconds() };
      expect(cached.kids).toContain(await signingKid(ring));
    }
  });

  it('keeps one key forever if rotation is switched off', async () => {
    const clock = new FixedClock();
    const ring = await freshKeyRing({ clock, ...TIMES, rotationSeconds: 0 });
    const first = await signingKid(ring);
    for (let day = 0; day < 30; day += 1) {
      clock.advance(86_400);
      await ring.advance();
    }
    expect(await kidsOf(ring)).toEqual([first]);
    expect(ring.maxAgeSeconds()).toBe(PUBLICATION / 2);
  });

  it('makes one key when it advances many times at once', async () => {
    const clock = new FixedClock();
    const ring = unstartedKeyRing({ clock, ...TIMES });
    await Promise.all(Array.from({ length: 10 }, () => ring.advance()));
    expect(await kidsOf(ring)).toHaveLength(1);
  });
});

describe('replicas that share a directory', () => {
  it('serve and trust each other’s keys', async () => {
    const clock = new FixedClock();
    const directory = new InMemoryKeyDirectory(clock);
    const one = await freshKeyRing({ clock, directory, ...TIMES });
    const other = await freshKeyRing({ clock, directory, ...TIMES });
    await one.advance();
    expect(await kidsOf(one)).toEqual(await kidsOf(other));
    expect(await kidsOf(one)).toHaveLength(2);
    for (const kid of await kidsOf(one)) {
      expect(await one.verificationKey(kid)).toBeDefined();
      expect(await other.verificationKey(kid)).toBeDefined();
    }
  });

  it('a later one signs only when every replica can have read its key, wherever its seconds begin', async () => {
    const clock = new FixedClock(1_000.9);
    const directory = new SwitchedDirectory(clock);
    await freshKeyRing({ clock, directory, ...TIMES });
    const later = await freshKeyRing({ clock, directory, ...TIMES });
    clock.advance(PUBLICATION - 0.8);
    expect(later.whyNotSigning()).toContain('waits');
    clock.advance(0.9);
    expect(later.whyNotSigning()).toBeUndefined();
  });

  it('the first signs at once; a later one waits until every verifier can know its key', async () => {
    const clock = new FixedClock();
    const directory = new InMemoryKeyDirectory(clock);
    const first = await freshKeyRing({ clock, directory, ...TIMES });
    expect(first.whyNotSigning()).toBeUndefined();

    const later = await freshKeyRing({ clock, directory, ...TIMES });
    await expect(later.signingKey()).rejects.toThrow(DependencyUnavailable);
    expect(later.whyNotSigning()).toContain('waits');
    expect(later.whyNotVerifying()).toBeUndefined();
    expect(await kidsOf(later)).toHaveLength(2);
    clock.advance(PUBLICATION);
    expect(await kidsOf(first)).not.toContain(await signingKid(later));
    await first.advance();
    expect(await kidsOf(first)).toContain(await signingKid(later));
  });

  it('drop the key of a removed replica when its last token has expired', async () => {
    const clock = new FixedClock();
    const directory = new InMemoryKeyDirectory(clock);
    const removed = await freshKeyRing({ clock, directory, ...TIMES, rotationSeconds: 0 });
    const left = await freshKeyRing({ clock, directory, ...TIMES, rotationSeconds: 0 });
    const kid = await signingKid(removed);
    clock.advance(3_600 + LIFETIME - 1);
    await left.advance();
    expect(await left.verificationKey(kid)).toBeDefined();
    clock.advance(1);
    expect(await left.verificationKey(kid)).toBeUndefined();
    await left.advance();
    expect(await kidsOf(left)).not.toContain(kid);
  });

  it('a restarted service trusts the tokens that it signed before', async () => {
    const clock = new FixedClock();
    const directory = new InMemoryKeyDirectory(clock);
    const before = await signingKid(await freshKeyRing({ clock, directory, ...TIMES }));
    const after = await freshKeyRing({ clock, directory, ...TIMES });
    expect(await after.verificationKey(before)).toBeDefined();
  });

  it.each([
    ['1', 'AQ'],
    ['2', 'Ag'],
    ['65536', 'AQAA'],
  ])('drop a key whose row gets the exponent %s, with which tokens could be forged', async (_exponent, broken) => {
    const clock = new FixedClock();
    const inner = new InMemoryKeyDirectory(clock);
    let e = 'AQAB';
    const rewritten = async (answering: Promise<DirectoryAnswer>) => {
      const answer = await answering;
      return { ...answer, keys: answer.keys.map((key) => ({ ...key, jwk: { ...key.jwk, e } })) };
    };
    const directory: KeyDirectory = {
      publish: (keys) => rewritten(inner.publish(keys)),
      read: () => rewritten(inner.read()),
    };
    const kid = await signingKid(await freshKeyRing({ clock, directory: inner, ...TIMES }));
    const ring = await freshKeyRing({ clock, directory, ...TIMES });
    expect(await kidsOf(ring)).toContain(kid);

    e = broken;
    clock.advance(15);
    await ring.advance();
    expect(await kidsOf(ring)).not.toContain(kid);
    expect(await ring.verificationKey(kid)).toBeUndefined();
  });
});

describe('a slow directory', () => {
  it('delays the first signature: the publication time of a key begins with the answer', async () => {
    const clock = new FixedClock();
    const directory = new SwitchedDirectory(clock);
    await freshKeyRing({ clock, directory, ...TIMES });
    const { promise, resolve } = Promise.withResolvers<void>();
    directory.delivery = promise;
    const later = unstartedKeyRing({ clock, directory, ...TIMES });
    const advancing = later.advance();
    await until(() => directory.queries === 4, 'it publishes');
    clock.advance(2);
    resolve();
    await advancing;
    clock.advance(PUBLICATION - 1);
    expect(later.whyNotSigning()).toContain('waits');
    clock.advance(1);
    expect(later.whyNotSigning()).toBeUndefined();
  });

  it('loses no key to an answer that arrives after a later one', async () => {
    const clock = new FixedClock();
    const directory = new SwitchedDirectory(clock);
    const ring = await freshKeyRing({ clock, directory, ...TIMES });
    clock.advance(10);
    const { promise, resolve } = Promise.withResolvers<void>();
    directory.readDelivery = promise;
    const lookUp = ring.verificationKey(crypto.randomUUID());
    await until(() => directory.queries === 3, 'it reads');
    directory.readDelivery = Promise.resolve();
    await freshKeyRing({ clock, directory, ...TIMES });
    await ring.advance();
    expect(await kidsOf(ring)).toHaveLength(2);
    resolve();
    await lookUp;
    expect(await kidsOf(ring)).toHaveLength(2);
  });
});

describe('keys that were read long ago', () => {
  it('may be cached only until a key that is not among them may sign', async () => {
    const clock = new FixedClock();
    const directory = new SwitchedDirectory(clock);
    const ring = await freshKeyRing({ clock, directory, ...TIMES, rotationSeconds: 0 });
    expect(ring.maxAgeSeconds()).toBe(PUBLICATION / 2);
    directory.available = false;
    clock.advance(PUBLICATION - 10);
    await expect(ring.advance()).rejects.toThrow(DependencyUnavailable);
    expect(ring.maxAgeSeconds()).toBe(9);
    clock.advance(10);
    expect(ring.maxAgeSeconds()).toBe(0);
    directory.available = true;
    await ring.advance();
    expect(ring.maxAgeSeconds()).toBe(PUBLICATION / 2);
  });

  it('do not cause an unknown key id to be refused without a query, even if keys are published for less than five seconds', async () => {
    const clock = new FixedClock();
    const directory = new SwitchedDirectory(clock);
    const times = { rotationSeconds: 4, publicationSeconds: 2, tokenLifetimeSeconds: 10 };
    const ring = await freshKeyRing({ clock, directory, ...times });
    const other = await freshKeyRing({ clock, directory, ...times });
    clock.advance(2);
    expect(await ring.verificationKey(await signingKid(other))).toBeDefined();
  });
});

describe('an unknown key id', () => {
  it('causes one query for all requests that wait, and finds keys that were published in the meantime', async () => {
    const clock = new FixedClock();
    const directory = new SwitchedDirectory(clock);
    const one = await freshKeyRing({ clock, directory, ...TIMES });
    clock.advance(10);
    const other = await freshKeyRing({ clock, directory, ...TIMES });
    const known = await kidsOf(one);
    const kid = (await kidsOf(other)).find((published) => !known.includes(published)) ?? '';
    const before = directory.queries;
    const found = await Promise.all(Array.from({ length: 20 }, () => one.verificationKey(kid)));
    expect(found.every((key) => key !== undefined)).toBe(true);
    expect(directory.queries).toBeLessThanOrEqual(before + 1);
  });

  it('causes a query, and a known one of another replica does not', async () => {
    const clock = new FixedClock();
    const directory = new SwitchedDirectory(clock);
    const other = await freshKeyRing({ clock, directory, ...TIMES });
    const ring = await freshKeyRing({ clock, directory, ...TIMES });
    const before = directory.queries;
    clock.advance(10);
    for (const kid of await kidsOf(other)) expect(await ring.verificationKey(kid)).toBeDefined();
    expect(directory.queries).toBe(before);
    await ring.verificationKey(crypto.randomUUID());
    expect(directory.queries).toBe(before + 1);
  });

  it('causes at most one query in five seconds, however many there are', async () => {
    const clock = new FixedClock();
    const directory = new SwitchedDirectory(clock);
    const ring = await freshKeyRing({ clock, directory, ...TIMES });
    const before = directory.queries;
    for (let second = 0; second < 20; second += 1) {
      await Promise.all(Array.from({ length: 50 }, () => ring.verificationKey(crypto.randomUUID())));
      clock.advance(1);
    }
    expect(directory.queries - before).toBe(3);
  });

  it('is not refused while the directory is unavailable: the token may be valid', async () => {
    const clock = new FixedClock();
    const directory = new SwitchedDirectory(clock);
    const ring = await freshKeyRing({ clock, directory, ...TIMES });
    directory.available = false;
    clock.advance(10);
    const before = directory.queries;
    for (let time = 0; time < 3; time += 1)
      await expect(ring.verificationKey(crypto.randomUUID())).rejects.toThrow(DependencyUnavailable);
    expect(directory.queries - before).toBe(1);
    directory.available = true;
    clock.advance(10);
    expect(await ring.verificationKey(crypto.randomUUID())).toBeUndefined();
  });
});

describe('an unavailable directory', () => {
  it('at the start: no key signs until it can be published', async () => {
    const clock = new FixedClock();
    const directory = new SwitchedDirectory(clock);
    const ring = unstartedKeyRing({ clock, directory, ...TIMES });
    directory.available = false;
    for (let time = 0; time < 3; time += 1) await expect(ring.advance()).rejects.toThrow(DependencyUnavailable);
    await expect(ring.signingKey()).rejects.toThrow(DependencyUnavailable);
    await expect(kidsOf(ring)).rejects.toThrow(DependencyUnavailable);
    directory.available = true;
    await ring.advance();
    expect(await kidsOf(ring)).toEqual([await signingKid(ring)]);
  });

  it('later: the known keys keep working, and no unpublished key signs', async () => {
    const clock = new FixedClock();
    const directory = new SwitchedDirectory(clock);
    const ring = await freshKeyRing({ clock, directory, ...TIMES });
    const other = await freshKeyRing({ clock, directory, ...TIMES });
    await ring.advance();
    const [first, known] = [await signingKid(ring), await kidsOf(ring)];
    directory.available = false;
    clock.advance(ROTATION + PUBLICATION);
    await ring.advance().catch(() => {});
    clock.advance(PUBLICATION);
    await ring.advance().catch(() => {});
    expect(await signingKid(ring)).toBe(first);
    expect(await kidsOf(ring)).toEqual(known);
    expect(await kidsOf(other)).toEqual(known);
    for (const kid of known) expect(await ring.verificationKey(kid)).toBeDefined();
  });

  it('for longer than the lease: the ring stops signing what others no longer trust', async () => {
    const clock = new FixedClock();
    const directory = new SwitchedDirectory(clock);
    const ring = await freshKeyRing({ clock, directory, ...TIMES });
    directory.available = false;
    clock.advance(3_599);
    expect(ring.whyNotSigning()).toBeUndefined();
    clock.advance(1);
    await expect(ring.signingKey()).rejects.toThrow(DependencyUnavailable);
    directory.available = true;
    await ring.advance();
    expect(ring.whyNotSigning()).toBeUndefined();
  });
});

it('the ring signs with the new key at a rotation before the slow directory answers', async () => {
  const clock = new FixedClock();
  const directory = new SwitchedDirectory(clock);
  const ring = await freshKeyRing({ clock, directory, ...TIMES });
  clock.advance(ROTATION - PUBLICATION);
  await ring.advance();
  const old = await signingKid(ring);
  clock.advance(PUBLICATION);
  const { promise, resolve } = Promise.withResolvers<void>();
  directory.delivery = promise;
  const advancing = ring.advance();
  expect(await signingKid(ring)).not.toBe(old);
  resolve();
  await advancing;
});

/** Advances the ring at the two times when something is due. */
async function passRotation(clock: FixedClock, ring: KeyRing): Promise<void> {
  for (const seconds of [ROTATION - PUBLICATION, PUBLICATION]) {
    clock.advance(seconds);
    await ring.advance();
  }
}
