import type { Caller } from './caller.ts';
import { DependencyUnavailable } from './dependency-unavailable.ts';
import type { SecretVerdict } from './secret-verifier.ts';

/** What is verified: a secret, by BCrypt, or the signature of an assertion. Each has its own queue. */
export type VerificationKind = 'secret verification' | 'assertion verification';

/** Why there is no verification, or no verdict. */
export function verificationFault(
  reason: string,
  kind: VerificationKind = 'secret verification',
): DependencyUnavailable {
  return new DependencyUnavailable(kind, new Error(reason));
}

/** Too many verifications wait: a flood, or too few cores. Unlike other faults, it says nothing about what the service depends on. */
export class SlotsExhausted extends DependencyUnavailable {
  constructor(reason: string, kind: VerificationKind = 'secret verification') {
    super(kind, new Error(reason));
    this.name = 'SlotsExhausted';
  }
}

/** A request for a slot. */
export interface SlotRequest {
  /** The client id, or another name of the client, as the caller presented it, registered or not. */
  readonly clientId: string;
  /** What the verification costs at most: log2 of its work, such as its BCrypt rounds. The same for every client id. */
  readonly cost: number;
  readonly caller: Caller;
  /**
   * Looks up whether the client is registered. Called at most once, never before a refusal at once, and never while many
   * others are. May throw DependencyUnavailable.
   */
  isRegistered(): Promise<boolean>;
}

/** The right to run one verification now. Its holder calls `settle` or `release`, once. */
export interface VerificationSlot {
  /**
   * Gives the slot back and resolves with the verdict as soon as the caller may know it. Throws SlotsExhausted if the caller
   * may not know it, and DependencyUnavailable if they have disconnected.
   */
  settle(verdict: SecretVerdict): Promise<SecretVerdict>;

  /** Gives the slot back without a verdict, after a fault. */
  release(): void;
}

/** Limits how many verifications run at once, and who runs one next. */
export interface VerificationSlots {
  /**
   * Resolves when a slot is free. Throws SlotsExhausted if no slot is free in time or too many requests wait, and
   * DependencyUnavailable if the caller disconnects, the look-up fails or the service stops. Neither the response nor its time
   * depends on whether the client is registered.
   */
  acquire(request: SlotRequest): Promise<VerificationSlot>;
}
