import { KeyRing } from '../../application/keys/key-ring.ts';
import { rotationsOf } from '../../application/keys-program/ring-records.ts';
import type { MonotonicClock } from '../../application/ports/clock.ts';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import type { KeyPair } from '../../application/ports/key-provider.ts';
import type { KeyRingStore, KeyRow, KeyRows, SealedKey } from '../../application/ports/key-ring-store.ts';
import type { KeySealer, NewKey, OpenedSeal } from '../../application/ports/key-sealer.ts';
import type { KeyPlan, KeyPolicy } from '../../domain/key-chain.ts';
import type { TokenAlgorithm } from '../../domain/token-key.ts';
import type { SimulatedTime } from './simulated-time.ts';

const EPOCH = 1_800_000_000;
const DEADLINE_SECONDS = 3;

type Database = 'up' | 'away' | 'read-only';

/** The table key_ring, in a database that fails: each statement takes its time, and some answers are lost. */
export class SimulatedDatabase {
  readonly #time: SimulatedTime;
  readonly #seals = new Map<string, { readonly secret: string; readonly plan: KeyPlan; readonly kid: string }>();
  state: Database = 'up';
  /** The probability that the response of a statement is lost, which was executed. */
  answersLost = 0;
  rows: readonly KeyRow[] = [];
  /** When a statement failed last. */
  failedAt = -Infinity;
  /** When each key was revoked. */
  readonly revokedAt = new Map<string, number>();
  /** The ids that have ever stood for an algorithm and a step. */
  readonly steps = new Map<string, Set<string>>();

  constructor(time: SimulatedTime) {
    this.#time = time;
  }

  get now(): number {
    return EPOCH + this.#time.now;
  }

  read(): KeyRows {
    return { rows: this.rows, time: this.now };
  }

  add({ publicationSeconds, addedBefore, ...key }: SealedKey): void {
    const now = Math.floor(this.now);
    const isTaken = this.rows.some(({ kid, algorithm, step }) => {
      return kid === key.kid || (algorithm === key.algorithm && step === key.step);
    });
    if (isTaken || now >= addedBefore) return;
    const times = { createdAt: now, knownAt: now + publicationSeconds, endedAt: undefined, revokedAt: undefined };
    this.rows = [...this.rows.filter(({ verifiesUntil }) => verifiesUntil > now - 3_600), { ...key, ...times }];
    const name = `${key.algorithm} ${key.step}`;
    this.steps.set(name, (this.steps.get(name) ?? new Set()).add(key.kid));
  }

  restore(rows: readonly KeyRow[]): void {
    const isTaken = (row: KeyRow) =>
      this.rows.some(
        ({ kid, algorithm, step }) => kid === row.kid || (algorithm === row.algorithm && step === row.step),
      );
    this.rows = [...this.rows, ...rows.filter((row) => !isTaken(row))];
  }

