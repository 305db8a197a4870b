import { describe, expect, it } from '@jest/globals';
import type { KeyPolicy } from '../../domain/key-chain.ts';
import {
  type ReplicaSettings,
  SimulatedDatabase,
  SimulatedReplica,
  type SimulatedToken,
} from '../support/simulated-replicas.ts';
import { SimulatedTime } from '../support/simulated-time.ts';

/**
 * Runs with other faults each. These three find every fault that was planted in the key ring and that any of the first
 * six finds. SIMULATIONS=1000 finds what is rarer.
 */
const SIMULATIONS = process.env['SIMULATIONS'];
const SEEDS =
  SIMULATIONS === undefined ? [1, 4, 6] : Array.from({ length: Number(SIMULATIONS) }, (_, index) => index + 1);

const [ROTATION, PUBLICATION, LIFETIME] = [600, 60, 120];
const POLICY: KeyPolicy = {
  algorithm: 'RS256',
  rotationSeconds: ROTATION,
  publicationSeconds: PUBLICATION,
  tokenLifetimeSeconds: LIFETIME,
};
const SETTINGS: ReplicaSettings = { policy: POLICY, secrets: ['a'], clockOffset: 0 };
/** What docs/operate.md promises, and one. */
const HONOURED_SECONDS = 11;

/** Everything that a user may notice. */
class Observed {
  issued = 0;
  verified = 0;
  readonly refused: string[] = [];
  readonly acceptedLate: string[] = [];
  readonly notIssued: string[] = [];
  readonly notVerified: string[] = [];
  readonly unknownToVerifier: string[] = [];
}

class World {
  readonly time: SimulatedTime;
  readonly database: SimulatedDatabase;
  readonly replicas: SimulatedReplica[] = [];
  readonly observed = new Observed();
  /** The database has been up since then, or undefined. */
  upSince: number | undefined = 0;
  /** Of a verifier that fetches the key set now and then, and never for an unknown key. */
  cached: readonly string[] = [];
  isVerifierFair = true;

  constructor(seed: number) {
    this.time = new SimulatedTime(seed);
    this.database = new SimulatedDatabase(this.time);
  }

  start(position: number, settings: ReplicaSettings = SETTINGS): SimulatedReplica {
    this.replicas[position]?.kill();
    const replica = new SimulatedReplica(this.time, this.database, settings);
    this.replicas[position] = replica;
    return replica;
  }

  fail(state: 'away' | 'read-only', seconds: number): Promise<void> {
    this.database.state = state;
    this.upSince = undefined;
    return this.time.wait(seconds).then(() => {
      this.database.state = 'up';
      this.upSince = this.time.now;
    });
  }

  /** Clients that ask for tokens, and use them at any replica until they expire. */
  async load(everySeconds = 0.7): Promise<never> {
    for (;;) {
      await this.time.wait(this.time.between(0, 2 * everySeconds));
      const replica = this.time.oneOf(this.replicas.filter(({ isReady, isStopped }) => isReady && !isStopped));
      if (replica !== undefined) void this.#useOne(replica);
    }
  }

  /** A verifier such as jwx, which does not fetch for an unknown key. */
  async verifier(): Promise<never> {
    for (;;) {
      const from = this.time.oneOf(this.replicas.filter(({ isReady, isStopped }) => isReady && !isStopped));
      // One that is killed meanwhile never answers.
      this.cached = (await Promise.race([from?.publishedKids(), this.time.wait(5)])) ?? this.cached;
      await this.time.wait(45);
    }
  }

