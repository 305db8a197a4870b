import { readFileSync } from 'node:fs';

/** What a process has used of the CPU. */
export interface CpuUse {
  /** Milliseconds in which its main thread ran. */
  readonly ms: number;
  /** Whether it runs, or waits for a CPU. */
  readonly isRunnable: boolean;
}

/** Of another process of this machine; undefined if it has ended, and on systems without Linux's /proc. */
export function readCpuUse(processId: number | undefined): CpuUse | undefined {
  try {
    // Nanoseconds on a CPU, nanoseconds in the queue of a CPU, and time slices.
    const [nanoseconds] = readFileSync(`/proc/${processId}/schedstat`, 'utf8').split(' ');
    // The state follows the name of the program, which stands in parentheses and may contain any character.
    const stat = readFileSync(`/proc/${processId}/stat`, 'utf8');
    return { ms: Number(nanoseconds) / 1e6, isRunnable: stat.slice(stat.lastIndexOf(')')).startsWith(') R') };
  } catch {
    return undefined;
  }
}
