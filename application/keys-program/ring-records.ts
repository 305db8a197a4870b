import { type KeyPolicy, type Ring, type RingKey, signingKeyAt, waits } from '../../domain/key-chain.ts';
import { readTokenAlgorithm, TOKEN_ALGORITHMS } from '../../domain/token-key.ts';
import type { KeyRow, KeyRows } from '../ports/key-ring-store.ts';

/** All replicas have read the ring so many seconds later, and turn to the next key at the same moment. */
const READ_BY_ALL_SECONDS = 15;

/** `published`: it has not signed yet. */
export type KeyState = 'published' | 'signing' | 'retired' | 'revoked';

/** The state of a key as far as the columns beside its seal say it: the seal may say less. */
export function keyStateOf(row: KeyRow, { rows, time = 0 }: KeyRows): KeyState {
  if (row.revokedAt !== undefined) return 'revoked';
  if (currentKeys(rows, time).some(({ kid }) => kid === row.kid)) return 'signing';
  return time < row.signsFrom ? 'published' : 'retired';
}

/** When a key began to sign, or will: as planned, or when the key before it was revoked or ends for a rotation. */
export function signsFromOf(row: KeyRow, ring: KeyRows): number {
  const chain = ring.rows
    .filter(({ algorithm, step = Infinity }) => algorithm === row.algorithm && step <= (row.step ?? -1))
    .toSorted((one, other) => (one.step ?? 0) - (other.step ?? 0));
  let { signsFrom } = row;
  let before: KeyRow | undefined;
  for (const key of chain) {
    signsFrom = Math.min(key.signsFrom, before?.endedAt ?? Infinity, before?.revokedAt ?? Infinity);
    // None follows a key that was revoked before it began.
    if (signsFrom <= (key.revokedAt ?? Infinity)) before = key;
  }
  return keyStateOf(row, ring) === 'signing' ? Math.min(signsFrom, Math.floor(ring.time ?? 0)) : signsFrom;
}

/** When each key that signs ends if the next one follows as soon as every verifier can know that. */
export function rotationsOf({ rows, time = 0 }: KeyRows): readonly { readonly kid: string; readonly endsAt: number }[] {
  return currentKeys(rows, time).flatMap(({ kid, algorithm, step, endedAt = Infinity }) => {
    const next = rows
      .filter((row) => row.algorithm === algorithm && (row.step ?? -1) > step && row.sealed !== undefined)
      .toSorted((one, other) => (one.step ?? 0) - (other.step ?? 0))[0];
    const endsAt = Math.max(Math.ceil(time) + READ_BY_ALL_SECONDS, next?.knownAt ?? Infinity);
    return next === undefined ? [] : [{ kid, endsAt: Math.min(endsAt, endedAt) }];
  });
}

/** The keys that sign now, one for each algorithm. */
function currentKeys(rows: readonly KeyRow[], time: number): readonly RingKey[] {
  const keys = rows.flatMap(({ kid, algorithm: name, step, sealed, signsFrom, verifiesUntil, endedAt }) => {
    const algorithm = readTokenAlgorithm(name);
    if (algorithm === undefined || step === undefined || sealed === undefined) return [];
    return [{ kid, algorithm, step, signsFrom, verifiesUntil, endedAt } satisfies RingKey];
  });
  return TOKEN_ALGORITHMS.flatMap((algorithm) => {
    const ring: Ring = { keys: keys.filter((key) => key.algorithm === algorithm), rows, locked: [] };
    const policy: KeyPolicy = { algorithm, rotationSeconds: 0, publicationSeconds: 0, tokenLifetimeSeconds: 0 };
    const current = signingKeyAt(ring, time, policy);
    return current !== undefined && !waits(ring, current, time) ? [current] : [];
  });
}
