import { describe, expect, it } from '@jest/globals';
import { keyPeriods, keyTimes } from '../../../application/keys/key-ring-report.ts';
import { keyChangeEvents } from '../../../application/keys-program/key-change-events.ts';
import { keyStateOf, rotationsOf, signsFromOf } from '../../../application/keys-program/ring-records.ts';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';
import type { KeyRow } from '../../../application/ports/key-ring-store.ts';
import { describeKeyProvider } from '../../contracts/key-provider.ts';
import { FixedClock } from '../../support/fixed-clock.ts';
import { freshKeyRing, unstartedKeyRing } from '../../support/fresh-key-ring.ts';
import { InMemoryAuditLog } from '../../support/in-memory-audit-log.ts';
import { kidsOf, signingKid } from '../../support/ring-kids.ts';
import { SharedRing } from '../../support/shared-ring.ts';

const TIMES = { rotationSeconds: 1_000, publicationSeconds: 100, tokenLifetimeSeconds: 300 };

function world() {
  const clock = new FixedClock();
  return { clock, shared: new SharedRing(clock), ...TIMES };
}

/** What a replica that runs does every five seconds, and at least once. */
async function pass(clock: FixedClock, seconds: number, ...rings: readonly { advance(): Promise<void> }[]) {
  clock.advance(seconds);
  for (const ring of rings) await ring.advance();
}

/** A ring of the same steps with other keys. */
async function otherRing(times: typeof TIMES) {
  const clock = new FixedClock();
  const shared = new SharedRing(clock);
  await (await freshKeyRing({ shared, clock, ...times })).advance();
  return shared;
}

const RING_FIX = 'do what the check of the key directory says; it needs no restart';
const stepsOf = ({ rows }: SharedRing) => rows.map(({ step }) => step);

describeKeyProvider('KeyRing in memory', () => freshKeyRing());
describeKeyProvider('KeyRing that is shared', () => freshKeyRing(world()));

describe('the secrets of a replica', () => {
  it.each([
    ['were replaced by others', { areOthers: true }, 'no longer has the secret of the key that signs'],
    ['cannot be read', { problem: 'cannot be read (ENOENT)', areOthers: true }, 'cannot be read (ENOENT)'],
  ])('that %s make it add no key, and say so, while it goes on with those that it has', async (_what, secrets, why) => {
    const { shared, clock, ...rest } = world();
    const ring = await freshKeyRing({ shared, clock, ...rest });
    await ring.advance();
    const [signing, steps] = [await signingKid(ring), stepsOf(shared)];
    shared.secrets = secrets;
    // The key after the next one is due.
    await pass(clock, rest.rotationSeconds + 1, ring);
    expect(stepsOf(shared)).toEqual(steps);
    const text = `this replica can add no key to the ring: KEY_SECRET_FILE ${why}`;
    const fix = 'restore the file of KEY_SECRET_FILE, which the other replicas have too; it needs no restart';
    expect(ring.note()).toEqual({ code: 'key_secret_unusable', text, fix });
    expect(ring.whyNotSigning()).toBeUndefined();
    expect(await kidsOf(ring)).toContain(signing);
    shared.secrets = {};
    await ring.advance();
    expect(stepsOf(shared)).toEqual([...steps, 2]);
    expect(ring.note()).toBeUndefined();
  });

  it('have to open the keys of its algorithm that sign now or next, and no others', async () => {
    const { shared, clock, ...rest } = world();
    const ring = await freshKeyRing({ shared, clock, ...rest });
    const other = await freshKeyRing({ shared, clock, ...rest, algorithm: 'ES256' });
    for (let times = 0; times < 2; times += 1) await pass(clock, 105, ring, other);
    const kidOf = (name: string) => {
      const row = shared.rows.find(({ algorithm, step }) => `${algorithm} ${step}` === name);
      return row?.kid ?? '';
    };
    const noteWithout = async (name: string) => {
      shared.secrets = { lack: [kidOf(name)] };
      await ring.advance();
      return ring.note()?.code;
    };
    for (const name of ['RS256 0', 'RS256 1']) expect(await noteWithout(name)).toBe('key_secret_unusable');
    expect(kidOf('ES256 1')).not.toBe('');
    expect(await noteWithout('ES256 1')).toBeUndefined();
    await pass(clock, 1_000, ring);
    expect(await signingKid(ring)).toBe(kidOf('RS256 1'));
    expect(await noteWithout('RS256 0')).toBeUndefined();
  });

  it('that open no key of the ring make it add none, also of another algorithm', async () => {
    const { shared, clock, ...rest } = world();
    const ring = await freshKeyRing({ shared, clock, ...rest });
    await ring.advance();
    const steps = stepsOf(shared);
    shared.secrets = { areOthers: true };
    await freshKeyRing({ shared, clock, ...rest, algorithm: 'ES256' }).catch(() => {});
    shared.secrets = {};
    expect(stepsOf(shared)).toEqual(steps);
    const again = await freshKeyRing({ shared, clock, ...rest });
    expect([await signingKid(again), again.note()]).toEqual([await signingKid(ring), undefined]);
  });
});

