import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import type { HealthCheck, Readiness } from '../../application/ports/health-check.ts';
import type { LogLoad } from '../../application/ports/telemetry.ts';
import { BUFFER_BYTES, type Line, LineQueue } from './line-queue.ts';
import { codeOf, isSlow, LineTarget, READER_RETRY_MS } from './line-target.ts';

/** How long a request waits for its required line, in milliseconds: as long as for a look-up or a verification. */
const REQUIRED_MS = 2_000;

/** When to try again after a fault, in milliseconds. */
const FAULT_RETRY_MS = 250;

/** How long a shutdown waits for a slow disk or reader, and then the end of the process, which runs nothing else meanwhile, in milliseconds. */
const [CLOSE_MS, END_MS] = [1_000, 250];

const FULL = Object.assign(new Error('too many lines wait'), { code: 'EAGAIN' });
const LATE = Object.assign(new Error(`not written within ${REQUIRED_MS} ms`), { code: 'ETIMEDOUT' });

/** A change of state of the audit log, for the operator's log. */
export type AuditChange =
  | { readonly event: 'audit_unavailable'; readonly code: string }
  | { readonly event: 'audit_available'; readonly lines: number };

export interface LineWriterOptions {
  readonly name: 'log' | 'audit log';
  readonly descriptor: number;
  /** The line that says how many are missing. */
  readonly lossLine: (lines: number) => string;
  readonly onChange?: (change: AuditChange) => void;
}

/** What writes lines, each given with its line feed. */
export type Lines = Pick<
  LineWriter,
  'write' | 'keep' | 'writeRequired' | 'faultCode' | keyof HealthCheck | keyof LogLoad
>;

/**
 * Writes lines to a file, a pipe or a terminal, in order. A thread of the pool writes, and the event loop never waits: what comes
 * meanwhile is written next, all together. A line that is taken is written sooner or later; after a fault, it tries again every
 * 250 ms, and then says how many lines were not taken meanwhile.
 */
export class LineWriter implements HealthCheck, LogLoad {
  readonly name: string;
  readonly bufferedBytesMax = BUFFER_BYTES;
  readonly #options: LineWriterOptions;
  readonly #queue = new LineQueue();
  #target: LineTarget;
  #state: 'open' | 'closing' | 'closed' = 'open';
  /** The last fault; undefined while lines can be written. */
  #fault: unknown;
  /** The last line that was not written in time. */
  #late: Line | undefined;
  /** Until nothing waits. */
  #running: Promise<void> | undefined;
  /** Ends a pause. */
  #wake = () => {};

