import type { Caller } from './caller.ts';
import { DependencyUnavailable } from './dependency-unavailable.ts';
import type { SecretVerdict } from './secret-verifier.ts';

/** Too many verifications wait already. */
export class VerificationQueueFull extends DependencyUnavailable {
  constructor() {
    super('secret verification', new Error('the verification queue is full'));
    this.name = 'VerificationQueueFull';
  }
}

/** A request for a slot. */
export interface SlotRequest {
  /** The client id as the caller presented it, registered or not. */
  readonly clientId: string;
  readonly registered: boolean;
  /** What the verification costs at most: log2 of its BCrypt rounds. */
  readonly cost: number;
  readonly caller: Caller;
  /** `renewal`: the caller presented a verified secret, so this verification is no attempt to guess one. */
  readonly purpose: 'attempt' | 'renewal';
}

/** The right to run one verification now. Its holder calls `settle` or `release`, once. */
export interface VerificationSlot {
  /** `deferred`: a refusal is withheld; the caller gets 503 when the waiting time is over. */
  readonly refusals: 'immediate' | 'deferred';

  /**
   * Gives the slot back and resolves with the verdict as soon as the caller may know it. Throws DependencyUnavailable
   * if the caller may not know it or has disconnected.
   */
  settle(verdict: SecretVerdict): Promise<SecretVerdict>;

  /** Gives the slot back without a verdict, after a fault. */
  release(): void;
}

/** Limits how many verifications run at once, who runs one next, and how many attempts a caller has. */
export interface VerificationSlots {
  /**
   * Resolves when a slot is free, or at once with `attempts_exhausted` if too many attempts failed. Throws
   * VerificationQueueFull, and DependencyUnavailable if no slot is free in time, the caller disconnects, or the
   * service stops. Neither the answer nor its time depends on whether the client is registered.
   */
  acquire(request: SlotRequest): Promise<VerificationSlot | 'attempts_exhausted'>;
}

/** Slots that end with the service. */
export interface ClosableVerificationSlots extends VerificationSlots {
  /** Refuses the requests that wait, and new ones. */
  close(): void;
}