describe('a start', () => {
  it('in an empty ring makes a key that signs at once, and the next one', async () => {
    const { shared, ...rest } = world();
    const ring = await freshKeyRing({ shared, ...rest });
    const first = await signingKid(ring);
    await ring.advance();
    expect(stepsOf(shared)).toEqual([0, 1]);
    expect(await kidsOf(ring)).toHaveLength(2);
    expect(await signingKid(ring)).toBe(first);
  });

  it('adopts the key that signs, and makes none: ten restarts leave two keys', async () => {
    const { shared, ...rest } = world();
    const first = await freshKeyRing({ shared, ...rest });
    await first.advance();
    for (let restart = 0; restart < 10; restart += 1) {
      const ring = await freshKeyRing({ shared, ...rest });
      expect(await signingKid(ring)).toBe(await signingKid(first));
      expect(await kidsOf(ring)).toEqual(await kidsOf(first));
    }
    expect([shared.rows.length, shared.made]).toEqual([2, 2]);
  });

  it('of several replicas in an empty ring at the same moment leaves one key, which all use', async () => {
    const { shared, ...rest } = world();
    const rings = await Promise.all(Array.from({ length: 3 }, () => freshKeyRing({ shared, ...rest })));
    expect(stepsOf(shared)).toEqual([0]);
    expect(new Set(await Promise.all(rings.map(signingKid))).size).toBe(1);
  });

  it('reads the ring before the first use', async () => {
    const { shared, ...rest } = world();
    const started = await freshKeyRing({ shared, ...rest });
    expect(await signingKid(unstartedKeyRing({ shared, ...rest }))).toBe(await signingKid(started));
  });

  it.each<[string, (of: ReturnType<typeof world>) => unknown, number]>([
    ['another replica adds those that are due', async (of) => await (await freshKeyRing(of)).advance(), 2],
    ['the clock is set', ({ clock }) => clock.setWall(60), 0],
  ])('adds no key if %s while it makes one', async (_what, act, added) => {
    const { shared, ...rest } = world();
    const make = shared.make.bind(shared);
    shared.make = async (algorithm) => {
      shared.make = make;
      await act({ shared, ...rest });
      return make(algorithm);
    };
    const ring = await freshKeyRing({ shared, ...rest });
    expect([shared.rows.length, ring.note()]).toEqual([added, undefined]);
  });

  it('uses the key that another replica was faster to add', async () => {
    const { shared, ...rest } = world();
    shared.beforeAdd = async () => {
      shared.beforeAdd = async () => {};
      await freshKeyRing({ shared, ...rest });
    };
    const ring = await freshKeyRing({ shared, ...rest });
    expect(stepsOf(shared)).toEqual([0]);
    expect(await signingKid(ring)).toBe(shared.rows[0]?.kid);
  });

  it('while the ring is away signs nothing, says so, and verifies nothing: 503 and not 401', async () => {
    const { shared, ...rest } = world();
    shared.fault = 'away';
    const ring = unstartedKeyRing({ shared, ...rest });
    const [unread, unknown] = ['the key ring could not be read yet', 'no key of the ring is known'];
    const fault = (dependency: string, message: string) => ({ dependency, cause: { message } });
    await expect(ring.advance()).rejects.toThrow(DependencyUnavailable);
    await expect(ring.signingKey()).rejects.toMatchObject(fault('signing key', unread));
    await expect(ring.verificationKey('any')).rejects.toMatchObject({ dependency: 'key directory' });
    await expect(ring.publicKeys()).rejects.toMatchObject(fault('key set', unknown));
    expect(ring.whyNotSigning()).toEqual({ code: 'ring_unread', text: unread, fix: RING_FIX });
    expect(ring.whyNotVerifying()).toEqual({ code: 'no_key', text: unknown, fix: RING_FIX });
    expect(keyTimes(ring.view())).toEqual({
      age: undefined,
      end: undefined,
      rotation: undefined,
      directoryAge: undefined,
    });
    expect([ring.view().verifying.length, ring.maxAgeSeconds(), ring.isDue()]).toEqual([0, 0, true]);
    shared.fault = 'none';
    await ring.advance();
    expect([ring.whyNotSigning(), ring.whyNotVerifying(), ring.note()]).toEqual([undefined, undefined, undefined]);
    expect([ring.view().verifying.length, ring.isDue()]).toEqual([1, true]);
    await ring.advance();
    expect([ring.view().verifying.length, ring.isDue()]).toEqual([2, false]);
  });
});

