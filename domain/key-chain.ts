import type { TokenAlgorithm } from './token-key.ts';

/*
 * The states of a key at a time. They follow from its plan, from the columns beside its seal, and from the other keys:
 * nobody sets them.
 *
 * | state | when | verifies | signs |
 * |---|---|---|---|
 * | published | `time < signsFrom` | yes | no; but if no other one may, it signs before its time |
 * | signing | the last one of its algorithm whose `signsFrom` has come | yes | yes |
 * | retired | a later one signs, or `endedAt` or `endOf` has come | until `verifiesUntil` | no |
 * | revoked | `revokedAt` is set, in the row or in an earlier reading | no | no |
 * | unusable | its seal is locked (its secret is not here) or damaged | no | no |
 *
 * While the algorithm changes, the ring has a chain of keys for each, and a replica signs with:
 *
 * | the key of its own algorithm | if a key of another one signs | otherwise |
 * |---|---|---|
 * | its time has come, or one before it was revoked or ended early (`isCut`) | its own | its own |
 * | is only published | that of the other algorithm, the one that began last | its own, before its time |
 * | is not there | that of the other algorithm | none |
 *
 * A replica adds the key after the one that signs as soon as that has begun. What holds, with its test:
 * - A key signs no token that outlives it: `endOf` is a token's lifetime and LEEWAY_SECONDS before `verifiesUntil`.
 * - A verifier can know each key before it signs, unless no other may: "sign only with keys that verify long enough,
 *   and that verifiers can know unless no other may sign" (both, tests/domain/key-chain.test.ts).
 * - One algorithm and step is one key: "of several replicas in an empty ring at the same moment leaves one key, which
 *   all use".
 * - Replicas with the same settings sign with the same key: "of one set of settings agree on the key that signs, …".
 * - Only a seal makes a key, and a column can only narrow it: "a row of the ring"
 *   (tests/application/keys/key-ring.test.ts).
 */

/**
 * What a seal says about a key. The keys of one algorithm are a chain, by their steps. Times in whole seconds, by the
 * clock that the ring is kept by.
 */
export interface KeyPlan {
  readonly algorithm: TokenAlgorithm;
  readonly step: number;
  readonly signsFrom: number;
  /** Nothing that it signed is valid any more then. Infinity: for as long as the ring lives. */
  readonly verifiesUntil: number;
}

/** A key of the ring whose seal was opened, and what the columns beside the seal narrow. */
export interface RingKey extends KeyPlan {
  readonly kid: string;
  /** From then on it signs nothing, since an operator has asked for a rotation. */
  readonly endedAt: number | undefined;
}

/** What stands beside the seal of a key. */
export interface RingRow {
  readonly kid: string;
  readonly algorithm: string | undefined;
  readonly step: number | undefined;
  readonly verifiesUntil: number;
  readonly endedAt: number | undefined;
  readonly revokedAt: number | undefined;
}

/** The key ring as one replica has read it. */
export interface Ring<Key extends RingKey = RingKey> {
  /** Those that may sign or verify: no revoked one, and none whose seal is damaged or needs an unknown secret. */
  readonly keys: readonly Key[];
  /** Every row, whatever has become of its key. */
  readonly rows: readonly RingRow[];
  /** Those whose keys need an unknown secret. */
  readonly locked: readonly Pick<RingRow, 'algorithm' | 'step'>[];
}

/** How one replica makes and uses keys. Durations in seconds. */
export interface KeyPolicy {
  readonly algorithm: TokenAlgorithm;
  /** How long a key signs; Infinity: it has no successor. */
  readonly rotationSeconds: number;
  /** How long a key stands in the ring before it signs: the time in which every verifier gets to know it. */
  readonly publicationSeconds: number;
  /** The longest that a token is valid. */
  readonly tokenLifetimeSeconds: number;
}

/** For how long after its last token a key verifies, in seconds: for the clocks of replicas, and of verifiers. */
const LEEWAY_SECONDS = 60;

/** A planned key that is not in the ring so many seconds later must not be added: its times are out of date. */
export const ADDED_WITHIN_SECONDS = 5;

/**
 * The key that signs at this time: of the algorithm of this replica, the last one whose time has come; or the next one,
 * if no other is left. The first key of a new algorithm waits for its time, while keys of another one sign.
 */
export function signingKeyAt<Key extends RingKey>(ring: Ring<Key>, time: number, policy: KeyPolicy): Key | undefined {
  const own = currentOf(ableKeys(ring, time, policy), policy.algorithm, time);
  if (own !== undefined && !waits(ring, own, time)) return own;
  return currentOfOthers(ring, time, policy) ?? own;
}

/** The key to add to the ring at this time; undefined if there is none. */
export function nextKeyAt(ring: Ring, time: number, policy: KeyPolicy): KeyPlan | undefined {
  const { algorithm, rotationSeconds, publicationSeconds, tokenLifetimeSeconds } = policy;
  const able = ableKeys(ring, time, policy);
  const current = currentOf(able, algorithm, time);
  if (isLockedOut(ring, algorithm, current)) return undefined;
  const knownToAllAt = Math.ceil(time) + ADDED_WITHIN_SECONDS + publicationSeconds;
  let signsFrom = Math.floor(time);
  if (current !== undefined) {
    const hasSuccessor = able.some((key) => key.algorithm === algorithm && key.step > current.step);
    const isUnused = waits(ring, current, time) && currentOfOthers(ring, time, policy) !== undefined;
    if (hasSuccessor || isUnused || rotationSeconds === Infinity) return undefined;
    signsFrom = Math.max(Math.min(current.signsFrom, Math.floor(time)) + rotationSeconds, knownToAllAt);
  } else if (!isCut(ring, algorithm, time) && currentOfOthers(ring, time, policy) !== undefined) {
    signsFrom = knownToAllAt;
  }
  const verifiesUntil = signsFrom + rotationSeconds + tokenLifetimeSeconds + LEEWAY_SECONDS;
  return { algorithm, step: nextStep(ring, algorithm), signsFrom, verifiesUntil };
}

