import type { Connected } from './caller.ts';
import { DependencyUnavailable } from './dependency-unavailable.ts';

/** What is verified: a secret, by BCrypt, or the signature of an assertion. Each has its own queue. */
export type VerificationKind = 'secret verification' | 'assertion verification';

/** Why there is no verification, or no verdict. */
export function verificationFault(
  reason: string,
  kind: VerificationKind = 'secret verification',
): DependencyUnavailable {
  return new DependencyUnavailable(kind, new Error(reason));
}

/**
 * Too many verifications wait: a flood, or too few cores. Unlike other faults, it says nothing about what the service
 * depends on.
 */
export class SlotsExhausted extends DependencyUnavailable {
  /** Of a registered client, for the log. */
  clientId?: string;

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
  readonly caller: Connected;
  /**
   * Looks up whether the client is registered. Called at most once, never before a refusal at once, and never while
   * many others are. May throw DependencyUnavailable.
   */
  isRegistered(): Promise<boolean>;
}

/** Limits how many verifications run at once, and who runs one next. */
export interface VerificationSlots {
  /**
   * Runs a verification in a slot, the right to run one now, as soon as one is free. Resolves with its verdict as soon
   * as the caller may know it; it may end after that. Neither the response nor its time depends on whether the client
   * is registered.
   *
   * Throws SlotsExhausted if no slot is free in time, too many requests wait, or the caller may not know the verdict;
   * DependencyUnavailable if the caller disconnects, the look-up fails or the service stops; and what the verification
   * throws.
   *
   * @param isRight whether a verdict lets the caller in.
   */
  run<Verdict>(
    request: SlotRequest,
    verify: () => Promise<Verdict>,
    isRight: (verdict: Verdict) => boolean,
  ): Promise<Verdict>;
}