describe('a key that signs at once', () => {
  /**
   * Two replicas after all keys were revoked. The other one has read the ring a round trip before the new key is added.
   */
  async function withoutKeys() {
    const { shared, clock, ...rest } = world();
    const options = { shared, clock, ...rest, pause: async (seconds: number) => clock.advance(seconds) };
    const [ring, other] = [await freshKeyRing(options), await freshKeyRing(options)];
    shared.revoke();
    clock.advance(5);
    await other.read();
    clock.advance(0.01);
    return { shared, clock, ring, other };
  }

  it('is waited for by the first reading of a replica only if it is new', async () => {
    const { shared, clock, ...rest } = world();
    const paused: number[] = [];
    const pause = async (seconds: number) => {
      paused.push(seconds);
      clock.advance(seconds);
    };
    const start = () => freshKeyRing({ shared, clock, ...rest, pause });
    await (await start()).advance();
    paused.length = 0;
    await start();
    expect(paused).toEqual([0.2]);
    // 1.1 s after the second in which it was added.
    clock.advance(0.5);
    const ring = await start();
    expect(paused).toEqual([0.2, 0.2]);
    await start();
    await ring.read();
    expect(paused).toEqual([0.2, 0.2]);
  });

  it('is waited for by nobody where a process keeps the ring alone', async () => {
    const clock = new FixedClock();
    let paused = 0;
    const pause = async () => {
      paused += 1;
    };
    const ring = await freshKeyRing({ clock, ...TIMES, pause });
    await pass(clock, 1_000, ring);
    expect([(await kidsOf(ring)).length > 1, paused]).toEqual([true, 0]);
  });

  it('signs only when every reading that counts as recent has it: another replica accepts its first token', async () => {
    const { ring, other } = await withoutKeys();
    await ring.advance();
    expect(await other.verificationKey(await signingKid(ring))).toBeDefined();
  });

  it('waits as long if its insert was committed seconds after it was made', async () => {
    const { shared, clock, ring, other } = await withoutKeys();
    const before = shared.rows;
    shared.fault = 'acknowledges nothing';
    await expect(ring.advance()).rejects.toThrow(DependencyUnavailable);
    const committed = shared.rows;
    shared.fault = 'none';
    shared.rows = before;
    clock.advance(4);
    await other.read();
    clock.advance(0.01);
    shared.rows = committed;
    await ring.read();
    expect(await signingKid(ring)).toBe(committed.at(-1)?.kid);
    expect(await other.verificationKey(await signingKid(ring))).toBeDefined();
  });
});