/**
 * Whether this replica lacks the secret of the others: it must add no key, which they could not open. A locked key of
 * another algorithm, or from before the one that signs, tells nothing where this replica can open keys.
 */
function isLockedOut({ keys, locked }: Ring, algorithm: TokenAlgorithm, current: RingKey | undefined): boolean {
  if (keys.length === 0) return locked.length > 0;
  return locked.some((row) => row.algorithm === algorithm && (row.step ?? Infinity) >= (current?.step ?? 0));
}

/** No key gets that far, so a row with such a step was made up. */
const STEP_MAX = 1e9;

/**
 * Behind every row of this algorithm; or where rows that somebody made up leave no such step, the first free one behind
 * every key.
 */
function nextStep({ keys, rows }: Ring, algorithm: TokenAlgorithm): number {
  const stepsOf = (all: readonly (RingKey | RingRow)[]) =>
    all.filter((row) => row.algorithm === algorithm).map(({ step = -1 }) => step);
  const taken = stepsOf(rows).filter((step) => step < STEP_MAX);
  const last = Math.max(-1, ...taken);
  if (last + 1 < STEP_MAX) return last + 1;
  let step = Math.max(-1, ...stepsOf(keys)) + 1;
  while (taken.includes(step)) step += 1;
  return step;
}

/** The keys that tokens are verified with at this time, and that are published. */
export function verifyingKeysAt<Key extends RingKey>({ keys }: Ring<Key>, time: number): readonly Key[] {
  return keys.filter(({ verifiesUntil }) => time < verifiesUntil);
}

/** When another key signs in place of the one that signs now, as far as the ring says; undefined if none signs. */
export function rotationAfter(ring: Ring, time: number, policy: KeyPolicy): number | undefined {
  const current = signingKeyAt(ring, time, policy);
  if (current === undefined) return undefined;
  const successors = ring.keys.filter(({ algorithm, step }) => algorithm === current.algorithm && step > current.step);
  const starts = successors.map(({ signsFrom }) => signsFrom).filter((signsFrom) => signsFrom > time);
  return Math.min(endOf(current, policy), ...starts);
}

/** Until when this replica can sign with the keys that are in the ring; -Infinity if it cannot. */
export function signsUntil({ keys }: Ring, policy: KeyPolicy): number {
  return Math.max(-Infinity, ...keys.map((key) => endOf(key, policy)));
}

/** Whether its time has not come, and no key before it was cut off. */
export function waits(ring: Ring, { algorithm, signsFrom }: RingKey, time: number): boolean {
  return time < signsFrom && !isCut(ring, algorithm, time);
}

/** Whether a key of this algorithm was revoked, or ended early, that verifiers may expect to sign. */
function isCut({ rows }: Ring, algorithm: TokenAlgorithm, time: number): boolean {
  return rows.some(({ verifiesUntil, revokedAt, endedAt = Infinity, ...row }) => {
    return row.algorithm === algorithm && time < verifiesUntil && (revokedAt !== undefined || endedAt <= time);
  });
}

/** From when on a key must not sign: a token has to expire while it can be verified. */
function endOf({ verifiesUntil, endedAt = Infinity }: RingKey, { tokenLifetimeSeconds }: KeyPolicy): number {
  return Math.min(endedAt, verifiesUntil - tokenLifetimeSeconds - LEEWAY_SECONDS);
}

/** The keys that may sign at this time, or later, in order of their steps. */
function ableKeys<Key extends RingKey>({ keys }: Ring<Key>, time: number, policy: KeyPolicy): readonly Key[] {
  return keys.filter((key) => time < endOf(key, policy)).toSorted((one, other) => one.step - other.step);
}

function currentOf<Key extends RingKey>(able: readonly Key[], algorithm: string, time: number): Key | undefined {
  const chain = able.filter((key) => key.algorithm === algorithm);
  return chain.findLast(({ signsFrom }) => signsFrom <= time) ?? chain[0];
}

/**
 * The key of another algorithm that has begun to sign last. If none may sign any more, as the tokens of this replica
 * are valid for longer than those of the replicas that added it, the one that follows.
 */
function currentOfOthers<Key extends RingKey>(ring: Ring<Key>, time: number, policy: KeyPolicy): Key | undefined {
  const able = ableKeys(ring, time, policy).filter(({ algorithm }) => algorithm !== policy.algorithm);
  const currents = able.flatMap(({ algorithm }) => currentOf(able, algorithm, time) ?? []);
  const follows = ({ algorithm, step }: Key) =>
    verifyingKeysAt(ring, time).some((key) => key.algorithm === algorithm && key.step < step && key.signsFrom <= time);
  const begun = currents.filter(({ signsFrom }) => signsFrom <= time);
  return begun.toSorted((one, other) => other.signsFrom - one.signsFrom)[0] ?? currents.find(follows);
}
