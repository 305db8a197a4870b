import { readFileSync } from 'node:fs';

/** Milliseconds between two heartbeats. */
export const HEARTBEAT_EVERY_MS = 200;

/** Milliseconds without an answer after which a worker hangs, however busy the machine is. */
const SILENCE_MS_MAX = 10_000;

interface HeartbeatParts {
  /** Resolves when the worker has answered. */
  readonly ping: () => Promise<void>;
  /** What the worker's main thread has used of the CPU; undefined where the system does not tell. */
  readonly cpuUse: () => CpuUse | undefined;
  /** Milliseconds of its own time that a worker may take to answer. */
  readonly withinMs: number;
  /** Milliseconds, of a clock that never goes back. */
  readonly now: () => number;
}

/**
 * Finds out whether a worker hangs: its event loop is blocked, or its process is stopped. A worker that waits for a CPU does
 * not hang. So only its own time counts: the time in which it ran, or did not want to run.
 */
export class Heartbeat {
  readonly #parts: HeartbeatParts;
  #isAnswered = true;
  #lookedAt = 0;
  #cpuMs = 0;
  #ownMs = 0;
  #silentMs = 0;

  constructor(parts: HeartbeatParts) {
    this.#parts = parts;
  }

  /**
   * Call it every {@link HEARTBEAT_EVERY_MS}, when the messages that have arrived are read. Sends a heartbeat if the last one
   * is answered. Returns whether the worker hangs.
   */
  beat(): boolean {
    const { cpuUse, now, withinMs } = this.#parts;
    const at = now();
    const use = cpuUse();
    const usedMs = (use?.ms ?? 0) - this.#cpuMs;
    // A primary that did not run meanwhile, such as on a suspended machine, could not read an answer: that time does not count.
    const passedMs = Math.min(at - this.#lookedAt, HEARTBEAT_EVERY_MS);
    this.#lookedAt = at;
    this.#cpuMs = use?.ms ?? 0;
    if (this.#isAnswered) {
      this.#send();
      return false;
    }
    this.#ownMs += use?.isRunnable ? Math.min(usedMs, passedMs) : passedMs;
    this.#silentMs += passedMs;
    return this.#ownMs >= withinMs || this.#silentMs >= SILENCE_MS_MAX;
  }

  #send(): void {
    this.#isAnswered = false;
    this.#ownMs = 0;
    this.#silentMs = 0;
    const answered = () => {
      this.#isAnswered = true;
    };
    // The call is rejected when the worker ends.
    this.#parts.ping().then(answered, () => {});
  }
}

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