describe('a rotation', () => {
  it('needs nobody to act: all replicas turn to the next key at the same second, and verify with both', async () => {
    const { shared, clock, ...rest } = world();
    const [one, other] = [
      await freshKeyRing({ shared, clock, ...rest }),
      await freshKeyRing({ shared, clock, ...rest }),
    ];
    const first = await signingKid(one);
    await pass(clock, 1, one, other);
    clock.advance(998);
    expect([await signingKid(one), await signingKid(other)]).toEqual([first, first]);
    clock.advance(1);
    const second = await signingKid(one);
    expect([second, await signingKid(other)]).toEqual([shared.rows[1]?.kid, shared.rows[1]?.kid]);
    for (const ring of [one, other]) {
      for (const kid of [first, second]) expect(await ring.verificationKey(kid)).toBeDefined();
    }
    await pass(clock, 359, one);
    expect(await one.verificationKey(first)).toBeDefined();
    await pass(clock, 1, one);
    expect(await one.verificationKey(first)).toBeUndefined();
  });

  it('is in the audit log, as is every key that is published, by the time of day', async () => {
    const { shared, clock, ...rest } = world();
    const auditLog = new InMemoryAuditLog();
    const ring = await freshKeyRing({ shared, clock, ...rest, auditLog });
    const start = clock.now();
    await ring.advance();
    clock.advance(1_000.5);
    await ring.signingKey();
    expect(auditLog.events().map(({ event }) => event)).toContain('key_retired');
    await ring.advance();
    const [first, second, third] = shared.rows.map(({ kid }) => kid);
    const event = (name: string, at: number, key_id: string | undefined) => ({ event: name, at, key_id });
    expect(auditLog.events()).toEqual([
      event('key_published', start, first),
      event('key_signing', start, first),
      event('key_published', start, second),
      event('key_signing', start + 1_000, second),
      event('key_retired', start + 1_000, first),
      event('key_published', start + 1_000, third),
    ]);
  });

  it('by hand takes place at the time that the row has', async () => {
    const { shared, clock, ...rest } = world();
    const ring = await freshKeyRing({ shared, clock, ...rest });
    await ring.advance();
    const first = await signingKid(ring);
    shared.change({ endedAt: clock.now() + 20 }, first);
    await pass(clock, 19, ring);
    expect(await signingKid(ring)).toBe(first);
    await pass(clock, 1, ring);
    expect(await signingKid(ring)).toBe(shared.rows[1]?.kid);
    expect(await ring.verificationKey(first)).toBeDefined();
    expect(stepsOf(shared)).toEqual([0, 1, 2]);
  });

  it('goes on with the keys that are known while the ring is away, for one rotation, and then 503', async () => {
    const { shared, clock, ...rest } = world();
    const ring = await freshKeyRing({ shared, clock, ...rest });
    await ring.advance();
    shared.fault = 'away';
    const away = async (seconds: number) => {
      clock.advance(seconds);
      await expect(ring.advance()).rejects.toThrow(DependencyUnavailable);
    };
    await away(999);
    expect(await signingKid(ring)).toBe(shared.rows[0]?.kid);
    await away(1_000);
    expect(await signingKid(ring)).toBe(shared.rows[1]?.kid);
    expect(keyTimes(ring.view()).end).toBe(1);
    await away(1);
    await expect(ring.signingKey()).rejects.toThrow(DependencyUnavailable);
    const text = 'no key of the ring may sign any more, and none could be added';
    expect(ring.whyNotSigning()).toEqual({ code: 'no_key', text, fix: RING_FIX });
    await away(3 * 86_400);
    shared.fault = 'none';
    await ring.advance();
    // No step is made up for.
    expect(await signingKid(ring)).toBe(shared.rows[2]?.kid);
    expect(shared.rows).toHaveLength(3);
  });

  it('of a ring that cannot be written follows what is known, with a note, and makes no key again and again', async () => {
    const { shared, clock, ...rest } = world();
    const ring = await freshKeyRing({ shared, clock, ...rest });
    shared.fault = 'read-only';
    for (let times = 0; times < 5; times += 1) {
      clock.advance(5);
      await expect(ring.advance()).rejects.toThrow(DependencyUnavailable);
    }
    expect(shared.made).toBe(2);
    const text = 'a key could not be written to the ring';
    expect(ring.note()).toEqual({ code: 'key_not_added', text, fix: RING_FIX });
    expect(await signingKid(ring)).toBe(shared.rows[0]?.kid);
    shared.fault = 'none';
    await ring.advance();
    expect([ring.note(), shared.rows.length, shared.made]).toEqual([undefined, 2, 2]);
  });

  it('goes on with keys whose rows were lost, and writes them back, so that the next start has them', async () => {
    const { shared, clock, auditLog, ...rest } = { ...world(), auditLog: new InMemoryAuditLog() };
    const ring = await freshKeyRing({ shared, clock, auditLog, ...rest });
    await ring.advance();
    const [rows, signing] = [shared.rows, await signingKid(ring)];
    shared.rows = [];
    shared.fault = 'read-only';
    await expect(ring.advance()).rejects.toThrow(DependencyUnavailable);
    expect(await signingKid(ring)).toBe(signing);
    expect(await ring.verificationKey(signing)).toBeDefined();
    expect(ring.note()).toMatchObject({ code: 'key_not_added' });
    shared.fault = 'none';
    await ring.advance();
    expect(shared.rows).toEqual(rows);
    expect(ring.note()).toBeUndefined();
    const restored = auditLog.events().filter(({ event }) => event === 'key_restored');
    expect(restored.map((event) => 'key_id' in event && event.key_id)).toEqual(rows.map(({ kid }) => kid));
    expect(await signingKid(await freshKeyRing({ shared, clock, ...rest }))).toBe(signing);
  });

  it.each([
    ['that signs', 0],
    ['that follows', 1],
  ])(
    'writes back the row of the key %s where only that was lost, but not beside another key of its step',
    async (_what, lost) => {
      const { shared, clock, ...rest } = world();
      const ring = await freshKeyRing({ shared, clock, ...rest });
      await ring.advance();
      const { rows } = shared;
      shared.rows = rows.filter((_row, index) => index !== lost);
      await ring.advance();
      expect(shared.rows.map(({ kid }) => kid).toSorted()).toEqual(rows.map(({ kid }) => kid).toSorted());
      const { rows: others } = await otherRing(rest);
      const other = others[lost];
      if (other === undefined) throw new Error('no key');
      shared.rows = [...rows.filter((_row, index) => index !== lost), other];
      await ring.advance();
      expect(shared.rows.filter(({ step }) => step === lost)).toEqual([other]);
    },
  );

  it('writes back no key that has ended, was revoked or could not be opened', async () => {
    const { shared, clock, ...rest } = world();
    // The ring has another time than the clock that nobody sets.
    clock.setWall(1_000_000);
    shared.aheadSeconds = 1_000_000;
    const ring = await freshKeyRing({ shared, clock, ...rest });
    await ring.advance();
    const [first, next] = shared.rows;
    if (first === undefined || next === undefined) throw new Error('no key');
    shared.revoke(next.kid);
    shared.rows = [...shared.rows, { ...first, kid: 'planted', step: 7 }];
    await ring.read();
    shared.rows = [];
    clock.advance(first.verifiesUntil - shared.now + 1);
    await ring.advance();
    expect(shared.rows.map(({ kid }) => kid)).not.toEqual(expect.arrayContaining([first.kid]));
    expect(shared.rows.every(({ kid }) => kid !== 'planted' && kid !== next.kid)).toBe(true);
  });

  it('uses a key whose addition was acknowledged to nobody, once, when it has read it back', async () => {
    const { shared, clock, ...rest } = world();
    shared.fault = 'acknowledges nothing';
    const ring = unstartedKeyRing({ shared, clock, ...rest });
    await expect(ring.advance()).rejects.toThrow(DependencyUnavailable);
    await expect(ring.signingKey()).rejects.toThrow(DependencyUnavailable);
    shared.fault = 'none';
    await ring.advance();
    await ring.advance();
    expect(stepsOf(shared)).toEqual([0, 1]);
    expect(new Set(shared.rows.map(({ kid }) => kid)).size).toBe(2);
  });

  it('adds no key that was planned before the process was stopped', async () => {
    const { shared, clock, ...rest } = world();
    shared.beforeAdd = async () => {
      shared.beforeAdd = async () => {};
      clock.advance(86_400);
    };
    const ring = unstartedKeyRing({ shared, clock, ...rest });
    await ring.advance();
    expect(shared.rows).toEqual([]);
    await ring.advance();
    expect(await signingKid(ring)).toBe(shared.rows[0]?.kid);
    expect(shared.rows[0]?.signsFrom).toBe(clock.now());
  });
});

