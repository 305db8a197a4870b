import type { ClockWindow } from '../../domain/clock-offset.ts';
import type { TokenAlgorithm } from '../../domain/token-key.ts';
import type { MonotonicClock } from '../ports/clock.ts';
import { DependencyUnavailable } from '../ports/dependency-unavailable.ts';
import type { TrustedKey } from './trusted-keys.ts';

/**
 * What a worker needs in order to sign and verify as the ring does. No private keys. Times in seconds of the
 * monotonic clock, which all processes of the machine share.
 */
export interface KeyRingState {
  /** The key that signs: from the second `from`, up to and without the second `until`. Undefined before there is one. */
  readonly signing:
    | { readonly kid: string; readonly alg: TokenAlgorithm; readonly from: number; readonly until: number }
    | undefined;
  /** Every published key, of this process and of the other replicas of the service. */
  readonly trusted: readonly TrustedKey[];
  /** When the next key is published; Infinity if that is not known yet. */
  readonly nextPublication: number;
  /** When the key directory was last read; -Infinity before the first time. */
  readonly readAt: number;
  /** How the clock of day compares with the monotonic clock while it is right; undefined if nothing tells. */
  readonly clockWindow: ClockWindow | undefined;
}

/** Why no key may sign now, in words for an operator; undefined if one may. */
export function whyNotSigning(
  { signing, clockWindow }: Pick<KeyRingState, 'signing' | 'clockWindow'>,
  clock: MonotonicClock,
): string | undefined {
  const now = clock.now();
  if (isClockWrong(clockWindow, clock))
    return 'the clock of this machine differs too much from that of the key directory';
  if (signing === undefined) return 'no key is published yet';
  if (now < signing.from) return 'the key is published, and waits until every verifier can know it';
  return now < signing.until ? undefined : 'the key directory has been unavailable for too long';
}

/**
 * Whether tokens would get wrong times, and valid ones would be refused: the clock of day was wrong when the directory
 * was read, or has been set since, or the machine was suspended.
 */
export function isClockWrong(window: ClockWindow | undefined, clock: MonotonicClock): boolean {
  if (window === undefined) return false;
  const difference = clock.wallSeconds() - clock.seconds();
  return difference < window.min || difference > window.max;
}

/** Why no token can be verified: valid ones could be refused. */
export function clockFault(): DependencyUnavailable {
  return new DependencyUnavailable('clock', new Error('it differs too much from that of the key directory'));
}
