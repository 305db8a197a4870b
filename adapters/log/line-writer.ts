import { close, fstat, fstatSync, write } from 'node:fs';
import { promisify } from 'node:util';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import type { HealthCheck, Readiness } from '../../application/ports/health-check.ts';
import type { LogLoad } from '../../application/ports/telemetry.ts';
import { codeOf, endsWithinLine, isSlow, READER_RETRY_MS, writeNow } from './write-now.ts';

/** The most that waits: about 10,000 lines. */
export const BUFFER_BYTES = 4 * 1024 * 1024;

/** What a pipe takes in one piece, so that lines of several processes do not mix (POSIX: PIPE_BUF). A file takes any write in one piece. */
export const PIPE_BUF_BYTES = 4_096;
const BATCH_BYTES = 65_536;

/** How long a request waits for its required line, in milliseconds: as long as for a look-up or a verification. */
const REQUIRED_MS = 2_000;

/** When to try again after a fault, in milliseconds. */
const FAULT_RETRY_MS = 250;

/** How long a shutdown waits for a slow disk or reader, and then the end of the process, which runs nothing else meanwhile, in milliseconds. */
const [CLOSE_MS, END_MS] = [1_000, 250];

const LINE_FEED = '\n'.charCodeAt(0);
const FULL = Object.assign(new Error('too many lines wait'), { code: 'EAGAIN' });
const LATE = Object.assign(new Error(`not written within ${REQUIRED_MS} ms`), { code: 'ETIMEDOUT' });
const NOTHING = Object.assign(new Error('nothing was written'), { code: 'EIO' });
const [writeInPool, closeInPool, fstatInPool] = [promisify(write), promisify(close), promisify(fstat)];

/** A line with its line feed. */
interface Line {
  readonly text: string;
  readonly bytes: number;
  /** Where it waits. */
  readonly queue: Line[];
  isWritten: boolean;
  /** Called once: without a fault when the line is written. */
  settle?: ((fault?: unknown) => void) | undefined;
}

/** A change of state of the audit log, for the operator's log. */
export type AuditChange =
  | { readonly event: 'audit_unavailable'; readonly code: string }
  | { readonly event: 'audit_available'; readonly lines: number }
  | { readonly event: 'audit_file_deleted' };

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
 * Writes lines to a file, a pipe or a terminal: required ones first, and each kind in order. A thread of the pool writes, and the event
 * loop never waits: what comes meanwhile is written next, all together. A line that is taken is written sooner or later; after a fault, it
 * tries again every 250 ms, and then says how many lines were not taken meanwhile. A line that a full disk has cut stays cut: a line feed
 * comes next, and then the line as a whole.
 */
export class LineWriter implements HealthCheck, LogLoad {
  readonly name: string;
  readonly bufferedBytesMax = BUFFER_BYTES;
  readonly #options: LineWriterOptions;
  readonly #required: Line[] = [];
  readonly #others: Line[] = [];
  #descriptor: number;
  #batchBytes: number;
  /** Whether what is there ends within a line; undefined: that is to be found out. */
  #isCut: boolean | undefined;
  #bufferedBytes = 0;
  #lost = 0;
  #reported = 0;
  #state: 'open' | 'closing' | 'closed' = 'open';
  /** The last fault of the system; undefined while lines can be written. */
  #fault: unknown;
  /** Lines that were written since the file was last seen to have a name. */
  #unseen = 0;
  /** The last one of `#required` that was not written in time. */
  #late: Line | undefined;
  /** Whether `audit_unavailable` was the last change. */
  #isUnavailable = false;
  /** Until nothing waits. */
  #running: Promise<void> | undefined;
  #writing: Promise<unknown> = Promise.resolve();
  /** Ends a pause. */
  #wake = () => {};

