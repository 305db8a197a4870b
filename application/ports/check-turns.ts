import type { Caller } from './caller.ts';
import { DependencyUnavailable } from './dependency-unavailable.ts';
import type { SecretVerdict } from './secret-verifier.ts';

/** There is no room to wait for a turn in. */
export class NoRoomToWait extends DependencyUnavailable {
  constructor() {
    super('secret verification', new Error('too many checks wait already'));
    this.name = 'NoRoomToWait';
  }
}

/** A secret check that wants its turn. */
export interface CheckRequest {
  /** As it was presented, whether or not there is such a client. */
  readonly clientId: string;
  readonly registered: boolean;
  /** What the check costs at most: log2 of its BCrypt rounds. */
  readonly cost: number;
  readonly caller: Pick<Caller, 'address' | 'disconnected' | 'proved'>;
}

/** Who may have a secret checked, and when: checks are dear, and whoever likes can ask for them. */
export interface CheckTurns {
  /**
   * Runs the check when its turn comes and answers its verdict, or `attempts_exhausted` without running it. A check may
   * run and its verdict be kept back, unless it is `match`. Throws DependencyUnavailable where there is no turn to be had
   * in time, NoRoomToWait among others, and where the caller has gone. What it answers and when tells nobody whether the client is registered.
   */
  take(request: CheckRequest, check: () => Promise<SecretVerdict>): Promise<SecretVerdict>;

  /** Refuses what waits, and what comes. */
  close(): void;
}
