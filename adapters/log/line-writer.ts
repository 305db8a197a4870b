import { close, fstat, write } from 'node:fs';
import { open } from 'node:fs/promises';
import { promisify } from 'node:util';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import type { HealthCheck, Readiness } from '../../application/ports/health-check.ts';
import type { LogLoad } from '../../application/ports/telemetry.ts';
import { codeOf, isSlow, READER_RETRY_MS, writeNow } from './write-now.ts';

/** The most that waits: about 10,000 lines. */
export const BUFFER_BYTES = 4 * 1024 * 1024;

/** When a batch is full. */
const BATCH_BYTES = 65_536;

/** How long a request waits for its required line, in milliseconds: as long as for a look-up or a verification. */
const REQUIRED_MS = 2_000;

/** When to try again after a fault, in milliseconds. */
const FAULT_RETRY_MS = 250;

/**
 * How long a shutdown waits for a slow disk or reader, and then the end of the process, which runs nothing else
 * meanwhile, in milliseconds.
 */
const [CLOSE_MS, END_MS] = [1_000, 250];

const LINE_FEED = '\n'.charCodeAt(0);
const FULL = Object.assign(new Error('too many lines wait'), { code: 'EAGAIN' });
const LATE = Object.assign(new Error(`not written within ${REQUIRED_MS} ms`), { code: 'ETIMEDOUT' });
const NOTHING = Object.assign(new Error('nothing was written'), { code: 'EIO' });
const [writeInPool, closeInPool, fstatInPool] = [promisify(write), promisify(close), promisify(fstat)];

/** What to do about lines that cannot be written. */
export const FIX =
  'make room on the disk, make the directory again, or repair what reads the lines; no restart is needed';

/** Which lines a line stays in order with. Required ones are written first. */
type Kind = 'required' | 'others';

/** A line with its line feed. */
interface Line {
  readonly text: string;
  readonly bytes: number;
  readonly kind: Kind;
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
  /** Opens the file once more, for `reopen`, and when it was deleted. Without it, nobody looks whether it was. */
  readonly openAgain?: () => Promise<number>;
  /** The line that says how many are missing. */
  readonly lossLine: (lines: number) => string;
  readonly onChange?: (change: AuditChange) => void;
}

/** What writes lines, each given with its line feed. */
export type Lines = Pick<LineWriter, 'write' | 'writeRequired' | 'faultCode' | keyof HealthCheck | keyof LogLoad>;

/**
 * Writes lines to a file, a pipe or a terminal: required ones first, and each kind in order. A thread of the pool
 * writes, and the event loop never waits: what comes meanwhile is written next, all together. A line that is taken is
 * written sooner or later; after a fault, it tries again every 250 ms, and then says how many lines were not taken
 * meanwhile. A line that a full disk has cut stays cut: a line feed comes next, and then the line as a whole.
 */
export class LineWriter implements HealthCheck, LogLoad {
  readonly name: string;
  readonly bufferedBytesMax = BUFFER_BYTES;
  readonly #options: LineWriterOptions;
  /** The first ones, which a fault has interrupted. */
  #batch: readonly Line[] = [];
  readonly #waiting: Readonly<Record<Kind, Line[]>> = { required: [], others: [] };
  #descriptor: number;
  /** Whether what is there ends within a line; undefined: that is to be found out. */
  #isCut: boolean | undefined;
  /** Whether the file was deleted: what was written to it since is written again. */
  #isDeleted = false;
  /** Of `reopen`, if it was called. */
  #asked: PromiseWithResolvers<void> | undefined;
  #bufferedBytes = 0;
  #lost = 0;
  #reported = 0;
  #state: 'open' | 'closing' | 'closed' = 'open';
  /** Why lines cannot be written now. */
  #fault: unknown;
  /** Until nothing waits. */
  #running: Promise<void> | undefined;
  /** Ends a pause. */
  #wake = () => {};

  constructor(options: LineWriterOptions) {
    this.name = options.name;
    this.#options = options;
    this.#descriptor = options.descriptor;
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
    return this.#fault === undefined ? undefined : codeOf(this.#fault);
  }

