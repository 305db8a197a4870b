import { availableCores } from '../adapters/system/host-limits.ts';
import { poolBounds, threadsFor } from '../adapters/system/thread-pool.ts';

/**
 * The first import of every entry point, since libuv reads the size at the first use of its pool. It replaces a value
 * of the operator: with fewer threads, one kind of work would wait for another.
 */
process.env['UV_THREADPOOL_SIZE'] = String(threadsFor(poolBounds(availableCores())));