describe('another algorithm', () => {
  it('signs once its key has been published, and until then the other one; both verify everywhere', async () => {
    const { shared, clock, ...rest } = world();
    const old = await freshKeyRing({ shared, clock, ...rest });
    const first = await old.signingKey();
    const replica = await freshKeyRing({ shared, clock, ...rest, algorithm: 'ES256' });
    expect(await signingKid(replica)).toBe(first.kid);
    await pass(clock, 104, old, replica);
    expect((await replica.signingKey()).alg).toBe('RS256');
    await pass(clock, 1, old, replica);
    const { alg, kid } = await replica.signingKey();
    expect([alg, (await old.signingKey()).alg]).toEqual(['ES256', 'RS256']);
    expect([await old.verificationKey(kid), await replica.verificationKey(first.kid)]).not.toContain(undefined);
    expect(shared.rows.map(({ algorithm, step }) => `${algorithm} ${step}`)).toEqual([
      'RS256 0',
      'ES256 0',
      'RS256 1',
      'ES256 1',
    ]);
  });
});

describe('a revoked key', () => {
  it('is replaced by the next one at once, by every replica that reads the ring, and by a new next one', async () => {
    const { shared, clock, ...rest } = world();
    const audit = new InMemoryAuditLog();
    const ring = await freshKeyRing({ shared, clock, ...rest, auditLog: audit });
    await ring.advance();
    const [first, second] = shared.rows.map(({ kid }) => kid);
    shared.revoke(first);
    await pass(clock, 5, ring);
    expect(await signingKid(ring)).toBe(second);
    expect(await ring.verificationKey(first ?? '')).toBeUndefined();
    expect(await kidsOf(ring)).toEqual([second, shared.rows[2]?.kid].toSorted());
    const events = audit.events().map((event) => ('key_id' in event ? [event.event, event.key_id] : []));
    expect(events).toContainEqual(['key_revoked', first]);
    expect(events.filter(([event]) => event === 'key_signing').map(([, kid]) => kid)).toEqual([first, second]);
    expect(events).not.toContainEqual(['key_retired', first]);
  });

  it('with every other key leaves a new one, which signs at once', async () => {
    const { shared, clock, ...rest } = world();
    const ring = await freshKeyRing({ shared, clock, ...rest });
    await ring.advance();
    shared.revoke();
    await pass(clock, 5, ring);
    expect(await signingKid(ring)).toBe(shared.rows[2]?.kid);
    expect(shared.rows[2]?.step).toBe(2);
  });

  it('stays revoked where it was seen revoked, also if its row comes back from a backup', async () => {
    const { shared, clock, ...rest } = world();
    const ring = await freshKeyRing({ shared, clock, ...rest });
    await ring.advance();
    const backup = shared.rows;
    const [first, second] = backup.map(({ kid }) => kid);
    shared.revoke(first);
    await pass(clock, 5, ring);
    shared.rows = backup;
    await pass(clock, 5, ring);
    expect(await signingKid(ring)).toBe(second);
    expect(await ring.verificationKey(first ?? '')).toBeUndefined();
  });

  it('stays revoked there, however many ids somebody makes up and revokes', async () => {
    const { shared, clock, ...rest } = world();
    const ring = await freshKeyRing({ shared, clock, ...rest });
    await ring.advance();
    const backup = shared.rows;
    const [first] = backup;
    if (first === undefined) throw new Error('no key');
    shared.revoke(first.kid);
    await pass(clock, 5, ring);
    const invented = { ...first, algorithm: undefined, step: undefined, sealed: undefined, revokedAt: clock.now() };
    for (let round = 0; round < 11; round += 1) {
      const kids = Array.from({ length: 990 }, (_, number) => `invented-${round}-${number}`);
      shared.rows = [...backup.slice(1), ...kids.map((kid) => ({ ...invented, kid }))];
      await ring.read();
    }
    shared.rows = backup;
    await ring.read();
    expect(await ring.verificationKey(first.kid)).toBeUndefined();
  });

  it('signs nothing after the process was stopped for longer than a reading takes', async () => {
    const { shared, clock, ...rest } = world();
    const ring = await freshKeyRing({ shared, clock, ...rest });
    await ring.advance();
    const [first, second] = shared.rows.map(({ kid }) => kid);
    shared.revoke(first);
    clock.advance(10.1);
    expect(await signingKid(ring)).toBe(second);
    expect(await ring.verificationKey(first ?? '')).toBeUndefined();
  });
});

describe('a process that was stopped', () => {
  it('signs only when the reading has ended that has begun meanwhile', async () => {
    const { shared, clock, ...rest } = world();
    const ring = await freshKeyRing({ shared, clock, ...rest });
    await ring.advance();
    const [first, second] = shared.rows.map(({ kid }) => kid);
    const read = shared.read.bind(shared);
    let response = () => {};
    const held = new Promise<void>((resolve) => {
      response = resolve;
    });
    shared.read = () => held.then(read);
    clock.advance(11);
    const advancing = ring.advance();
    const signing = signingKid(ring);
    shared.revoke(first);
    response();
    expect(await signing).toBe(second);
    await advancing;
  });

  it('reads the ring again if it was stopped while it read', async () => {
    const { shared, clock, ...rest } = world();
    const ring = await freshKeyRing({ shared, clock, ...rest });
    await ring.advance();
    const [first, second] = shared.rows.map(({ kid }) => kid);
    const read = shared.read.bind(shared);
    shared.read = async () => {
      const response = await read();
      shared.read = read;
      shared.revoke(first);
      clock.advance(11);
      return response;
    };
    const advancing = ring.advance();
    clock.advance(11);
    expect(await signingKid(ring)).toBe(second);
    await advancing;
  });
});