  /** Always ready: the service works without lines that may be lost. The note says what is wrong. */
  readiness(): Readiness {
    const code = this.faultCode;
    if (code === undefined && this.#lost === this.#reported) return { ready: true };
    const cause = code === undefined ? 'are lost: the disk or the reader is too slow' : `cannot be written: ${code}`;
    const text = `${this.name === 'log' ? 'log' : 'audit'} lines ${cause}`;
    return { ready: true, note: { code: code ?? 'slow', text, fix: FIX } };
  }

  /** Nobody waits for the line. It is lost and counted if too many wait; then the result is false. */
  write(line: string, kind: Kind = 'others'): boolean {
    return this.#add(line, kind) !== undefined || this.#lose();
  }

  /**
   * Resolves when write(2) of the whole line has returned. Rejects with DependencyUnavailable at a fault, and after
   * REQUIRED_MS; the line may be written later nevertheless.
   *
   * @param kind of the others, a late one has no consequence for the next ones.
   */
  writeRequired(text: string, kind: Kind = 'required'): Promise<void> {
    return new Promise((resolve, reject) => {
      const refuse = (cause: unknown) => reject(new DependencyUnavailable('audit log', cause));
      const line = this.#fault === undefined ? this.#add(text, kind) : undefined;
      if (line === undefined) {
        this.#lose();
        refuse(this.#fault ?? FULL);
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

  /**
   * Continues in the file that the path names now, after the write in progress. If it cannot be opened, rejects, and
   * continues in the one before.
   */
  reopen(): Promise<void> {
    this.#asked ??= Promise.withResolvers();
    this.#start();
    this.#wake();
    return this.#asked.promise;
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
    const text = this.#lines.map((line) => line.text).join('');
    try {
      if (text !== '')
        writeNow(this.#descriptor, `${this.#isCut === false ? '' : '\n'}${text}`, performance.now() + END_MS);
    } catch {
      // The rest is lost.
    }
  };

  get #lines(): readonly Line[] {
    return [...this.#batch, ...this.#waiting.required, ...this.#waiting.others];
  }

  /** Undefined if there is no room. For a required line, the newest ones that are not required are lost. */
  #add(text: string, kind: Kind): Line | undefined {
    const bytes = Buffer.byteLength(text);
    while (kind === 'required' && this.#bufferedBytes + bytes > BUFFER_BYTES) {
      const line = this.#waiting.others.pop();
      if (line === undefined) break;
      this.#bufferedBytes -= line.bytes;
      line.settle?.(FULL);
      this.#lose();
    }
    if (this.#state === 'closed' || this.#bufferedBytes + bytes > BUFFER_BYTES) return undefined;
    this.#start();
    return this.#push(text, bytes, kind);
  }

  #push(text: string, bytes: number, kind: Kind): Line {
    const line = { text, bytes, kind };
    this.#waiting[kind].push(line);
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
    // What comes in one pass of the event loop is written together.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#state !== 'closed' && (this.#bufferedBytes > 0 || this.#fault !== undefined || this.#asked)) {
      try {
        if (this.#asked !== undefined || this.#isDeleted) await this.#openAgain();
        else if (await this.#writeBatch()) this.#recover();
      } catch (fault) {
        this.#fail(fault);
        this.#settleAll(fault);
        if (this.#state === 'closing') break;
        await this.#pause(FAULT_RETRY_MS);
      }
    }
    this.#running = undefined;
    if (this.#state !== 'open') this.#asked?.reject(LATE);
  }

  /** Writes the first lines. Returns false if they are to be written to another file, and throws the system's fault. */
  async #writeBatch(): Promise<boolean> {
    this.#isCut ??= await endsWithinLine(this.#descriptor);
    const batch = this.#batch.length > 0 ? this.#batch : this.#takeBatch();
    this.#batch = [];
    // Without lines, a line feed finds out whether a fault is over.
    const ahead = this.#isCut || batch.length === 0 ? '\n' : '';
    const data = Buffer.from(ahead + batch.map(({ text }) => text).join(''));
    let written = 0;
    try {
      while (written < data.length) {
        if (this.#asked !== undefined || this.#state === 'closed') return false;
        written += await this.#append(data.subarray(written));
      }
      this.#isDeleted = this.#options.openAgain !== undefined && (await isDeleted(this.#descriptor));
    } finally {
      if (written > 0) this.#isCut = data[written - 1] !== LINE_FEED;
      this.#batch = this.#settle(batch, this.#isDeleted ? 0 : written - ahead.length);
    }
    if (this.#isDeleted) this.#options.onChange?.({ event: 'audit_file_deleted' });
    return !this.#isDeleted;
  }

  /** Takes out the first lines. */
  #takeBatch(): readonly Line[] {
    const batch: Line[] = [];
    let bytes = 0;
    for (const queue of [this.#waiting.required, this.#waiting.others]) {
      let count = 0;
      for (const line of queue) {
        if (bytes >= BATCH_BYTES) break;
        bytes += line.bytes;
        count += 1;
      }
      batch.push(...queue.splice(0, count));
    }
    return batch;
  }

  /** Returns how many bytes were written: none after a pause for a slow reader. */
  async #append(data: Buffer): Promise<number> {
    try {
      const { bytesWritten } = await writeInPool(this.#descriptor, data);
      // It would not go on either, and must not count as written.
      if (bytesWritten === 0) throw NOTHING;
      return bytesWritten;
    } catch (fault) {
      if (!isSlow(fault)) throw fault;
      await this.#pause(READER_RETRY_MS);
      return 0;
    }
  }

  /** Of the batch, so many bytes are written. Returns the other lines. */
  #settle(batch: readonly Line[], written: number): readonly Line[] {
    let end = 0;
    for (const [index, line] of batch.entries()) {
      end += line.bytes;
      // One that lacks only its line feed is written: a line feed comes next.
      if (end > written + 1) return batch.slice(index);
      this.#bufferedBytes -= line.bytes;
      line.settle?.();
    }
    return [];
  }

  #settleAll(fault: unknown): void {
    for (const line of this.#lines) line.settle?.(fault);
  }

  /** A process that has nothing else to do does not wait for its end. */
  #pause(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
      setTimeout(resolve, milliseconds).unref();
    });
  }

  async #openAgain(): Promise<void> {
    const asked = this.#asked;
    this.#asked = undefined;
    try {
      const old = this.#descriptor;
      this.#descriptor = (await this.#options.openAgain?.()) ?? old;
      this.#isCut = undefined;
      this.#isDeleted = false;
      if (this.#descriptor !== old) await closeInPool(old);
      asked?.resolve();
    } catch (fault) {
      asked?.reject(fault);
      if (this.#isDeleted) throw fault;
    }
  }

  #giveUp(line: Line): void {
    if (line.settle === undefined) return;
    if (line.kind === 'required') this.#fail(LATE);
    line.settle(LATE);
  }

  #fail(fault: unknown): void {
    if (this.#fault === undefined) this.#options.onChange?.({ event: 'audit_unavailable', code: codeOf(fault) });
    this.#fault = fault;
  }

  /** A whole batch was written. */
  #recover(): void {
    const wasUnavailable = this.#fault !== undefined;
    this.#fault = undefined;
    // Not while the buffer is nearly full: each line about loss would cost another line.
    if (!wasUnavailable && this.#bufferedBytes > BUFFER_BYTES / 2) return;
    const lines = this.#reportLoss();
    if (wasUnavailable || lines > 0) this.#options.onChange?.({ event: 'audit_available', lines });
  }

  /** Adds the line that says how many are missing, if there are any. It needs no room. Returns their number. */
  #reportLoss(): number {
    const lines = this.#lost - this.#reported;
    this.#reported = this.#lost;
    const text = lines > 0 ? this.#options.lossLine(lines) : '';
    if (lines > 0) this.#push(text, Buffer.byteLength(text), 'others');
    return lines;
  }
}

/** Of a file: it has no name any more. Never of a pipe or a device. */
async function isDeleted(descriptor: number): Promise<boolean> {
  const stats = await fstatInPool(descriptor);
  return stats.isFile() && stats.nlink === 0;
}

/** Whether an open file ends in the middle of a line, or may do so because it cannot be read. */
async function endsWithinLine(descriptor: number): Promise<boolean> {
  try {
    const stats = await fstatInPool(descriptor);
    if (!stats.isFile() || stats.size === 0) return false;
    await using file = await open(`/proc/self/fd/${descriptor}`, 'r');
    const { buffer } = await file.read(Buffer.alloc(1), 0, 1, stats.size - 1);
    return buffer[0] !== LINE_FEED;
  } catch {
    return true;
  }
}
