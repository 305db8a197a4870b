import { createHmac, createSecretKey } from 'node:crypto';
import type { PickDecoy } from '../../application/client-lookup.ts';

/** Bytes of the hash that count. They have far more values than a table has rows. */
const HASH_BYTES = 6;

/**
 * Picks by a keyed hash of the client id, so that nobody can compute the pick. A new client moves few picks: the hash
 * counts modulo the next power of two, and where that is beyond the range, modulo its half.
 *
 * @param key 32 random bytes, the same in all replicas that are to have the same picks. A secret.
 */
export function decoyPicker(key: Uint8Array): PickDecoy {
  const secret = createSecretKey(key);
  return (clientId, range) => {
    const hash = createHmac('sha256', secret).update(clientId).digest().readUIntBE(0, HASH_BYTES);
    if (range < 1) return 0;
    const size = 2 ** Math.ceil(Math.log2(range));
    const place = hash % size;
    return 1 + (place < range ? place : hash % (size / 2));
  };
}