describe('a reading that takes long', () => {
  it('is repeated once before a key signs', async () => {
    const { shared, clock, ...rest } = world();
    const ring = await freshKeyRing({ shared, clock, ...rest });
    const [read, before] = [shared.read.bind(shared), shared.reads];
    shared.read = async () => {
      clock.advance(11);
      return read();
    };
    clock.advance(11);
    expect(await signingKid(ring)).toBe(shared.rows[0]?.kid);
    expect(shared.reads - before).toBe(2);
  });

  it('counts from its end', async () => {
    const { shared, clock, ...rest } = world();
    const ring = await freshKeyRing({ shared, clock, ...rest });
    const read = shared.read.bind(shared);
    shared.read = async () => {
      clock.advance(9);
      return read();
    };
    await ring.read();
    const before = shared.reads;
    clock.advance(9);
    await ring.signingKey();
    expect(shared.reads).toBe(before);
  });
});

describe('a row of the ring', () => {
  async function ringOfTwo() {
    const { shared, clock, ...rest } = world();
    const ring = await freshKeyRing({ shared, clock, ...rest });
    await ring.advance();
    const [first, second] = shared.rows;
    if (first === undefined || second === undefined) throw new Error('no keys');
    return { shared, clock, ring, first, second };
  }

  it('that was planted adds no key, neither to sign nor to verify nor to publish', async () => {
    const { shared, clock, ring, first } = await ringOfTwo();
    shared.rows = [...shared.rows, { ...first, kid: 'planted', step: 9, sealed: 'planted' }];
    await pass(clock, 5, ring);
    expect(await kidsOf(ring)).toHaveLength(2);
    expect(await signingKid(ring)).toBe(first.kid);
    expect(await ring.verificationKey('planted')).toBeUndefined();
    expect(ring.unusable()).toMatchObject([
      { kid: 'planted', state: 'damaged', reason: 'its row was damaged or changed' },
    ]);
    expect(ring.note()).toEqual({
      code: 'key_damaged',
      text: 'the key planted cannot be used: its row was damaged or changed',
      fix: expect.stringMatching(/^restore its row in key_ring; only if .* which ends all of its tokens$/),
    });
  });

  it.each(['step', 'algorithm', 'kid'] as const)('whose %s was changed is no key', async (column) => {
    const { shared, clock, ring, second } = await ringOfTwo();
    shared.change({ [column]: column === 'step' ? 7 : column === 'kid' ? 'another' : 'ES256' }, second.kid);
    await pass(clock, 5, ring);
    expect((await kidsOf(ring)).includes(second.kid)).toBe(false);
  });

  it.each([2 ** 63, 2 ** 53 - 1, 1e9 - 1, 2, -7])(
    'that was planted with step %d does not keep the next key out',
    async (step) => {
      const { shared, clock, ring, first } = await ringOfTwo();
      const planted = { ...first, kid: 'planted', step, sealed: undefined, revokedAt: 1, verifiesUntil: 2 ** 53 };
      shared.rows = [...shared.rows, planted];
      await pass(clock, 1_000, ring);
      const third = shared.rows[3];
      expect(third?.step).toBe(step === 2 ? 3 : 2);
      await pass(clock, 1_000, ring);
      expect(await signingKid(ring)).toBe(third?.kid);
      shared.revoke();
      await pass(clock, 5, ring);
      expect(await signingKid(ring)).toBe(shared.rows.find(({ revokedAt }) => revokedAt === undefined)?.kid);
    },
  );

  it('whose seal was swapped with that of another is no key, and a new one takes the place', async () => {
    const { shared, clock, ring, first, second } = await ringOfTwo();
    shared.change({ sealed: second.sealed }, first.kid);
    await pass(clock, 5, ring);
    expect(await signingKid(ring)).toBe(second.kid);
    expect(await ring.verificationKey(first.kid)).toBeUndefined();
    expect(stepsOf(shared)).toEqual([0, 1, 2]);
  });

  it('that was prolonged verifies no longer than its seal says', async () => {
    const { shared, clock, ring, first } = await ringOfTwo();
    shared.change({ verifiesUntil: first.verifiesUntil + 10_000, signsFrom: 0 });
    await pass(clock, 1_359, ring);
    expect(await ring.verificationKey(first.kid)).toBeDefined();
    await pass(clock, 1, ring);
    expect(await ring.verificationKey(first.kid)).toBeUndefined();
  });

  it('that needs an unknown secret gives 503 and not 401, and no other key is added beside it', async () => {
    const { shared, clock, ring, first, second } = await ringOfTwo();
    shared.change({ sealed: 'locked' }, second.kid);
    await pass(clock, 5, ring);
    await expect(ring.verificationKey(second.kid)).rejects.toThrow(DependencyUnavailable);
    expect(await ring.verificationKey('unknown')).toBeUndefined();
    expect(await signingKid(ring)).toBe(first.kid);
    await pass(clock, 1_000, ring);
    await expect(ring.signingKey()).rejects.toThrow(DependencyUnavailable);
    expect(ring.whyNotSigning()).toMatchObject({
      code: 'key_locked',
      text: `the key ${second.kid} cannot be opened: its secret is missing, whose id is abc`,
      fix: expect.stringMatching(/^compare the file of KEY_SECRET_FILE.* revoke the key .* all of its tokens$/),
    });
    expect(shared.rows).toHaveLength(2);
  });
});

