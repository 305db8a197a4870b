import inspector from 'node:inspector';
import { Worker } from 'node:worker_threads';

/** Milliseconds of its own time after which an event loop that has not turned hangs. */
const HANGS_AFTER_MS = 10_000;

/** So often the loop is looked at in that time. */
const LOOKS = 20;

/** What the thread gets to know. */
interface ThreadData {
  /** One number, which changes with each turn of the event loop; 0 while the loop is not watched. */
  readonly turns: Int32Array<SharedArrayBuffer>;
  /** Milliseconds between two turns, and between two looks. */
  readonly everyMs: number;
  readonly hangsAfterMs: number;
}

/**
 * Ends this process by SIGKILL: when its event loop hangs, and when a time for its end is over. A thread of its own
 * does it, so it happens even if the event loop is blocked or waits for something that never ends. The thread takes 10
 * MB, and does not keep the process alive. A system that cannot start a thread leaves the process without a watchdog.
 */
export class Watchdog {
  readonly #turns = new Int32Array(new SharedArrayBuffer(4));
  readonly #hangsAfterMs: number;
  #thread: Worker | undefined;

  /** @param hangsAfterMs see `watch`. */
  constructor(hangsAfterMs = HANGS_AFTER_MS) {
    this.#hangsAfterMs = hangsAfterMs;
  }

  /**
   * From now on, an event loop that does not turn for `hangsAfterMs` of its own time ends the process, with one line on
   * standard error. Time in which the process was stopped, the machine was suspended, or the main thread waited for a
   * CPU is not its own. Nothing happens while an inspector is open, which may have paused the loop.
   */
  watch(): void {
    this.#start();
    let turn = 0;
    const turns = () => {
      turn += 1;
      Atomics.store(this.#turns, 0, inspector.url() === undefined ? turn : 0);
    };
    setInterval(turns, this.#hangsAfterMs / LOOKS).unref();
    turns();
  }

  /** Ends the process after that many milliseconds. Replaces an earlier deadline. */
  endAfter(ms: number): void {
    this.#start()?.postMessage(ms);
  }

  /** Undefined where the system cannot start a thread. */
  #start(): Worker | undefined {
    if (this.#thread !== undefined) return this.#thread;
    const hangsAfterMs = this.#hangsAfterMs;
    const workerData: ThreadData = { turns: this.#turns, everyMs: hangsAfterMs / LOOKS, hangsAfterMs };
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
  const { turns, everyMs, hangsAfterMs } = workerData as ThreadData;
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
  let lastTurn = 0;
  let silentMs = 0;
  const timer = setInterval(() => {
    const [passedMs, usedBefore, turn] = [performance.now() - lookedAt, use, Atomics.load(turns, 0)];
    lookedAt += passedMs;
    use = readCpuUse();
    // A thread that looks a second late was stopped, and so was the main thread, which now gets its whole time again.
    const wasStopped = passedMs > everyMs + 1_000;
    silentMs = turn === 0 || turn !== lastTurn || wasStopped ? 0 : silentMs + countOwn(everyMs, usedBefore, use);
    lastTurn = turn;
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
