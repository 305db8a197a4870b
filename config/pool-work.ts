import { availableCores } from '../adapters/system/host-limits.ts';
import { PoolWork, poolBounds, threadsOf } from '../adapters/system/thread-pool.ts';

/**
 * The most work of a kind that waits in front of the pool. In the service nothing does, since each verification has a
 * slot. One chunk of an import has fewer secrets.
 */
const WAITING_MAX = 10_000;

/** The kinds of work that run in libuv's pool of threads, within bounds that fit the pool of this process. */
export type PoolWorks = Readonly<Record<'bcrypt' | 'assertions', PoolWork>>;

export function createPoolWorks(): PoolWorks {
  const bounds = poolBounds(availableCores(), threadsOf(process.env['UV_THREADPOOL_SIZE']));
  return {
    bcrypt: new PoolWork('secret verification', bounds.bcrypt, WAITING_MAX),
    assertions: new PoolWork('assertion verification', bounds.assertions, WAITING_MAX),
  };
}

/** BCrypt in a program that does nothing else meanwhile: on all cores. */
export function createHashing(): PoolWork {
  return new PoolWork('secret hashing', availableCores(), WAITING_MAX);
}
