import inspector from 'node:inspector';
import { Worker } from 'node:worker_threads';

/** Milliseconds of its own time after which an event loop without a heartbeat hangs. */
const HANGS_AFTER_MS = 10_000;

/** So often the loop is looked at in that time. */
const LOOKS = 20;

/** What the thread gets to know. */
interface ThreadData {
  /** One number, which changes with each heartbeat of the event loop; 0 while the loop is not watched. */
  readonly beats: Int32Array<SharedArrayBuffer>;
  /** Milliseconds between two heartbeats, and between two looks. */
  readonly everyMs: number;
  readonly hangsAfterMs: number;
}

/**
 * Ends this process by SIGKILL: when its event loop hangs, and when a time for its end is over. A thread of its own
 * does it, so it happens even if the event loop is blocked or waits for something that never ends. The thread takes 10
 * MB, and does not keep the process alive. A system that cannot start a thread leaves the process without a watchdog.
 */
export class Watchdog {
  readonly #beats = new Int32Array(new SharedArrayBuffer(4));
  readonly #hangsAfterMs: number;
  #thread: Worker | undefined;

  /** @param hangsAfterMs see `watch`. */
  constructor(hangsAfterMs = HANGS_AFTER_MS) {
    this.#hangsAfterMs = hangsAfterMs;
  }

  /**
   * From now on, an event loop without a heartbeat for `hangsAfterMs` of its own time ends the process, with one line
   * on standard error. Time in which the process was stopped, the machine was suspended, or the main thread waited for
   * a CPU is not its own. Nothing happens while an inspector is open, which may have paused the loop.
   */
  watch(): void {
    this.#start();
    let count = 0;
    const beat = () => {
      count += 1;
      Atomics.store(this.#beats, 0, inspector.url() === undefined ? count : 0);
    };
    setInterval(beat, this.#hangsAfterMs / LOOKS).unref();
    beat();
  }

  /** Ends the process after that many milliseconds. Replaces an earlier deadline. */
  endAfter(ms: number): void {
    this.#start()?.postMessage(ms);
  }

  /** Undefined where the system cannot start a thread. */
  #start(): Worker | undefined {
    if (this.#thread !== undefined) return this.#thread;
    const hangsAfterMs = this.#hangsAfterMs;
    const workerData: ThreadData = { beats: this.#beats, everyMs: hangsAfterMs / LOOKS, hangsAfterMs };
    // As text: a thread that reads its code from a file of TypeScript takes 22 MB.
    const code = `(${watchLoop})(${ownTime})`;
    try {
      const thread = new Worker(code, { eval: true, workerData, execArgv: [], env: {} });
      thread.on('error', () => {});
      // The next call tries again.
      thread.once('exit', () => {
        this.#thread = undefined;
      });
      thread.unref();
      this.#thread = thread;
    } catch {
      // ERR_WORKER_INIT_FAILED. The service works without.
    }
    return this.#thread;
  }
}

/** What the main thread has used of the CPU. */
interface CpuUse {
  /** Milliseconds in which it ran. */
  readonly ms: number;
  /** Whether it runs, or waits for a CPU. */
  readonly isRunnable: boolean;
}

/**
 * How much of `passedMs`, the milliseconds since the last look, was the main thread's own time: in which it ran, or did
 * not want to. What a system without Linux's /proc does not tell (`undefined`) counts as its own.
 */
export function ownTime(passedMs: number, before: CpuUse | undefined, now: CpuUse | undefined): number {
  if (before === undefined || now === undefined || !now.isRunnable) return passedMs;
  return Math.min(passedMs, now.ms - before.ms);
}

/** Runs in the thread, which gets its text and nothing else of this module. */
function watchLoop(countOwn: typeof ownTime): void {
  const { readFileSync, write } = process.getBuiltinModule('node:fs');
  const { parentPort, workerData } = process.getBuiltinModule('node:worker_threads');
  const { beats, everyMs, hangsAfterMs } = workerData as ThreadData;
  const kill = () => process.kill(process.pid, 'SIGKILL');
  let deadline: NodeJS.Timeout | undefined;
  parentPort?.on('message', (ms: number) => {
    clearTimeout(deadline);
    deadline = setTimeout(kill, ms);
  });

  /** `/proc/self` is the main thread, whichever thread reads it. */
  function readCpuUse(): CpuUse | undefined {
    try {
      // Nanoseconds on a CPU, nanoseconds in the queue of a CPU, and time slices.
      const [nanoseconds] = readFileSync('/proc/self/schedstat', 'utf8').split(' ');
      // The state follows the name of the program, which stands in parentheses and may contain any character.
      const stat = readFileSync('/proc/self/stat', 'utf8');
      return { ms: Number(nanoseconds) / 1e6, isRunnable: stat.slice(stat.lastIndexOf(')')).startsWith(') R') };
    } catch {
      return undefined;
    }
  }

  let lookedAt = performance.now();
  let use = readCpuUse();
  let lastBeat = 0;
  let silentMs = 0;
  const timer = setInterval(() => {
    const [passedMs, usedBefore, beat] = [performance.now() - lookedAt, use, Atomics.load(beats, 0)];
    lookedAt += passedMs;
    use = readCpuUse();
    // A thread that looks a second late was stopped, and so was the main thread, which now gets its whole time again.
    const wasStopped = passedMs > everyMs + 1_000;
    silentMs = beat === 0 || beat !== lastBeat || wasStopped ? 0 : silentMs + countOwn(everyMs, usedBefore, use);
    lastBeat = beat;
    if (silentMs < hangsAfterMs) return;
    clearInterval(timer);
    const line = {
      level: 'fatal',
      time: new Date().toISOString(),
      event: 'event_loop_hangs',
      seconds: hangsAfterMs / 1e3,
    };
    // Standard error may be a pipe that nobody reads.
    write(2, `${JSON.stringify(line)}\n`, kill);
    setTimeout(kill, 1_000);
  }, everyMs);
}