  async #useOne(replica: SimulatedReplica): Promise<void> {
    const { time, observed } = this;
    const begin = time.now;
    const token = await replica.issue();
    if (token === undefined) {
      const isExcused = !replica.isRunning || time.now - begin > 1 || this.#isDatabaseNew(2 * ROTATION);
      if (!isExcused) observed.notIssued.push(`at ${time.now}: ${replica.ring.whyNotSigning()?.text}`);
      return;
    }
    observed.issued += 1;
    if (this.isVerifierFair && !this.cached.includes(token.kid) && time.now - begin < 1) {
      observed.unknownToVerifier.push(`${token.kid} at ${time.now}`);
    }
    await this.#use(token);
    await time.wait(time.between(0, Math.max(0, token.expiresAt - time.now)));
    await this.#use(token);
  }

  async #use(token: SimulatedToken): Promise<void> {
    const { time, observed, database } = this;
    const begin = time.now;
    const replica = time.oneOf(this.replicas.filter(({ isReady, isStopped }) => isReady && !isStopped));
    const response = await replica?.verify(token);
    if (replica === undefined || response === undefined || response === 'gone') return;
    observed.verified += 1;
    const revokedAt = database.revokedAt.get(token.kid);
    const description = `${token.kid} from ${begin} to ${time.now}`;
    if (response === 'refused' && revokedAt === undefined && time.now < token.expiresAt)
      observed.refused.push(description);
    // An unknown key is not looked up again for 5 s.
    const isExcused = this.#isDatabaseNew(60) || time.now - database.failedAt < 10;
    if (response === '503' && !isExcused) observed.notVerified.push(description);
    const isKnown = revokedAt !== undefined && begin > Math.max(revokedAt, this.upSince ?? Infinity) + HONOURED_SECONDS;
    if (response === 'accepted' && isKnown) observed.acceptedLate.push(`${description}, revoked at ${revokedAt}`);
  }

  /** Whether the database has been away for longer than the known keys sign, or has just come back. */
  #isDatabaseNew(seconds: number): boolean {
    return this.upSince === undefined || this.time.now - this.upSince < seconds;
  }
}

function expectNothingLost({ observed }: World, tokens: number): void {
  const { issued, verified, ...bad } = observed;
  expect(bad).toEqual({ refused: [], acceptedLate: [], notIssued: [], notVerified: [], unknownToVerifier: [] });
  expect(issued).toBeGreaterThan(tokens);
  expect(verified).toBeGreaterThan(tokens);
}

function expectOneKeyForEachStep({ database }: World): void {
  for (const [step, kids] of database.steps) expect([step, kids.size]).toEqual([step, 1]);
}

