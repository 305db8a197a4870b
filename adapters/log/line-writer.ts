import { setTimeout as delay } from 'node:timers/promises';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import type { HealthCheck, Readiness } from '../../application/ports/health-check.ts';
import type { LogLoad } from '../../application/ports/telemetry.ts';
import { codeOf, isSlow, LineTarget, READER_RETRY_MS } from './line-target.ts';

/** The most that waits: about 10,000 lines. */
export const BUFFER_BYTES = 4 * 1024 * 1024;

/** How long a request waits for its required line, in milliseconds: as long as for a look-up or a verification. */
export const REQUIRED_MS = 2_000;

/** When to try again after a fault, in milliseconds. */
const FAULT_RETRY_MS = 250;

/** How long a process that ends waits for a slow disk or reader, in milliseconds. */
const END_MS = 250;

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
  /** Changes a line that may be lost, or leaves it out by an empty text. */
  readonly edit?: (line: string) => string;
  /** Nothing is written before `release` is called. */
  readonly isHeld?: boolean;
}

interface Line {
  readonly text: string;
  readonly bytes: number;
  /** Tells who waits for it that it is written, or the fault. */
  settle?: ((fault?: unknown) => void) | undefined;
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
  readonly #lines: Line[] = [];
  #bytes = 0;
  #lost = 0;
  #reported = 0;
  #target: LineTarget;
  #state: 'held' | 'open' | 'closing' | 'closed';
  #fault: unknown;
  /** Until nothing waits. */
  #running: Promise<void> | undefined;
  /** Ends a pause. */
  #wake = () => {};

