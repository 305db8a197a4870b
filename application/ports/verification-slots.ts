import type { Caller } from './caller.ts';
import { DependencyUnavailable } from './dependency-unavailable.ts';
import type { SecretVerdict } from './secret-verifier.ts';

/** What is verified: a secret, by BCrypt, or the signature of an assertion. Each has a queue of its own. */
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
  /** `renewal`: the caller presented a verified secret, so this verification is no attempt to guess one. */
  readonly purpose: 'attempt' | 'renewal';
  /** Milliseconds that the request may wait for a slot, if it has waited before. */
  readonly waitMs?: number;
  /**
   * Whether the client is registered. Called only for a request whose answer can no longer depend on it in content or
   * time. May throw DependencyUnavailable.
   */
  isRegistered(): Promise<boolean>;
}

/** The right to run one verification now. Its holder calls `settle` or `release`, once. */
export interface VerificationSlot {
  /**
   * What the caller gets if the secret is not right. `immediate`: the refusal, at once. `slow_down`: `attempts_exhausted`,
   * at once. `deferred`: the refusal is withheld, and the caller gets 503 when the waiting time is over.
   */
  readonly refusals: 'immediate' | 'slow_down' | 'deferred';

  /**
   * Gives the slot back and resolves with the verdict as soon as the caller may know it. Throws SlotsExhausted if the caller
   * may not know it, and DependencyUnavailable if they have disconnected.
   */
  settle(verdict: SecretVerdict): Promise<SecretVerdict | 'attempts_exhausted'>;

  /** Gives the slot back without a verdict, after a fault. */
  release(): void;
}

/** Limits how many verifications run at once, who runs one next, and how many attempts a caller has. */
export interface VerificationSlots {
  /**
   * Whether a secret of this client id that comes from this network may be compared with the cache of verified secrets
   * without a slot. If not, too many attempts failed there. Costs nothing and never fails.
   */
  hasAttemptsLeft(clientId: string, network: string): boolean;

  /**
   * Resolves when a slot is free, or with `attempts_exhausted` if too many attempts failed and this one was not selected
   * within the waiting time. Throws SlotsExhausted if no slot is free in time or too many requests wait, and
   * DependencyUnavailable if the caller disconnects or the service stops. Neither the answer nor its time depends on whether
   * the client is registered.
   */
  acquire(request: SlotRequest): Promise<VerificationSlot | 'attempts_exhausted'>;
}

/** Slots that end with the service. */
export interface ClosableVerificationSlots extends VerificationSlots {
  /** Refuses the requests that wait, and new ones. */
  close(): void;
}
