import { randomBytes } from 'node:crypto';
import { availableParallelism } from 'node:os';
import bcrypt from 'bcrypt';
import type { SecretVerdict, SecretVerifier } from '../../application/ports/secret-verifier.ts';
import { isPresentableSecret, type StoredSecret } from '../../domain/stored-secret.ts';

/** Threads of libuv's pool in each process that verifies, one of which stays free for other work. */
const POOL_THREADS = 4;

/** How many verifications suit this machine, in all processes together. One core stays free for requests that need none. */
export function concurrentVerifications(processes: number): number {
  return Math.min(Math.max(1, availableParallelism() - 1), processes * (POOL_THREADS - 1));
}

/**
 * Compares with BCrypt, and makes every refusal do the same work, whatever its reason: one BCrypt check at each cost that
 * stored secrets have, in ascending order. One of them is the comparison; the others, or all where there is nothing to
 * compare with, run against a random hash. A match ends the sequence.
 *
 * Sums of cheap checks would not do: while the machine is busy, the scheduler lets several short checks finish sooner
 * than a long one with as many rounds (decision 0004).
 */
export class BcryptSecretVerifier implements SecretVerifier {
  /** The costs that stored secrets have, ascending, none above the configured one: at most eleven. */
  #costs: readonly number[];
  readonly #cost: number;

  /**
   * @param cost the highest cost of the sequence: log2 of the rounds, 4 to 14. A more expensive stored secret takes its own
   *   time, which tells that its client exists.
   * @param known stored secrets, which raise the highest cost and add theirs. Other costs join when such a secret is first verified.
   */
  constructor(cost: number, known: readonly StoredSecret[] = []) {
    const costs = new Set(known.filter(({ kind }) => kind === 'bcrypt').map((stored) => stored.cost));
    this.#cost = Math.max(cost, ...costs);
    this.#costs = [...costs.add(this.#cost)].sort((one, other) => one - other);
  }

  costOf(stored: StoredSecret | undefined): number {
    const rounds = this.#costs.reduce((sum, cost) => sum + 2 ** cost, 0);
    return Math.max(Math.log2(rounds), stored?.cost ?? 0);
  }

  async verify(presented: string, stored: StoredSecret | undefined): Promise<SecretVerdict> {
    const comparable = stored?.kind === 'bcrypt' && isPresentableSecret(presented) ? stored : undefined;
    if (stored?.kind === 'bcrypt') this.#include(stored.cost);

    const costs = comparable && comparable.cost > this.#cost ? [comparable.cost] : this.#costs;
    for (const cost of costs) {
      if (cost !== comparable?.cost) await checkRandomHash(cost);
      else if (await bcrypt.compare(presented, withCurrentVersion(comparable.reveal()))) return 'match';
    }
    if (!isPresentableSecret(presented)) return 'unusable_presented';
    return stored === undefined || comparable !== undefined ? 'mismatch' : 'unusable_stored';
  }

  #include(cost: number): void {
    if (cost > this.#cost || this.#costs.includes(cost)) return;
    this.#costs = [...this.#costs, cost].sort((one, other) => one - other);
  }
}

/** `$2y$` is how other encoders mark the algorithm that the library knows only as `$2b$`. */
function withCurrentVersion(encoding: string): string {
  return encoding.replace(/^\$2y\$/, '$2b$');
}

/** One check against a hash of random bytes, which no secret is known to match. */
async function checkRandomHash(cost: number): Promise<void> {
  const salt = randomBytes(8).toString('hex');
  const hash = randomBytes(16).toString('hex').slice(0, 31);
  await bcrypt.compare('', `$2b$${String(cost).padStart(2, '0')}$${salt}000000${hash}`);
}