describe.each(SEEDS)('replicas that share a key ring, in simulation %d', (seed) => {
  it('lose no token while they are stopped, killed and restarted, in any statement, and answers of the database are lost', async () => {
    const world = new World(seed);
    const { time, database } = world;
    database.answersLost = 0.05;
    // They find the ring empty at the same moment.
    for (let position = 0; position < 3; position += 1) world.start(position);
    const faults = async () => {
      for (;;) {
        await time.wait(time.between(0, 40));
        const replica = time.oneOf(world.replicas);
        if (time.isLikely(0.5)) replica?.stop(time.between(0, time.isLikely(0.1) ? 2 * ROTATION : 30));
        else world.start(world.replicas.indexOf(replica as SimulatedReplica));
        // One goes on, so that there is somebody to ask.
        if (world.replicas.every(({ isStopped }) => isStopped)) world.start(0);
      }
    };
    void Promise.all([world.load(), world.verifier(), faults()]);
    await time.runUntil(60);
    world.observed.unknownToVerifier.length = 0;
    await time.runUntil(2 * 3_600);
    expectNothingLost(world, 3_000);
    expectOneKeyForEachStep(world);
    expect(database.steps.size).toBeGreaterThan(8);
  });

  it('lose no token while rows of the ring are lost again and again, in any statement, and are started anew once they are back', async () => {
    const world = new World(seed);
    const { time, database } = world;
    database.answersLost = 0.05;
    for (let position = 0; position < 3; position += 1) world.start(position);
    let lost = 0;
    const faults = async () => {
      for (;;) {
        await time.wait(time.between(10, 120));
        const before = database.rows;
        database.rows = before.filter(() => time.isLikely(0.3));
        lost += before.length - database.rows.length;
        await time.wait(20);
        if (before.every(({ kid }) => database.rows.some((row) => row.kid === kid))) world.start(0);
      }
    };
    void Promise.all([world.load(), faults()]);
    await time.runUntil(60);
    await time.runUntil(2 * 3_600);
    world.observed.unknownToVerifier.length = 0;
    // A key whose row was lost before a replica has read it is no key: another one takes its step.
    expectNothingLost(world, 3_000);
    expect(lost).toBeGreaterThan(30);
  });

  it('lose no token while the database is away and they are stopped again and again, and none is ever verified by a revoked key', async () => {
    const world = new World(seed);
    const { time, database } = world;
    for (let position = 0; position < 3; position += 1) world.start(position);
    world.isVerifierFair = false;
    const outages = async () => {
      for (;;) {
        await time.wait(time.between(100, 900));
        await world.fail(time.isLikely(0.5) ? 'away' : 'read-only', time.between(0, time.isLikely(0.3) ? 3_000 : 300));
      }
    };
    const operator = async () => {
      for (;;) {
        await time.wait(time.between(100, 700));
        time.oneOf(world.replicas)?.stop(time.between(0, 60));
        if (database.state !== 'up') continue;
        const kids = database.rows.map(({ kid }) => kid);
        const [one] = [time.oneOf(kids)];
        if (time.isLikely(0.4)) database.rotate();
        else if (time.isLikely(0.2)) database.revoke(kids);
        else if (one !== undefined) database.revoke([one]);
      }
    };
    void Promise.all([world.load(), outages(), operator()]);
    await time.runUntil(4 * 3_600);
    world.observed.notIssued.length = 0;
    expectNothingLost(world, 4_000);
    expectOneKeyForEachStep(world);
  });

  it('lose no token in a rolling change of algorithm, lifetimes and secrets at once, and in its rollback', async () => {
    const world = new World(seed);
    const { time } = world;
    // The secrets were rolled out before, as docs/operate.md says.
    const before: ReplicaSettings = { ...SETTINGS, secrets: ['a', 'b'] };
    const after: ReplicaSettings = {
      policy: { ...POLICY, algorithm: 'ES256', rotationSeconds: 2 * ROTATION, tokenLifetimeSeconds: 2 * LIFETIME },
      secrets: ['b', 'a'],
      clockOffset: 4,
    };
    for (let position = 0; position < 3; position += 1) world.start(position, before);
    void Promise.all([world.load(), world.verifier()]);
    await time.runUntil(60);
    world.observed.unknownToVerifier.length = 0;
    for (const settings of [after, before, after, before]) {
      for (let position = 0; position < 3; position += 1) {
        await time.runUntil(time.now + time.between(5, 120));
        world.start(position, settings);
      }
      await time.runUntil(time.now + time.between(0, 3 * ROTATION));
    }
    expectNothingLost(world, 2_000);
    expectOneKeyForEachStep(world);
  });

  it('lose no token to clocks that are off, by up to 10 s, nor to one beyond that', async () => {
    const world = new World(seed);
    const { time } = world;
    for (const [position, clockOffset] of [-9, 9, 30].entries()) world.start(position, { ...SETTINGS, clockOffset });
    void Promise.all([world.load(), world.verifier()]);
    await time.runUntil(60);
    world.observed.unknownToVerifier.length = 0;
    await time.runUntil(3_600);
    expect(world.replicas.map(({ isReady }) => isReady)).toEqual([true, true, false]);
    expectNothingLost(world, 3_000);
    expectOneKeyForEachStep(world);
  });
});

describe('replicas whose database was away for five rotations, as for five days', () => {
  it('issue tokens for one rotation and more, then none, and do so again within seconds, with one key', async () => {
    const world = new World(1);
    const { time, database, observed } = world;
    for (let position = 0; position < 2; position += 1) world.start(position);
    await time.runUntil(100);
    void world.load();
    void world.fail('away', 5 * ROTATION);
    await time.runUntil(100 + ROTATION);
    const { issued } = observed;
    await time.runUntil(100 + ROTATION + 10);
    expect(observed.issued).toBeGreaterThan(issued);
    await time.runUntil(100 + 2 * ROTATION);
    const during = observed.issued;
    await time.runUntil(100 + 5 * ROTATION);
    expect(observed.issued).toBe(during);
    await time.runUntil(100 + 5 * ROTATION + 10);
    expect(observed.issued).toBeGreaterThan(during);
    expect([...database.steps]).toHaveLength(4);
    expectOneKeyForEachStep(world);
    expect(observed.refused).toEqual([]);
  });
});
