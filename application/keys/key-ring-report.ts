import { type KeyPolicy, type Ring, rotationAfter, signsUntil } from '../../domain/key-chain.ts';
import type { Problem } from '../../domain/problem.ts';
import type { KeyPeriod } from '../ports/telemetry.ts';
import type { OpenedKey, UnusableKey } from './opened-keys.ts';

// What operators see of a key ring.

export const CLOCK_WRONG: Problem = {
  code: 'clock_wrong',
  text: 'the clock of this machine differs too much from that of the key directory',
  fix: 'correct the clock of this machine or of the database (NTP)',
};

/** What an operator can do about a ring that the storage does not give or take: its own check says why. */
const RING_FIX = 'do what the check of the key directory says; it needs no restart';
export const UNREAD: Problem = { code: 'ring_unread', text: 'the key ring could not be read yet', fix: RING_FIX };
export const NO_KEY: Problem = {
  code: 'no_key',
  text: 'no key of the ring may sign any more, and none could be added',
  fix: RING_FIX,
};
export const UNKNOWN: Problem = { code: 'no_key', text: 'no key of the ring is known', fix: RING_FIX };
export const NOT_ADDED: Problem = {
  code: 'key_not_added',
  text: 'a key could not be written to the ring',
  fix: RING_FIX,
};

/** The file is read again for each seal. Nothing is lost yet: the keys that were opened stay in use. */
export function problemOfSecrets(reason: string): Problem {
  const fix = 'restore the file of KEY_SECRET_FILE, which the other replicas have too; it needs no restart';
  return {
    code: 'key_secret_unusable',
    text: `this replica can add no key to the ring: KEY_SECRET_FILE ${reason}`,
    fix,
  };
}

export const SECRET_REPLACED = 'no longer has the secret of the key that signs';

/** Usually this replica has another file than the others, and revoking the key would end their tokens for nothing. */
export function problemOfKey({ kid, state, reason }: UnusableKey, what: 'opened' | 'used'): Problem {
  const first =
    state === 'locked'
      ? 'compare the file of KEY_SECRET_FILE, and the version of the service, with those of the other replicas, or with your copy'
      : 'restore its row in key_ring';
  const fix = `${first}; only if that is lost everywhere, revoke the key with npm run keys, which ends all of its tokens`;
  return { code: `key_${state}`, text: `the key ${kid} cannot be ${what}: ${reason}`, fix };
}

/** A key ring at one moment. */
export interface KeyRingView {
  readonly ring: Ring<OpenedKey>;
  readonly policy: KeyPolicy;
  /** By the clock of the ring, in seconds. */
  readonly now: number;
  /** By how many seconds the clock of day is ahead of it. */
  readonly aheadSeconds: number;
  readonly signing: OpenedKey | undefined;
  /** The keys that tokens are verified with. */
  readonly verifying: readonly OpenedKey[];
  /** Infinity before the ring was read. */
  readonly readSecondsAgo: number;
}

/** The keys at one moment, in seconds; undefined where there is nothing to tell. */
export interface KeyRingTimes {
  /** Since the key began to sign. */
  readonly age: number | undefined;
  /** Until no key that is known may sign any more. */
  readonly end: number | undefined;
  /** Until the next key signs. */
  readonly rotation: number | undefined;
  /** Since the ring was read. */
  readonly directoryAge: number | undefined;
}

export function keyTimes({ ring, policy, now: exact, signing, readSecondsAgo }: KeyRingView): KeyRingTimes {
  const now = Math.floor(exact);
  const rotation = rotationAfter(ring, now, policy) ?? Infinity;
  const end = signsUntil(ring, policy) - now;
  return {
    age: signing && Math.max(0, now - signing.signsFrom),
    end: Number.isFinite(end) ? end : undefined,
    rotation: Number.isFinite(rotation) ? rotation - now : undefined,
    directoryAge: Number.isFinite(readSecondsAgo) ? Math.floor(readSecondsAgo) : undefined,
  };
}

/** The published keys, for people. */
export function keyPeriods({ ring, policy, now, aheadSeconds, signing, verifying }: KeyRingView): readonly KeyPeriod[] {
  const ofDay = (at: number) => (Number.isFinite(at) ? Math.round(at + aheadSeconds) : null);
  const until = rotationAfter(ring, now, policy) ?? Infinity;
  return verifying
    .toSorted((one, other) => one.signsFrom - other.signsFrom)
    .map((key): KeyPeriod => {
      const common = { kid: key.kid, alg: key.algorithm, from: ofDay(Math.min(key.signsFrom, now)) };
      if (key === signing) return { ...common, state: 'signing', until: ofDay(until) };
      if (now < key.signsFrom) {
        return { ...common, state: 'published', from: ofDay(key.createdAt), until: ofDay(key.signsFrom) };
      }
      return { ...common, state: 'retired', until: ofDay(key.verifiesUntil) };
    });
}
