import type { Clock } from '../../../application/ports/clock.ts';
import {
  AHEAD_SECONDS,
  KEPT_SECONDS,
  REVOCATIONS_LIMITS,
  type Revocations,
  type RevokedToken,
} from '../../../application/ports/revocations.ts';
import type { RevocationState } from '../../../domain/token-activity.ts';

interface OfClient {
  /** Until when each token is kept, by its id. */
  readonly tokens: Map<string, number>;
  issuedUntil?: number;
  /** Until when `issuedUntil` is kept. */
  keptUntil: number;
}

/** Revoked tokens in this process's memory, for a single replica whose key ends with it. */
export class InMemoryRevocations implements Revocations {
  readonly #clock: Clock;
  readonly #limits: typeof REVOCATIONS_LIMITS;
  readonly #clients = new Map<string, OfClient>();
  #total = 0;

  /** @param clock the one of the times in tokens. */
  constructor(clock: Clock, limits = REVOCATIONS_LIMITS) {
    this.#clock = clock;
    this.#limits = limits;
  }

  get load() {
    return { revoked: this.#total, max: this.#limits.total };
  }

  async find({ clientId, tokenId }: Pick<RevokedToken, 'clientId' | 'tokenId'>): Promise<RevocationState> {
    const found = this.#clients.get(clientId);
    return { isRevoked: found?.tokens.has(tokenId) ?? false, issuedUntil: found?.issuedUntil };
  }

  async revoke({ clientId, tokenId, keptUntil }: RevokedToken): Promise<void> {
    const found = this.#of(clientId);
    if (!found.tokens.has(tokenId)) this.#total += 1;
    found.tokens.set(tokenId, keptUntil);
    if (found.tokens.size > this.#limits.perClient) this.#removeEnded(clientId, found);
    if (found.tokens.size > this.#limits.perClient) this.#revokeAll(found);
    if (this.#total <= this.#limits.total) return;
    for (const [id, each] of this.#clients) this.#removeEnded(id, each);
    while (this.#total > this.#limits.total) {
      const [most] = [...this.#clients.values()].sort((one, other) => other.tokens.size - one.tokens.size);
      if (most === undefined) return;
      this.#revokeAll(most);
    }
  }

  async revokeAll(clientIds: readonly string[]): Promise<void> {
    for (const id of clientIds) this.#revokeAll(this.#of(id));
  }

  #of(clientId: string): OfClient {
    const found = this.#clients.get(clientId) ?? { tokens: new Map(), keptUntil: 0 };
    this.#clients.set(clientId, found);
    return found;
  }

  #revokeAll(ofClient: OfClient): void {
    const now = this.#clock.now();
    ofClient.issuedUntil = now + AHEAD_SECONDS;
    ofClient.keptUntil = now + KEPT_SECONDS;
    this.#total -= ofClient.tokens.size;
    ofClient.tokens.clear();
  }

  #removeEnded(clientId: string, ofClient: OfClient): void {
    const now = this.#clock.now();
    for (const [tokenId, keptUntil] of ofClient.tokens) {
      if (keptUntil >= now) continue;
      ofClient.tokens.delete(tokenId);
      this.#total -= 1;
    }
    if (ofClient.keptUntil < now) delete ofClient.issuedUntil;
    if (ofClient.tokens.size === 0 && ofClient.issuedUntil === undefined) this.#clients.delete(clientId);
  }
}
