import { availableParallelism, totalmem } from 'node:os';
import { readTextFile } from './read-text-file.ts';

/** What the service needs under full load, in bytes; docs/operate.md has the same figure. */
export const MEMORY_BYTES = 320_000_000;

/** The bytes of memory that this machine has, or that its container may use. */
export function memoryLimit(total = totalmem(), constrained = process.constrainedMemory()): number {
  return Math.min(total, constrained || Infinity);
}

/**
 * What the service needs under full load beside its connections, and what one connection needs at most: an unfinished
 * request with all that it may send. In bytes; docs/operate.md has the same figures.
 */
const BESIDE_CONNECTIONS_BYTES = 192 * 2 ** 20;
const CONNECTION_BYTES = { plain: 64 * 2 ** 10, tls: 128 * 2 ** 10 };

/** A service that cannot have as many connections is of no use, however little memory there is. */
export const CONNECTIONS_MIN = 64;

/** For how many connections so many bytes of memory are enough. */
export function connectionsInMemory(kind: keyof typeof CONNECTION_BYTES, limit = memoryLimit()): number {
  return Math.max(CONNECTIONS_MIN, Math.floor((limit - BESIDE_CONNECTIONS_BYTES) / CONNECTION_BYTES[kind]));
}

/**
 * The cores that this process may use. Node.js respects the affinity mask and the quota of cgroup v2, but looks for
 * that of cgroup v1 by a path that exists only outside of the container.
 */
export function availableCores(cores = availableParallelism(), folder = '/sys/fs/cgroup/cpu'): number {
  const read = (name: string) => {
    const text = readTextFile(`${folder}/${name}`);
    return text.ok ? Number(text.value) : 0;
  };
  const [quota, period] = [read('cpu.cfs_quota_us'), read('cpu.cfs_period_us')];
  return quota > 0 && period > 0 ? Math.max(1, Math.min(cores, Math.floor(quota / period))) : cores;
}
