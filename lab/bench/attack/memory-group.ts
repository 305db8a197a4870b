import { access, mkdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { sum } from '../report.ts';

/**
 * Where control groups are mounted, and the files that hold the highest number of bytes: with sockets apart in version
 * 1.
 */
const HIERARCHIES = [
  { root: '/sys/fs/cgroup', limit: 'memory.max', peaks: ['memory.peak'] },
  {
    root: '/sys/fs/cgroup/memory',
    limit: 'memory.limit_in_bytes',
    peaks: ['memory.max_usage_in_bytes', 'memory.kmem.tcp.max_usage_in_bytes'],
    // Sockets are counted once they have a limit.
    socketLimit: 'memory.kmem.tcp.limit_in_bytes',
  },
];

/**
 * A control group of Linux for one server: the kernel counts the memory of all its processes, with page cache and
 * socket buffers. No sampling misses a peak.
 */
export class MemoryGroup implements AsyncDisposable {
  readonly #folder: string;
  readonly #peaks: readonly string[];

  private constructor(folder: string, peaks: readonly string[]) {
    this.#folder = folder;
    this.#peaks = peaks;
  }

  /**
   * Undefined if this process may not create control groups that count memory.
   *
   * @param megabytes beyond which the kernel ends a process of the group.
   */
  static async create(name: string, megabytes: number): Promise<MemoryGroup | undefined> {
    for (const { root, limit, peaks, socketLimit } of HIERARCHIES) {
      const folder = join(root, name);
      try {
        await access(join(root, 'cgroup.procs'));
        await mkdir(folder);
        if (socketLimit !== undefined) await writeFile(join(folder, socketLimit), String(2 ** 40));
        await writeFile(join(folder, limit), String(megabytes * 2 ** 20));
        await Promise.all(peaks.map((file) => access(join(folder, file))));
        return new MemoryGroup(folder, peaks);
      } catch {
        await rmdir(folder).catch(() => {});
      }
    }
    return undefined;
  }

  /** A process that writes its id to this file, and every process that it starts, is counted. */
  get processesFile(): string {
    return join(this.#folder, 'cgroup.procs');
  }

  /** The highest memory so far, in megabytes. */
  async peakMb(): Promise<number> {
    return (
      sum((await Promise.all(this.#peaks.map((file) => readFile(join(this.#folder, file), 'utf8')))).map(Number)) /
      2 ** 20
    );
  }

  /** Removes the group. Its processes must have ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (let attempt = 0; attempt < 100; attempt += 1) {
      if (
        await rmdir(this.#folder).then(
          () => true,
          () => false,
        )
      )
        return;
      await delay(50);
    }
  }
}