  /** As `npm run keys -- revoke`. */
  revoke(kids: readonly string[]): void {
    for (const kid of kids) if (!this.revokedAt.has(kid)) this.revokedAt.set(kid, this.#time.now);
    const revokedAt = Math.floor(this.now);
    this.rows = this.rows.map((row) => (kids.includes(row.kid) ? { ...row, revokedAt, sealed: undefined } : row));
  }

  /** As `npm run keys -- rotate`. */
  rotate(): void {
    const ends = new Map(rotationsOf(this.read()).map(({ kid, endsAt }) => [kid, endsAt]));
    this.rows = this.rows.map((row) => (ends.has(row.kid) ? { ...row, endedAt: ends.get(row.kid) } : row));
  }

  sealerOf(secrets: readonly string[], wait: (seconds: number) => Promise<void>): KeySealer {
    return {
      problem: () => undefined,
      make: async (algorithm): Promise<NewKey> => {
        await wait(this.#time.between(0.01, 2));
        const kid = `${algorithm}-${Math.floor(this.#time.random() * 2 ** 32).toString(36)}`;
        return {
          kid,
          seal: async (plan) => {
            const [secret = ''] = secrets;
            const sealed = `${secret} ${kid} ${this.#seals.size}`;
            this.#seals.set(sealed, { secret, plan, kid });
            return sealed;
          },
        };
      },
      open: async (sealed): Promise<OpenedSeal> => {
        const seal = this.#seals.get(sealed);
        if (seal === undefined) return { state: 'damaged' };
        if (!secrets.includes(seal.secret)) return { state: 'locked', reason: `its secret is missing, ${seal.secret}` };
        return { state: 'opened', plan: seal.plan, pair: pairOf(seal.kid, seal.plan.algorithm) };
      },
    };
  }

  /** What one replica has of it. Each wait may last longer, while that process is stopped. */
  storeFor(wait: (seconds: number) => Promise<void>): KeyRingStore {
    const run = async <Outcome>(isWrite: boolean, work: () => Outcome): Promise<Outcome> => {
      const seconds = this.#time.isLikely(0.02) ? this.#time.between(0, 4) : this.#time.between(0.001, 0.05);
      await this.#time.wait(Math.min(seconds, DEADLINE_SECONDS));
      if (this.state === 'away' || (isWrite && this.state === 'read-only')) {
        await wait(0.001);
        throw this.#unavailable();
      }
      const outcome = work();
      await wait(this.#time.between(0.001, 0.05));
      if (seconds > DEADLINE_SECONDS || this.#time.isLikely(this.answersLost)) throw this.#unavailable();
      return outcome;
    };
    return {
      read: () => run(false, () => this.read()),
      add: (key) => run(true, () => this.add(key)),
      restore: (rows) => run(true, () => this.restore(rows)),
    };
  }

  #unavailable(): DependencyUnavailable {
    this.failedAt = this.#time.now;
    return new DependencyUnavailable('key directory', new Error('the database is away'));
  }
}

export interface SimulatedToken {
  readonly kid: string;
  readonly expiresAt: number;
}

/** How a replica is configured. */
export interface ReplicaSettings {
  readonly policy: KeyPolicy;
  readonly secrets: readonly string[];
  /** By how much its clock of day is wrong. */
  readonly clockOffset: number;
}

/**
 * One replica of the service: what advances its keys, issues tokens and verifies them. It can be stopped at any
 * statement.
 */
export class SimulatedReplica {
  readonly #time: SimulatedTime;
  readonly #settings: ReplicaSettings;
  readonly ring: KeyRing;
  #stoppedUntil = 0;
  isRunning = true;
  isReady = false;

  constructor(time: SimulatedTime, database: SimulatedDatabase, settings: ReplicaSettings) {
    this.#time = time;
    this.#settings = settings;
    const wait = (seconds: number) => this.#wait(seconds);
    const started = time.random() * 1e6;
    const clock: MonotonicClock = {
      now: () => Math.floor(started + time.now),
      seconds: () => started + time.now,
      wallSeconds: () => EPOCH + time.now + settings.clockOffset,
    };
    this.ring = new KeyRing({
      store: database.storeFor(wait),
      sealer: database.sealerOf(settings.secrets, wait),
      policy: settings.policy,
      clock,
      auditLog: { record: async () => {} },
      pause: wait,
    });
    void this.#run();
  }

  get isStopped(): boolean {
    return this.#time.now < this.#stoppedUntil;
  }

  get algorithm(): TokenAlgorithm {
    return this.#settings.policy.algorithm;
  }

  /** SIGSTOP, and SIGCONT so many seconds later. */
  stop(seconds: number): void {
    this.#stoppedUntil = this.#time.now + seconds;
  }

  /** SIGKILL. */
  kill(): void {
    this.isRunning = false;
  }

  /** Undefined for 503, or if it does not run any more. */
  async issue(): Promise<SimulatedToken | undefined> {
    const issuedAt = this.#time.now + this.#settings.clockOffset;
    const key = await this.ring.signingKey().catch(() => undefined);
    await this.#wait(0.0005);
    if (key === undefined || !this.isRunning) return undefined;
    return { kid: key.kid, expiresAt: issuedAt + this.#settings.policy.tokenLifetimeSeconds };
  }

  async verify({ kid }: SimulatedToken): Promise<'accepted' | 'refused' | '503' | 'gone'> {
    await this.#wait(0.0005);
    const response = await this.ring.verificationKey(kid).then(
      (key) => (key === undefined ? 'refused' : 'accepted'),
      () => '503' as const,
    );
    await this.#wait(0);
    return this.isRunning ? response : 'gone';
  }

  async publishedKids(): Promise<readonly string[] | undefined> {
    return this.ring.publicKeys().then(
      (keys) => keys.map(({ kid }) => kid),
      () => undefined,
    );
  }

  /** As the timer does it. */
  async #run(): Promise<void> {
    while (this.isRunning) {
      const begin = this.#time.now;
      const failed = await this.ring.advance().then(
        () => false,
        () => true,
      );
      this.isReady ||= this.ring.whyNotSigning() === undefined;
      const isUrgent = failed || this.ring.whyNotSigning() !== undefined;
      const next = !failed && this.ring.isDue() ? 0 : Math.max(0, (isUrgent ? 1 : 5) - (this.#time.now - begin));
      await this.#wait(next);
    }
  }

  /** Ends only while the process runs. What belongs to one that was killed waits for ever. */
  async #wait(seconds: number): Promise<void> {
    await this.#time.wait(seconds);
    while (this.isStopped) await this.#time.wait(this.#stoppedUntil - this.#time.now);
    if (!this.isRunning) await new Promise(() => {});
  }
}

function pairOf(kid: string, alg: TokenAlgorithm): KeyPair {
  const jwk = { kty: 'RSA', use: 'sig', alg, kid } as const;
  return { kid, alg, jwk, publicKey: { alg, verify: () => false }, sign: async () => '' };
}
