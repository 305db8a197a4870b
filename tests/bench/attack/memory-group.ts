import { access, mkdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/** Where control groups are mounted, and the files that hold the highest number of bytes: with the second one's sockets apart in version 1. */
const HIERARCHIES = [
  { root: '/sys/fs/cgroup', peaks: ['memory.peak'], sockets: undefined },
  {
    root: '/sys/fs/cgroup/memory',
    peaks: ['memory.max_usage_in_bytes', 'memory.kmem.tcp.max_usage_in_bytes'],
    // Sockets are counted once they have a limit.
    sockets: 'memory.kmem.tcp.limit_in_bytes',
  },
] as const;

const NO_LIMIT = String(2 ** 40);

/**
 * A control group of Linux for one server: the kernel counts the memory of all its processes, with page cache and socket
 * buffers. No sampling misses a peak.
 */
export class MemoryGroup implements AsyncDisposable {
  readonly #folder: string;
  readonly #peaks: readonly string[];

  private constructor(folder: string, peaks: readonly string[]) {
    this.#folder = folder;
    this.#peaks = peaks;
  }

  /** Undefined if this process may not create control groups that count memory. */
  static async create(name: string): Promise<MemoryGroup | undefined> {
    for (const { root, peaks, sockets } of HIERARCHIES) {
      const folder = join(root, name);
      try {
        await access(join(root, 'cgroup.procs'));
        await mkdir(folder);
        if (sockets !== undefined) await writeFile(join(folder, sockets), NO_LIMIT);
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
    const peaks = await Promise.all(this.#peaks.map((file) => readFile(join(this.#folder, file), 'utf8')));
    return peaks.reduce((sum, text) => sum + Number(text) / 2 ** 20, 0);
  }

  /** Removes the group. Its processes must have ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (let attempt = 0; attempt < 100; attempt += 1) {
      const removed = await rmdir(this.#folder).then(
        () => true,
        () => false,
      );
      if (removed) return;
      await delay(50);
    }
  }
}