describe('an unknown key id', () => {
  it('is looked up in the ring, where another replica has just added the key', async () => {
    const { shared, clock, ...rest } = world();
    const ring = await freshKeyRing({ shared, clock, ...rest });
    shared.revoke();
    clock.advance(1);
    const other = await freshKeyRing({ shared, clock, ...rest });
    expect(await ring.verificationKey(await signingKid(other))).toBeDefined();
  });

  it('is looked up only if it is unknown: not if it is known, or known to be revoked', async () => {
    const { shared, clock, ...rest } = world();
    const ring = await freshKeyRing({ shared, clock, ...rest });
    await ring.advance();
    const [first, second] = shared.rows.map(({ kid }) => kid);
    shared.revoke(second);
    await ring.read();
    const before = shared.reads;
    clock.advance(8);
    expect(await ring.verificationKey(first ?? '')).toBeDefined();
    expect(await ring.verificationKey(second ?? '')).toBeUndefined();
    expect(shared.reads).toBe(before);
  });

  it('causes no query for each request of a flood', async () => {
    const { shared, clock, ...rest } = world();
    const ring = await freshKeyRing({ shared, clock, ...rest });
    clock.advance(1);
    const before = shared.reads;
    for (let times = 0; times < 50; times += 1) {
      await Promise.all(Array.from({ length: 20 }, (_, number) => ring.verificationKey(`unknown-${number}`)));
      clock.advance(0.01);
    }
    expect(shared.reads - before).toBeLessThanOrEqual(4);
  });

  it('is 503 while the ring is away, and looked up again only 5 s later', async () => {
    const { shared, clock, ...rest } = world();
    const ring = await freshKeyRing({ shared, clock, ...rest });
    shared.fault = 'away';
    clock.advance(1);
    const before = shared.reads;
    for (let times = 0; times < 20; times += 1) {
      const unknown = ring.verificationKey('unknown');
      await expect(unknown).rejects.toMatchObject({ name: 'DependencyUnavailable', dependency: 'key directory' });
    }
    expect(shared.reads - before).toBe(1);
    expect(await ring.verificationKey(await signingKid(ring))).toBeDefined();
    shared.fault = 'none';
    clock.advance(4.9);
    await expect(ring.verificationKey('unknown')).rejects.toThrow(DependencyUnavailable);
    clock.advance(0.2);
    expect(await ring.verificationKey('unknown')).toBeUndefined();
  });
});

describe('the key set', () => {
  it('may be cached for 30 s, or half of a shorter publication time, and not once the ring is not read any more', async () => {
    const { shared, clock, ...rest } = world();
    const ring = await freshKeyRing({ shared, clock, ...rest });
    clock.advance(50);
    expect(ring.maxAgeSeconds()).toBe(30);
    clock.advance(1);
    expect(ring.maxAgeSeconds()).toBe(0);
    expect((await freshKeyRing({ ...world(), publicationSeconds: 21 })).maxAgeSeconds()).toBe(10);
  });

  it('has the periods of its keys, for people', async () => {
    const { shared, clock, ...rest } = world();
    const ring = await freshKeyRing({ shared, clock, ...rest });
    await ring.advance();
    const start = clock.now();
    const [first, second] = shared.rows.map(({ kid }) => kid);
    const common = { alg: 'RS256' };
    expect(keyPeriods(ring.view())).toEqual([
      { ...common, kid: first, state: 'signing', from: start, until: start + 1_000 },
      { ...common, kid: second, state: 'published', from: start, until: start + 1_000 },
    ]);
    await pass(clock, 1_000, ring);
    expect(keyPeriods(ring.view())).toEqual([
      { ...common, kid: first, state: 'retired', from: start, until: start + 1_360 },
      { ...common, kid: second, state: 'signing', from: start + 1_000, until: start + 2_000 },
      { ...common, kid: shared.rows[2]?.kid, state: 'published', from: start + 1_000, until: start + 2_000 },
    ]);
    const { verifying, ...view } = ring.view();
    expect(keyPeriods({ ...view, verifying: verifying.toReversed() })).toEqual(keyPeriods(ring.view()));
    expect(keyTimes(ring.view())).toEqual({ age: 0, end: 2_000, rotation: 1_000, directoryAge: 0 });
    clock.advance(7.5);
    expect(keyTimes(ring.view())).toEqual({ age: 7, end: 1_993, rotation: 993, directoryAge: 7 });
  });

  it('has no end where keys are not followed by others, and periods by the clock of day', async () => {
    const clock = new FixedClock();
    clock.setWall(100.4);
    const ring = await freshKeyRing({ clock });
    const from = clock.now() + 100;
    expect(keyPeriods(ring.view())).toEqual([
      { kid: await signingKid(ring), alg: 'RS256', state: 'signing', from, until: null },
    ]);
    expect(keyTimes(ring.view())).toEqual({ age: 0, end: undefined, rotation: undefined, directoryAge: 0 });
  });

  it('is in the order of the key ids', async () => {
    const { shared, clock, ...rest } = world();
    const ring = await freshKeyRing({ shared, clock, ...rest });
    for (let times = 0; times < 3; times += 1) await pass(clock, 400, ring);
    expect(await kidsOf(ring)).toEqual(shared.rows.map(({ kid }) => kid).toSorted());
    expect(await kidsOf(ring)).toHaveLength(3);
  });
});

