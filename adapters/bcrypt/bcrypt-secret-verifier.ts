import { randomBytes } from 'node:crypto';
import bcrypt from 'bcrypt';
import type { SecretVerdict, SecretVerifier } from '../../application/ports/secret-verifier.ts';
import { isPresentableSecret, type StoredSecret } from '../../domain/stored-secret.ts';
import { CheckQueue } from './check-queue.ts';

/**
 * Compares with BCrypt, and makes every refusal cost 2^cost rounds, whatever its reason:
 *
 * - where there is nothing to compare with (unknown client, unusable hash, secret that BCrypt would cut), one dummy
 *   check at that cost takes the comparison's place;
 * - where the stored hash is cheaper, dummy checks at its cost c and at c, c+1, … cost-1 fill up the difference:
 *   2^c + (2^c + 2^(c+1) + … + 2^(cost-1)) = 2^cost rounds.
 *
 * A hash that is dearer than `cost` takes longer than the rest; so `cost` has to be the highest that registrations use.
 */
export class BcryptSecretVerifier implements SecretVerifier {
  readonly #cost: number;
  readonly #checks: CheckQueue;

  /**
   * @param cost log2 of the rounds that every refusal takes, 4 to 14.
   * @param checks where checks wait for their turn; a refusal's dummy checks run in the same turn.
   */
  constructor(cost: number, checks = new CheckQueue()) {
    this.#cost = cost;
    this.#checks = checks;
  }

  async verify(presented: string, stored: StoredSecret | undefined): Promise<SecretVerdict> {
    if (!isPresentableSecret(presented)) return this.#refuse('unusable_presented');
    if (stored === undefined) return this.#refuse('mismatch');
    if (stored.kind !== 'bcrypt') return this.#refuse('unusable_stored');

    const encoding = withCurrentVersion(stored.reveal());
    return this.#checks.run(async () => {
      if (await bcrypt.compare(presented, encoding)) return 'match';
      for (let cost = stored.cost; cost < this.#cost; cost += 1) await spendCheck(cost);
      return 'mismatch';
    });
  }

  async #refuse(verdict: SecretVerdict): Promise<SecretVerdict> {
    await this.#checks.run(() => spendCheck(this.#cost));
    return verdict;
  }
}

/** `$2y$` is what other encoders call the algorithm that the library knows as `$2b$` alone. */
function withCurrentVersion(encoding: string): string {
  return encoding.replace(/^\$2y\$/, '$2b$');
}

/** A check against a hash of random bytes, which no secret is known to match. */
async function spendCheck(cost: number): Promise<void> {
  const salt = randomBytes(8).toString('hex');
  const hash = randomBytes(16).toString('hex').slice(0, 31);
  await bcrypt.compare('', `$2b$${String(cost).padStart(2, '0')}$${salt}000000${hash}`);
}