  constructor(options: LineWriterOptions) {
    this.name = options.name;
    this.#options = options;
    this.#descriptor = options.descriptor;
    this.#batchBytes = this.#batchBytesOf(options.descriptor);
    process.once('exit', this.#onExit);
  }

  /** Lines that were lost since startup. */
  get linesLost(): number {
    return this.#lost;
  }

  /** Bytes that wait: at most `bufferedBytesMax` and one line about lost ones. */
  get bufferedBytes(): number {
    return this.#bufferedBytes;
  }

  /** The system's code of the fault, if lines cannot be written now. */
  get faultCode(): string | undefined {
    const fault = this.#fault ?? (this.#late && LATE);
    return fault === undefined ? undefined : codeOf(fault);
  }

  /** Always ready: the service works without lines that may be lost. The note says why they are lost now. */
  readiness(): Readiness {
    const slow = this.#lost > this.#reported && 'the disk or the reader is too slow';
    const cause = this.#fault === undefined ? slow : this.faultCode;
    if (!cause) return { ready: true };
    const text = `${this.name === 'log' ? 'log' : 'audit'} lines are lost: ${cause}`;
    const fix = 'make room on the disk, or repair what reads the lines; no restart is needed';
    return { ready: true, note: { code: this.faultCode ?? 'slow', text, fix } };
  }

  /** Nobody waits for the line. It is lost and counted if writing fails now, or too many wait. Returns whether it is not lost. */
  write(line: string): boolean {
    return this.#fault === undefined ? this.keep(line) : this.#lose();
  }

  /** The same, but a fault does not lose it. @param among the lines that it stays in order with. */
  keep(line: string, among: 'required' | 'others' = 'others'): boolean {
    return this.#add(line, among === 'required' ? this.#required : this.#others) !== undefined || this.#lose();
  }

  /**
   * Resolves when write(2) of the whole line has returned. Rejects with DependencyUnavailable at a fault, and after REQUIRED_MS; the
   * line may be written later nevertheless.
   *
   * @param among where it waits. Of the others, a late one has no consequence for the next ones.
   */
  writeRequired(text: string, among: 'required' | 'others' = 'required'): Promise<void> {
    const queue = among === 'required' ? this.#required : this.#others;
    return new Promise((resolve, reject) => {
      const refuse = (cause: unknown) => reject(new DependencyUnavailable('audit log', cause));
      const fault = this.#fault ?? (among === 'required' && this.#late ? LATE : undefined);
      const line = fault === undefined ? this.#add(text, queue) : undefined;
      if (line === undefined) {
        this.#lose();
        refuse(fault ?? FULL);
        return;
      }
      // After the events of a process that was stopped: the line may be written.
      const deadline = setTimeout(() => setImmediate(() => this.#giveUp(line)), REQUIRED_MS);
      line.settle = (cause) => {
        line.settle = undefined;
        clearTimeout(deadline);
        if (cause === undefined) resolve();
        else refuse(cause);
      };
    });
  }

  /** Whether the file was deleted: what is written to it is lost. Never of a pipe or a device. */
  async isDeleted(): Promise<boolean> {
    const [descriptor, unseen] = [this.#descriptor, this.#unseen];
    const found = await fstatInPool(descriptor).catch((fault: unknown) => {
      // It was closed meanwhile, for another file.
      if (descriptor === this.#descriptor) throw fault;
    });
    if (found === undefined || descriptor !== this.#descriptor) return false;
    if (found.isFile() && found.nlink === 0) return true;
    this.#unseen -= unseen;
    return false;
  }

  /** Continues in another file. The lines since the last look are lost if the one before was deleted. Resolves when the one before is closed: not while it is written to, since another file could get its number. */
  async reopen(descriptor: number, isDeleted = false): Promise<void> {
    const old = this.#descriptor;
    if (isDeleted) this.#lost += this.#unseen;
    this.#unseen = 0;
    this.#descriptor = descriptor;
    this.#batchBytes = this.#batchBytesOf(descriptor);
    this.#isCut = undefined;
    this.#wake();
    await this.#writing.catch(() => {});
    await closeInPool(old);
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
    this.#settleAll(LATE);
    if (this.#running === undefined) await closeInPool(this.#descriptor);
  }

  /** The event loop does not run any more. */
  readonly #onExit = (): void => {
    this.#reportLoss();
    const text = [...this.#required, ...this.#others].map((line) => line.text).join('');
    try {
      if (text !== '')
        writeNow(this.#descriptor, `${this.#isCut === false ? '' : '\n'}${text}`, performance.now() + END_MS);
    } catch {
      // The rest is lost, and nobody is left to be told.
    }
  };

  /** The programs append to the audit log too. */
  #batchBytesOf(descriptor: number): number {
    return this.name === 'log' || fstatSync(descriptor).isFile() ? BATCH_BYTES : PIPE_BUF_BYTES;
  }

  /** Undefined if there is no room. */
  #add(text: string, queue: Line[]): Line | undefined {
    const bytes = Buffer.byteLength(text);
    if (queue === this.#required) this.#makeRoom(bytes);
    if (this.#state === 'closed' || this.#bufferedBytes + bytes > BUFFER_BYTES) return undefined;
    this.#start();
    return this.#push(text, bytes, queue);
  }

  /** For a required line, the newest ones that are not required are lost. */
  #makeRoom(bytes: number): void {
    while (this.#bufferedBytes + bytes > BUFFER_BYTES) {
      const line = this.#others.pop();
      if (line === undefined) return;
      this.#bufferedBytes -= line.bytes;
      line.settle?.(FULL);
      this.#lose();
    }
  }

  #push(text: string, bytes: number, queue: Line[]): Line {
    const line = { text, bytes, queue, isWritten: false };
    queue.push(line);
    this.#bufferedBytes += bytes;
    return line;
  }

  #lose(): false {
    this.#lost += 1;
    return false;
  }

  #start(): void {
    this.#running ??= this.#run();
  }

  async #run(): Promise<void> {
    // What comes in one turn of the event loop is written together.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#state !== 'closed' && (this.#bufferedBytes > 0 || this.#fault !== undefined)) {
      const descriptor = this.#descriptor;
      if (this.#isCut === undefined) {
        const isCut = await endsWithinLine(descriptor);
        if (descriptor === this.#descriptor) this.#isCut = isCut;
        continue;
      }
      const batch = this.#takeBatch();
      // Without lines, a line feed finds out whether a fault is over.
      const ahead = this.#isCut || batch.length === 0 ? '\n' : '';
      const data = Buffer.from(ahead + batch.map(({ text }) => text).join(''));
      const written = await this.#append(descriptor, data);
      this.#settle(batch, written - ahead.length);
      if (descriptor === this.#descriptor && written > 0) this.#isCut = data[written - 1] !== LINE_FEED;
      if (this.#fault === undefined) this.#recover();
      else if (this.#state === 'closing') break;
      else await this.#pause(FAULT_RETRY_MS);
    }
    this.#running = undefined;
  }

  /** Takes out the first lines: at least one if there is one. */
  #takeBatch(): readonly Line[] {
    const batch: Line[] = [];
    let room = this.#batchBytes;
    for (const queue of [this.#required, this.#others]) {
      let count = 0;
      for (const { bytes } of queue) {
        room -= bytes;
        if (room < 0 && batch.length + count > 0) break;
        count += 1;
      }
      batch.push(...queue.splice(0, count));
    }
    return batch;
  }

  /** Returns how many bytes are written: fewer at a fault, and where the rest belongs to another file. */
  async #append(descriptor: number, data: Buffer): Promise<number> {
    let written = 0;
    while (written < data.length && descriptor === this.#descriptor && this.#state !== 'closed') {
      const writing = writeInPool(descriptor, data.subarray(written));
      this.#writing = writing;
      try {
        const { bytesWritten } = await writing;
        // It would not go on either, and must not count as written.
        if (bytesWritten === 0) throw NOTHING;
        written += bytesWritten;
      } catch (fault) {
        if (!isSlow(fault)) {
          this.#noteFault(fault);
          return written;
        }
        await this.#pause(READER_RETRY_MS);
      }
    }
    if (written === data.length) this.#fault = undefined;
    return written;
  }

  /** Of the batch, so many bytes are written. The other lines are the first ones again. */
  #settle(batch: readonly Line[], written: number): void {
    let rest = written;
    for (const [index, line] of batch.entries()) {
      rest -= line.bytes;
      // One that lacks only its line feed is written: a line feed comes next.
      if (rest < -1) {
        for (const other of batch.slice(index).toReversed()) other.queue.unshift(other);
        break;
      }
      this.#bufferedBytes -= line.bytes;
      line.isWritten = true;
      this.#unseen += 1;
      line.settle?.();
    }
    if (this.#fault !== undefined) this.#settleAll(this.#fault);
  }

  #settleAll(fault: unknown): void {
    for (const line of [...this.#required, ...this.#others]) line.settle?.(fault);
  }

  #pause(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
      setTimeout(resolve, milliseconds).unref();
    });
  }

  #giveUp(line: Line): void {
    if (line.settle === undefined) return;
    if (line.queue === this.#required) {
      this.#late = line;
      this.#reportFault(LATE);
    }
    line.settle(LATE);
  }

  #noteFault(fault: unknown): void {
    this.#fault = fault;
    this.#reportFault(fault);
  }

  #reportFault(fault: unknown): void {
    if (!this.#isUnavailable) this.#options.onChange?.({ event: 'audit_unavailable', code: codeOf(fault) });
    this.#isUnavailable = true;
  }

  /** A whole batch was written. */
  #recover(): void {
    if (this.#late?.isWritten === false) return;
    this.#late = undefined;
    // Not while the buffer is nearly full: each line about loss would cost another line.
    if (!this.#isUnavailable && this.#bufferedBytes > BUFFER_BYTES / 2) return;
    const lines = this.#reportLoss();
    if (this.#isUnavailable || lines > 0) this.#options.onChange?.({ event: 'audit_available', lines });
    this.#isUnavailable = false;
  }

  /** Adds the line that says how many are missing, if there are any. It needs no room. Returns their number. */
  #reportLoss(): number {
    const lines = this.#lost - this.#reported;
    this.#reported = this.#lost;
    const text = lines > 0 ? this.#options.lossLine(lines) : '';
    if (lines > 0) this.#push(text, Buffer.byteLength(text), this.#others);
    return lines;
  }
}
