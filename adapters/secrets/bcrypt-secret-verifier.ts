import { randomBytes } from 'node:crypto';
import bcrypt from 'bcrypt';
import type { ClientCredentials } from '../../application/ports/client-credentials.ts';
import type { SecretVerdict, SecretVerifier } from '../../application/ports/secret-verifier.ts';
import { BCRYPT_COST_MIN, isPresentableSecret, type StoredSecret } from '../../domain/stored-secret.ts';

/** A cost that the library refuses to work off, after the same way through the pool. */
const NO_COST = 31;

/**
 * Compares with BCrypt, and makes every refusal cost 2^cost rounds and the same number of checks, whatever its reason:
 *
 * - where there is nothing to compare with (unknown client, unusable hash, secret that BCrypt would cut), one dummy
 *   check at that cost takes the comparison's place;
 * - where the stored hash is cheaper, dummy checks at its cost c and at c, c+1, … cost-1 fill up the difference:
 *   2^c + (2^c + 2^(c+1) + … + 2^(cost-1)) = 2^cost rounds;
 * - checks that do no round make up for those that a cheaper hash takes more, each of which is one more way to libuv's
 *   pool and back.
 *
 * A hash that is dearer than `cost` takes longer than the rest; so `cost` has to be the highest that registrations use.
 */
export class BcryptSecretVerifier implements SecretVerifier {
  readonly #cost: number;

  /** @param cost log2 of the rounds that every refusal takes, 4 to 14. */
  constructor(cost: number) {
    this.#cost = cost;
  }

  async verify(
    { clientSecret: presented }: ClientCredentials,
    stored: StoredSecret | undefined,
  ): Promise<SecretVerdict> {
    if (!isPresentableSecret(presented)) return this.#refuse('unusable_presented');
    if (stored === undefined) return this.#refuse('mismatch');
    if (stored.kind !== 'bcrypt') return this.#refuse('unusable_stored');

    const encoding = withCurrentVersion(stored.reveal());
    if (await bcrypt.compare(presented, encoding)) return 'match';
    await this.#fillUp(stored.cost);
    return 'mismatch';
  }

  async #refuse(verdict: SecretVerdict): Promise<SecretVerdict> {
    await spendCheck(this.#cost);
    await this.#fillUp(this.#cost);
    return verdict;
  }

  /** What is left of a refusal after one check at `spent`. */
  async #fillUp(spent: number): Promise<void> {
    for (let cost = BCRYPT_COST_MIN; cost < this.#cost; cost += 1) await spendCheck(cost < spent ? NO_COST : cost);
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