  constructor(options: LineWriterOptions) {
    this.name = options.name;
    this.#options = options;
    this.#target = this.#targetOf(options.descriptor);
    process.once('exit', this.#onExit);
  }

  /** Lines that were lost since startup. */
  get linesLost(): number {
    return this.#queue.lost;
  }

  /** Bytes that wait: at most `bufferedBytesMax` and one line about lost ones. */
  get bufferedBytes(): number {
    return this.#queue.bytes;
  }

  /** The system's code of the fault, if lines cannot be written now. */
  get faultCode(): string | undefined {
    return this.#fault === undefined ? undefined : codeOf(this.#fault);
  }

  /** Always ready: the service works without lines that may be lost. The note says why they are lost now. */
  readiness(): Readiness {
    const slow = `the ${this.#target.isFile ? 'disk' : 'reader'} is too slow`;
    const cause = this.#isFailing() ? this.faultCode : this.#queue.hasGap && slow;
    if (!cause) return { ready: true };
    const text = `${this.name === 'log' ? 'log' : 'audit'} lines are lost: ${cause}`;
    const fix = `make room on the disk, or repair what reads the lines; no restart is needed`;
    return { ready: true, note: { code: this.faultCode ?? 'slow', text, fix } };
  }

  /** Nobody waits for the line. It is lost and counted if writing fails now, or too many wait. Returns whether it is not lost. */
  write(line: string): boolean {
    return this.#isFailing() ? this.#queue.lose() : this.keep(line);
  }

  /** The same, but a fault does not lose it. */
  keep(line: string): boolean {
    return this.#add(line) !== undefined || this.#queue.lose();
  }

  /**
   * Resolves when write(2) of the whole line has returned. Rejects with DependencyUnavailable at a fault, and after REQUIRED_MS; the
   * line may be written later nevertheless.
   */
  writeRequired(text: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const refuse = (fault: unknown) => reject(new DependencyUnavailable('audit log', fault));
      const line = this.#fault === undefined ? this.#add(text) : undefined;
      if (line === undefined) {
        this.#queue.lose();
        refuse(this.#fault ?? FULL);
        return;
      }
      // After the events of a process that was stopped: the line may be written.
      const deadline = setTimeout(() => setImmediate(() => this.#giveUp(line)), REQUIRED_MS);
      line.settle = (fault) => {
        line.settle = undefined;
        clearTimeout(deadline);
        if (fault === undefined) resolve();
        else refuse(fault);
      };
    });
  }

  /** Continues in another file. Resolves when the one before is closed. */
  async reopen(descriptor: number): Promise<void> {
    const old = this.#target;
    this.#target = this.#targetOf(descriptor);
    this.#wake();
    await old.close();
  }

  /** Writes what waits, for CLOSE_MS at most. Later lines are lost. */
  async close(): Promise<void> {
    if (this.#state === 'closed') return;
    this.#state = 'closing';
    this.#start();
    this.#wake();
    await Promise.race([this.#running, new Promise((resolve) => setTimeout(resolve, CLOSE_MS).unref())]);
    this.#state = 'closed';
    this.#wake();
    process.off('exit', this.#onExit);
    this.#queue.fail(LATE);
    if (this.#running === undefined) await this.#target.close();
  }

  /** The event loop does not run any more. */
  readonly #onExit = (): void => {
    const giveUpAt = performance.now() + END_MS;
    this.#queue.report(this.#options.lossLine);
    try {
      while (!this.#queue.isEmpty) this.#target.appendNow(bytesOf(this.#takeBatch()), giveUpAt);
    } catch {
      // The rest is lost, and nobody is left to be told.
    }
  };

  /** The programs append to AUDIT_FILE too. */
  #targetOf(descriptor: number): LineTarget {
    return new LineTarget(descriptor, this.name === 'audit log');
  }

  #add(text: string): Line | undefined {
    const line = this.#state === 'closed' ? undefined : this.#queue.add(text);
    if (line !== undefined) this.#start();
    return line;
  }

  #start(): void {
    this.#running ??= this.#run();
  }

  async #run(): Promise<void> {
    // What comes in one turn of the event loop is written together.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#state !== 'closed' && !(this.#queue.isEmpty && this.#fault === undefined)) {
      const batch = this.#takeBatch();
      const lines = bytesOf(batch);
      try {
        const written = await this.#target.append(lines);
        this.#queue.settle(batch, written);
        if (written === lines.length) this.#recover();
      } catch (fault) {
        this.#queue.settle(batch, 0);
        if (!isSlow(fault)) {
          this.#noteFault(fault);
          this.#queue.fail(fault);
          if (this.#state === 'closing') break;
        }
        await this.#pause(isSlow(fault) ? READER_RETRY_MS : FAULT_RETRY_MS);
      }
    }
    this.#running = undefined;
  }

  #takeBatch(): readonly Line[] {
    return this.#queue.takeBatch(this.#target.batchBytes);
  }

  #pause(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
      setTimeout(resolve, milliseconds).unref();
    });
  }

  /** Whether lines are lost now. */
  #isFailing(): boolean {
    return this.#fault !== undefined && this.#fault !== LATE;
  }

  #giveUp(line: Line): void {
    if (line.settle === undefined) return;
    this.#late = line;
    this.#noteFault(LATE);
    line.settle(LATE);
  }

  #noteFault(fault: unknown): void {
    if (this.#fault === undefined) this.#options.onChange?.({ event: 'audit_unavailable', code: codeOf(fault) });
    this.#fault = fault;
  }

  /** A whole batch was written. */
  #recover(): void {
    const hadFault = this.#fault !== undefined;
    if (this.#late !== undefined && this.#queue.includes(this.#late)) return;
    this.#late = undefined;
    // Not while the buffer is nearly full: each line about loss would cost another line.
    if (!hadFault && this.#queue.bytes > BUFFER_BYTES / 2) return;
    this.#fault = undefined;
    const lines = this.#queue.report(this.#options.lossLine);
    if (hadFault || lines > 0) this.#options.onChange?.({ event: 'audit_available', lines });
  }
}

function bytesOf(batch: readonly Line[]): Buffer {
  return Buffer.from(batch.map(({ text }) => text).join(''));
}