describe('the ring as operators see it', () => {
  const [time, algorithm] = [5_000.2, 'RS256'];
  const row = (step: number, signsFrom: number, more: Partial<KeyRow> = {}): KeyRow => {
    const times = { createdAt: 0, knownAt: signsFrom - 100, signsFrom, verifiesUntil: signsFrom + 1_360 };
    const key = { kid: `${more.algorithm ?? algorithm} ${step}`, algorithm, step, sealed: 'sealed' };
    return { ...key, ...times, endedAt: undefined, revokedAt: undefined, ...more };
  };
  const rows = [
    row(3, 5_900),
    row(4, 5_950),
    row(2, 4_900),
    row(1, 3_900),
    row(0, 2_900, { revokedAt: 4_000, sealed: undefined }),
    row(0, 4_950, { algorithm: 'ES256' }),
  ];

  it('has a state for each key', () => {
    const states = rows.map((one) => keyStateOf(one, { rows, time }));
    expect(states).toEqual(['published', 'published', 'signing', 'retired', 'revoked', 'signing']);
  });

  it('shows when a key began to sign, or will, also where the one before it ends early', () => {
    const begins = (some: readonly KeyRow[], at = time) =>
      some.map((one) => signsFromOf(one, { rows: some, time: at }));
    expect(begins(rows)).toEqual([5_900, 5_950, 4_900, 3_900, 2_900, 4_950]);
    // A rotation is planned, and has come.
    const rotated = [row(2, 6_900), row(1, 5_900), row(0, 4_900, { endedAt: 5_500 })];
    expect(begins(rotated)).toEqual([6_900, 5_500, 4_900]);
    expect(begins(rotated, 5_600)).toEqual([6_900, 5_500, 4_900]);
    const revoked = [row(1, 5_900), row(0, 4_900, { revokedAt: 4_990, sealed: undefined })];
    expect(begins(revoked)).toEqual([4_990, 4_900]);
    // That another key of the chain was revoked before it signed changes nothing for the one that follows.
    const waiting = [row(2, 6_900), row(1, 5_900, { revokedAt: 4_990, sealed: undefined }), row(0, 4_900)];
    for (const at of [time, 7_000]) expect(begins(waiting, at)).toEqual([6_900, 5_900, 4_900]);
    // No key that signs is shown with a time to come.
    const cutOff = [row(1, 5_900, { revokedAt: 4_990, sealed: undefined }), row(0, 5_800)];
    expect(cutOff.map((one) => keyStateOf(one, { rows: cutOff, time }))).toEqual(['revoked', 'signing']);
    expect(begins(cutOff)).toEqual([5_900, 5_000]);
  });

  it('turns to the next key when every verifier can know it and every replica has read it; a key without one goes on', () => {
    expect(rotationsOf({ rows, time })).toEqual([{ kid: 'RS256 2', endsAt: 5_800 }]);
    const known = [...rows.slice(1), row(3, 5_900, { knownAt: 4_000 })];
    expect(rotationsOf({ rows: known, time })).toEqual([{ kid: 'RS256 2', endsAt: 5_016 }]);
    const ended = [row(3, 5_900), row(2, 4_900, { endedAt: 5_500 })];
    expect(rotationsOf({ rows: ended, time })).toEqual([{ kid: 'RS256 2', endsAt: 5_500 }]);
  });

  it('turns to no key that has no seal or no step, and none of another algorithm', () => {
    const unusable = [
      row(3, 5_900, { sealed: undefined }),
      row(4, 5_900, { step: undefined }),
      row(5, 5_900, { algorithm: 'ES256', kid: 'another' }),
      row(6, 4_950, { algorithm: 'none' }),
    ];
    expect(rotationsOf({ rows: [row(0, 4_900), row(4, 5_900, { step: undefined })], time })).toEqual([]);
    const both = [row(2, 4_900), ...unusable];
    expect(rotationsOf({ rows: both, time })).toEqual([]);
    expect(both.map((one) => keyStateOf(one, { rows: both, time }))).toEqual([
      'signing',
      ...Array(3).fill('published'),
      'retired',
    ]);
  });

  it('has no key that signs in place of an ended one before its time', () => {
    const waiting = [row(1, 5_300), row(0, 3_900, { endedAt: 5_000, verifiesUntil: 5_100 })];
    expect(waiting.map((one) => keyStateOf(one, { rows: waiting, time: 5_200 }))).toEqual(['published', 'retired']);
    expect(keyStateOf(row(0, 1), { rows: [row(0, 1)], time: undefined })).toBe('published');
  });

  it('is changed by operators, whose changes are in the audit log', () => {
    const common = { at: 5_000, change_id: 'a change', database_role: 'an operator' };
    const changes = [
      { change: 'revoked', kid: 'a', verifiesUntil: 6_000 },
      { change: 'ended', kid: 'b', endsAt: 5_500 },
    ] as const;
    expect(keyChangeEvents(changes, common)).toEqual([
      { event: 'directory_key_revoked', ...common, key_id: 'a', trusted_until: 6_000 },
      { event: 'directory_key_ended', ...common, key_id: 'b', ends_at: 5_500 },
    ]);
  });
});
