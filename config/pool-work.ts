import { availableCores } from '../adapters/system/host-limits.ts';
import { PoolWork, poolBounds, threadsOf } from '../adapters/system/thread-pool.ts';

/**
 * The most work of a kind that waits in front of the pool. In the service nothing does, since each verification has a
 * slot. One chunk of an import has fewer secrets.
 */
const WAITING_MAX = 10_000;

/** A kind of work that runs in libuv's pool of threads, within a bound that fits the pool of this process. A process has one of each. */
export function poolWork(kind: 'bcrypt' | 'assertions'): PoolWork {
  const bounds = poolBounds(availableCores(), threadsOf(process.env['UV_THREADPOOL_SIZE']));
  const name = { bcrypt: 'secret verification', assertions: 'assertion verification' }[kind];
  return new PoolWork(name, bounds[kind], WAITING_MAX);
}

/** BCrypt in a program that does nothing else meanwhile: on all cores. */
export function createHashing(): PoolWork {
  return new PoolWork('secret hashing', availableCores(), WAITING_MAX);
}
