import { availableCores } from '../adapters/system/host-limits.ts';
import { PoolWork, poolBounds, threadsOf } from '../adapters/system/thread-pool.ts';

/** How much work of each kind may be in libuv's pool of threads at once. A queue in front of each keeps to it. */
export function boundsOfPool(): ReturnType<typeof poolBounds> {
  return poolBounds(availableCores(), threadsOf(process.env['UV_THREADPOOL_SIZE']));
}

/** The most BCrypt hashes that wait in a program. One chunk of an import has fewer secrets. */
const WAITING_MAX = 10_000;

/** BCrypt in a program that does nothing else meanwhile: on all cores. */
export function createHashing(): PoolWork {
  return new PoolWork('secret hashing', availableCores(), WAITING_MAX);
}
