import { DependencyUnavailable } from './dependency-unavailable.ts';

/** How many used assertions are kept at once: of one client, and of all. */
export const USED_ASSERTIONS_LIMITS = { perClient: 250_000, total: 1_000_000 };

/** A verified assertion that a client uses now. */
export interface AssertionUse {
  readonly clientId: string;
  /** Claim `jti`, which the client chose. */
  readonly assertionId: string;
  /** The seconds until no replica accepts the assertion. A duration, so only the store's clock matters. */
  readonly keptSeconds: number;
}

/** `client_full` and `full`: there is no room for another one of this client, or of any. Nothing was recorded then. */
export type UseOutcome = 'first' | 'replayed' | 'client_full' | 'full';

/** How many used assertions there are, and may be. */
export interface UsedAssertionsLoad {
  readonly used: number;
  readonly max: number;
}

/**
 * The assertions that were used, so that none is used again (RFC 7523 section 3, point 7). Shared by all replicas that
 * accept the same assertions. An entry is removed when its time is over, and never earlier to make room.
 */
export interface UsedAssertions {
  /**
   * Records these uses, and says of each whether it was the first of that client and id. Of several at the same time,
   * in whichever replica, exactly one is the first. Throws DependencyUnavailable if storage does not answer in time.
   */
  use(uses: readonly AssertionUse[]): Promise<readonly UseOutcome[]>;

  /** As last counted. */
  readonly load: UsedAssertionsLoad;
}

/** There is no room for another used assertion. Those that are there cannot make room: they could be replayed then. */
export class UsedAssertionsFull extends DependencyUnavailable {
  constructor(outcome: 'client_full' | 'full') {
    const whose = outcome === 'full' ? 'all clients' : 'this client';
    super('used assertions', new Error(`as many assertions of ${whose} as can be kept were used a short time ago`));
    this.name = 'UsedAssertionsFull';
  }
}
