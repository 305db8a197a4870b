import { createHash } from 'node:crypto';

/**
 * Whether a change is in a random sample of that share, from 0 to 1: of the same code always the same changes, and a
 * larger sample has all of a smaller one.
 */
export function isInSample(id: string, share: number): boolean {
  return createHash('sha256').update(id).digest().readUInt32BE() < share * 2 ** 32;
}
