import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import bcrypt from 'bcrypt';
import type { EncodeSecret, MatchSecret } from '../../application/ports/new-secrets.ts';
import type { SecretVerdict, SecretVerifier } from '../../application/ports/secret-verifier.ts';
import { BCRYPT_COST_MIN, isPresentableSecret, type StoredSecret } from '../../domain/stored-secret.ts';

/** Runs BCrypt in libuv's pool of threads, within its bound. */
type RunInPool = <Outcome>(work: () => Promise<Outcome>) => Promise<Outcome>;

interface BcryptSecretVerifierOptions {
  /**
   * The cost of a refusal until the costs of stored secrets are known, and where there are none: log2 of the BCrypt
   * rounds, 4 to 14.
   */
  readonly cost: number;
  /** The highest cost that is computed. A more expensive stored secret is unusable. At least `cost`. */
  readonly costMax: number;
  /**
   * Whether a secret with the prefix `{noop}` (specification, 2.1) matches: in memory alone. Its refusal costs as much
   * as that of a hashed one.
   */
  readonly hasPlainSecrets?: boolean | undefined;
  /** Called with each cost that is found while secrets are verified, or before if it is higher than `cost`. */
  readonly onCostFound?: (cost: number) => void;
}

/**
 * Compares with BCrypt, and makes every refusal do the same work, whatever its reason: one BCrypt check at each cost
 * that stored secrets have, in ascending order. One of them is the comparison; the others, or all where there is
 * nothing to compare with, run against a random hash. A match ends the sequence.
 *
 * Sums of cheap checks would not do: while the machine is busy, the scheduler lets several short checks finish sooner
 * than a long one with as many rounds (decision 0004).
 */
export class BcryptSecretVerifier implements SecretVerifier {
  readonly #options: BcryptSecretVerifierOptions;
  /** A hash that no secret is known to match, for each cost that stored secrets have: ascending, at most eleven. */
  #hashes: ReadonlyMap<number, string>;
  /** The costs of secrets that were verified. */
  readonly #found = new Set<number>();

  constructor(options: BcryptSecretVerifierOptions) {
    this.#options = options;
    this.#hashes = new Map([[options.cost, randomHash(options.cost)]]);
  }

  get cost(): number {
    return Math.log2(this.costs.reduce((rounds, cost) => rounds + 2 ** cost, 0));
  }

  /** The costs of the checks of a refusal, ascending. */
  get costs(): readonly number[] {
    return [...this.#hashes.keys()];
  }

  /**
   * The costs that all stored secrets have. With those that were found before, they are the costs of every refusal from
   * now on; if there are none, the configured cost stays.
   */
  useCosts(stored: readonly number[]): void {
    const costs = [...stored, ...this.#found].filter(
      (cost) => cost >= BCRYPT_COST_MIN && cost <= this.#options.costMax,
    );
    if (costs.length === 0) return;
    const before = this.#hashes;
    this.#setCosts(costs);
    for (const cost of this.costs)
      if (cost > this.#options.cost && !before.has(cost)) this.#options.onCostFound?.(cost);
  }

  /** Adds a cost. Until then, a refusal of such a secret may have taken another time. */
  #include(cost: number): void {
    this.#found.add(cost);
    if (this.#hashes.has(cost)) return;
    this.#setCosts([...this.#hashes.keys(), cost]);
    this.#options.onCostFound?.(cost);
  }

  #setCosts(costs: readonly number[]): void {
    const ascending = [...new Set(costs)].sort((one, other) => one - other);
    this.#hashes = new Map(ascending.map((cost) => [cost, this.#hashes.get(cost) ?? randomHash(cost)]));
  }

  async verify(presented: string, stored: StoredSecret, isRegistered: boolean): Promise<SecretVerdict> {
    const isPresentable = isPresentableSecret(presented);
    if (this.#options.hasPlainSecrets && stored.kind === 'plain') {
      const isSame = isEqual(presented, stored.reveal()) && isPresentable;
      if (isSame && isRegistered) return 'match';
    }
    const usable = stored.kind === 'bcrypt' && stored.cost <= this.#options.costMax ? stored : undefined;
    if (usable !== undefined) this.#include(usable.cost);

    const compared = isPresentable ? presented : '';
    const target = isPresentable ? usable : undefined;
    for (const [cost, random] of this.#hashes) {
      const encoding = cost === target?.cost ? withCurrentVersion(target.reveal()) : random;
      const isSame = await bcrypt.compare(compared, encoding);
      if (isSame && isRegistered && encoding !== random) return 'match';
    }
    if (!isPresentable) return 'unusable_presented';
    const isUsable = usable !== undefined || (this.#options.hasPlainSecrets && stored.kind === 'plain');
    return isUsable || !isRegistered ? 'mismatch' : 'unusable_stored';
  }
}

/** Compares digests, which have one length, in constant time. */
function isEqual(one: string, other: string): boolean {
  return timingSafeEqual(hash('sha256', one, 'buffer'), hash('sha256', other, 'buffer'));
}

/** `$2y$` is how other encoders mark the algorithm that the library knows only as `$2b$`. */
function withCurrentVersion(encoding: string): string {
  return encoding.replace(/^\$2y\$/, '$2b$');
}

function randomHash(cost: number): string {
  const salt = randomBytes(8).toString('hex');
  const text = randomBytes(16).toString('hex').slice(0, 31);
  return `$2b$${String(cost).padStart(2, '0')}$${salt}000000${text}`;
}

export function bcryptMatcher(run: RunInPool): MatchSecret {
  return (presented, stored) => run(() => bcrypt.compare(presented, withCurrentVersion(stored.reveal())));
}

export function bcryptEncoder(run: RunInPool): EncodeSecret {
  return (secret, cost) => run(() => bcrypt.hash(secret, cost));
}