  constructor(options: LineWriterOptions) {
    this.name = options.name;
    this.#options = options;
    this.#target = this.#targetOf(options.descriptor);
    this.#state = options.isHeld ? 'held' : 'open';
    process.once('exit', this.#onExit);
  }

  /** Lines that were lost since the start. */
  get linesLost(): number {
    return this.#lost;
  }

  /** Bytes that wait: at most `bufferedBytesMax` and one line about lost ones. */
  get bufferedBytes(): number {
    return this.#bytes;
  }

  /** The system's code of the fault, if lines cannot be written now. */
  get faultCode(): string | undefined {
    return this.#fault === undefined ? undefined : codeOf(this.#fault);
  }

  /** Always ready: the service works without lines that may be lost. The note says why they are lost now. */
  readiness(): Readiness {
    const slow = `the ${this.#target.isFile ? 'disk' : 'reader'} is too slow`;
    const cause = this.faultCode ?? (this.#lost > this.#reported ? slow : undefined);
    return { ready: true, ...(cause && { note: `${this.name === 'log' ? 'log' : 'audit'} lines are lost: ${cause}` }) };
  }

  /** Nobody waits for the line. It is lost and counted if writing fails now, or too many wait. Returns whether it is not lost. */
  write(line: string): boolean {
    const text = this.#options.edit?.(line) ?? line;
    if (text === '') return true;
    return this.#fault === undefined || this.#fault === LATE ? this.keep(text) : this.#lose();
  }

  /** The same, but a fault does not lose it. */
  keep(line: string): boolean {
    return this.#take(line) !== undefined || this.#lose();
  }

  /**
   * Resolves when write(2) of the whole line has returned. Rejects with DependencyUnavailable at a fault, and after REQUIRED_MS; the
   * line may be written later nevertheless.
   */
  writeRequired(text: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const refuse = (fault: unknown) => reject(new DependencyUnavailable('audit log', fault));
      const line = this.#fault === undefined ? this.#take(text) : undefined;
      if (line === undefined) {
        this.#lose();
        refuse(this.#fault ?? FULL);
        return;
      }
      // After the events of a process that was stopped: the line may be written.
      const end = () => setImmediate(() => line.settle && this.#fail(LATE, [line]));
      const deadline = setTimeout(end, REQUIRED_MS);
      line.settle = (fault) => {
        line.settle = undefined;
        clearTimeout(deadline);
        if (fault === undefined) resolve();
        else refuse(fault);
      };
    });
  }

  /** Begins to write what was held back. */
  release(): void {
    if (this.#state === 'held') this.#state = 'open';
    this.#start();
  }

  /** Continues in another file. Resolves when the one before is closed. */
  async reopen(descriptor: number): Promise<void> {
    const old = this.#target;
    this.#target = this.#targetOf(descriptor);
    this.#wake();
    await old.close();
  }

  /** Writes what waits, for a moment at most. Later lines are lost. */
  async close(): Promise<void> {
    if (this.#state === 'closed') return;
    this.#state = 'closing';
    this.#start();
    this.#wake();
    await Promise.race([this.#running, delay(END_MS, undefined, { ref: false })]);
    this.#state = 'closed';
    this.#wake();
    process.off('exit', this.#onExit);
    for (const line of this.#lines) line.settle?.(LATE);
    if (this.#running === undefined) await this.#target.close();
  }

  /** The event loop does not run any more. */
  readonly #onExit = (): void => {
    const giveUpAt = performance.now() + END_MS;
    this.#report();
    try {
      while (this.#lines.length > 0) this.#target.appendNow(bytesOf(this.#batch()), giveUpAt);
    } catch {
      // The rest is lost, and nobody is left to be told.
    }
  };

  /** The programs append to AUDIT_FILE too. */
  #targetOf(descriptor: number): LineTarget {
    return new LineTarget(descriptor, this.name === 'audit log');
  }

  #take(text: string): Line | undefined {
    const bytes = Buffer.byteLength(text);
    if (this.#state === 'closed' || this.#bytes + bytes > BUFFER_BYTES) return undefined;
    return this.#push({ text, bytes });
  }

  #push(line: Line): Line {
    this.#lines.push(line);
    this.#bytes += line.bytes;
    this.#start();
    return line;
  }

  #lose(): false {
    this.#lost += 1;
    return false;
  }

  #start(): void {
    if (this.#state !== 'held') this.#running ??= this.#run();
  }

  async #run(): Promise<void> {
    // What comes in one turn of the event loop is written together.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#state !== 'closed' && (this.#lines.length > 0 || this.#fault !== undefined)) {
      const batch = this.#batch();
      const lines = bytesOf(batch);
      try {
        const written = await this.#target.append(lines);
        this.#settle(batch, written);
        if (written === lines.length) this.#recover();
      } catch (fault) {
        this.#settle(batch, 0);
        if (!isSlow(fault)) this.#fail(fault, this.#lines);
        if (!isSlow(fault) && this.#state === 'closing') break;
        await this.#pause(isSlow(fault) ? READER_RETRY_MS : FAULT_RETRY_MS);
      }
    }
    this.#running = undefined;
  }

  #batch(): readonly Line[] {
    let [size, count] = [0, 0];
    for (const { bytes } of this.#lines) {
      size += bytes;
      if (count > 0 && size > this.#target.batchBytes) break;
      count += 1;
    }
    return this.#lines.splice(0, count);
  }

  /** So many bytes of a batch are written. The rest comes first next time. */
  #settle(batch: readonly Line[], written: number): void {
    let rest = written;
    for (const [index, line] of batch.entries()) {
      rest -= line.bytes;
      if (rest < 0) {
        this.#lines.unshift(...batch.slice(index));
        return;
      }
      this.#bytes -= line.bytes;
      line.settle?.();
    }
  }

  #pause(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
      setTimeout(resolve, milliseconds).unref();
    });
  }

  /** Who waits for these lines learns of the fault. */
  #fail(fault: unknown, lines: readonly Line[]): void {
    if (this.#fault === undefined) this.#options.onChange?.({ event: 'audit_unavailable', code: codeOf(fault) });
    this.#fault = fault;
    for (const line of lines) line.settle?.(fault);
  }

  /** Everything was written. After LATE, it has to catch up first. */
  #recover(): void {
    const hadFault = this.#fault !== undefined;
    if (this.#fault === LATE && this.#lines.length > 0) return;
    // Not while the buffer is nearly full: each line about loss would cost another line.
    if (!hadFault && this.#bytes > BUFFER_BYTES / 2) return;
    this.#fault = undefined;
    const lines = this.#report();
    if (hadFault || lines > 0) this.#options.onChange?.({ event: 'audit_available', lines });
  }

  #report(): number {
    const lines = this.#lost - this.#reported;
    this.#reported = this.#lost;
    const text = lines > 0 ? this.#options.lossLine(lines) : '';
    if (lines > 0) this.#push({ text, bytes: Buffer.byteLength(text) });
    return lines;
  }
}

function bytesOf(batch: readonly Line[]): Buffer {
  return Buffer.from(batch.map(({ text }) => text).join(''));
}
