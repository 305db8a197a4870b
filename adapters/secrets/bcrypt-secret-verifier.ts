import { randomBytes } from 'node:crypto';
import bcrypt from 'bcrypt';
import type { SecretVerdict, SecretVerifier } from '../../application/ports/secret-verifier.ts';
import { isPresentableSecret, type StoredSecret } from '../../domain/stored-secret.ts';

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
   * @param known costs that stored secrets are known to have. Others join when a secret with that cost is first verified.
   */
  constructor(cost: number, known: readonly number[] = []) {
    this.#cost = cost;
    this.#costs = [cost];
    for (const other of known) this.#include(other);
  }

  costOf(stored: StoredSecret | undefined): number {
    return Math.max(this.#cost, stored?.cost ?? 0);
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
