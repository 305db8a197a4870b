import { closeSync, write } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import type { HealthCheck, Readiness } from '../../application/ports/health-check.ts';
import { codeOf, isSlow, READER_RETRY_MS, writeWhole } from './write-whole.ts';

/** The most that waits in one process: about 8,000 requests, or 10,000 events; with `throw`, about 1,000 events of keys. */
export const BUFFER_BYTES = { drop: 4 * 1024 * 1024, throw: 256 * 1024 } as const;

/** What the kernel writes to a pipe in one piece, so that lines of several processes do not mix (POSIX: PIPE_BUF). */
export const PIPE_BUF_BYTES = 4_096;

/** When to try again after a fault, in milliseconds. */
const FAULT_RETRY_MS = 250;

/** How long a process that ends waits for a slow disk or reader, in milliseconds. */
const END_MS = 250;

/** Lines that are written at once: the most that a pipe takes in one piece, together with a line feed in front. */
interface Batch {
  /** As bytes, what is left of a line and of those behind it. */
  data: string | Buffer;
  bytes: number;
}

/** A change of state of the audit log, for the operator's log. */
export type AuditChange =
  | { readonly event: 'audit_unavailable'; readonly code: string }
  | { readonly event: 'audit_available'; readonly lines: number };

interface LineWriterOptions {
  /**
   * What happens to a line that cannot be written now. `drop`: nobody waits. Lines wait in a buffer, and are written in
   * another thread. One is lost when the buffer is full, and while writing fails. `throw`: `write` returns when write(2) of
   * the whole line has returned, and throws where it could not. The event loop waits meanwhile. The buffer keeps the lines
   * that may not throw, until the fault is over.
   */
  readonly policy: keyof typeof BUFFER_BYTES;
  readonly kind: 'log' | 'audit';
  /** What to write to. It stays open until the process ends. */
  readonly descriptor: number;
  /** The line that says how many are missing. */
  readonly lossLine: (lines: number) => string;
  readonly onChange?: (change: AuditChange) => void;
}

/**
 * Writes lines to a file, a pipe or a terminal. While that fails, it tries again every 250 ms, and counts the lines that are
 * lost. It continues with the lines that waited, and then the line that says how many are missing. Lines of up to
 * PIPE_BUF_BYTES stay whole.
 */
export class LineWriter implements HealthCheck {
  readonly name: string;
  readonly bufferedBytesMax: number;
  readonly #options: LineWriterOptions;
  #descriptor: number;
  #waiting: Batch[] = [];
  #bytes = 0;
  /** Whether another thread writes the first batch. */
  #isWriting = false;
  /** Who waits for the end of that write. */
  #afterWrite: (() => void)[] = [];
  /** Whether the file may end in the middle of a line. */
  #isCut = false;
  /** The last fault; undefined while lines can be written. */
  #fault: unknown;
  #retry: NodeJS.Timeout | undefined;
  #isEnding = false;
  #linesLost = 0;
  /** Those that no line has reported yet. */
  #unreported = 0;

  constructor(options: LineWriterOptions) {
    this.name = options.kind === 'log' ? 'log' : 'audit log';
    this.bufferedBytesMax = BUFFER_BYTES[options.policy];
    this.#options = options;
    this.#descriptor = options.descriptor;
    process.once('exit', this.#onExit);
  }

  get descriptor(): number {
    return this.#descriptor;
  }

  /** Lines that were lost since the process started. */
  get linesLost(): number {
    return this.#linesLost;
  }

  /** Bytes that wait to be written: at most `bufferedBytesMax` and one line about lost ones. */
  get bufferedBytes(): number {
    return this.#bytes;
  }

  /** Always ready where lines may be lost, since the service works without them: then the note says why they are lost now. */
  readiness(): Readiness {
    const { policy, kind } = this.#options;
    const code = this.#fault === undefined ? undefined : codeOf(this.#fault);
    if (policy === 'throw' && code !== undefined) {
      return { ready: false, reason: `${kind} lines cannot be written: ${code}` };
    }
    const slow = `the ${kind === 'log' ? 'reader' : 'disk'} is too slow`;
    const cause = code ?? (this.#unreported > 0 ? slow : undefined);
    return { ready: true, ...(cause && { note: `${kind} lines are lost: ${cause}` }) };
  }

  /**
   * Takes a line with its end. Returns whether it was written or waits, and is not lost. With the policy `throw`, a line that
   * is needed before an answer throws DependencyUnavailable instead.
   */
  write(line: string, need: 'before_answer' | 'soon' = 'soon'): boolean {
    if (this.#options.policy === 'throw') return this.#writeNow(line, need);
    if (this.#fault !== undefined || !this.#keep(line)) return this.#lose();
    this.#start();
    return true;
  }

  /**
   * Opens the file again, which may have been renamed, and continues there with what waits. Rejects with the reason if that is
   * not possible: the old one stays open.
   */
  async reopen(open: () => number): Promise<void> {
    const old = this.#descriptor;
    this.#descriptor = open();
    this.#tryAgain();
    // A write in progress goes to the old file.
    if (this.#isWriting) await this.#writeEnded();
    closeSync(old);
  }

  /** Waits a moment until everything is written. */
  async close(): Promise<void> {
    const late = delay(END_MS, 'late', { ref: false });
    while (this.#isWriting && (await Promise.race([this.#writeEnded(), late])) !== 'late');
    this.#end();
  }

  /** The event loop does not run any more. */
  readonly #onExit = (): void => this.#end(performance.now() + END_MS);

  /** Gives up when writing fails. */
  #end(giveUpAt?: number): void {
    this.#isEnding = true;
    process.off('exit', this.#onExit);
    clearTimeout(this.#retry);
    this.#writeWaiting(giveUpAt);
  }

  #keep(line: string): boolean {
    const bytes = Buffer.byteLength(line);
    if (this.#bytes + bytes > this.bufferedBytesMax) return false;
    this.#add(line, bytes);
    return true;
  }

  #add(data: string | Buffer, bytes: number): void {
    const last = this.#waiting.at(-1);
    const isInUse = this.#isWriting && this.#waiting.length === 1;
    if (typeof last?.data !== 'string' || typeof data !== 'string' || isInUse || last.bytes + bytes >= PIPE_BUF_BYTES) {
      this.#waiting.push({ data, bytes });
    } else {
      last.data += data;
      last.bytes += bytes;
    }
    this.#bytes += bytes;
  }

  #lose(): false {
    this.#linesLost += 1;
    this.#unreported += 1;
    return false;
  }

  #fail(fault: unknown): void {
    // Another process may have cut its line at the same fault.
    if (this.#options.kind === 'audit') this.#isCut = true;
    if (this.#isEnding) return;
    if (this.#fault === undefined) this.#options.onChange?.({ event: 'audit_unavailable', code: codeOf(fault) });
    this.#fault = fault;
    this.#retryIn(FAULT_RETRY_MS);
  }

  /** Lines are written again, and those that are missing are reported. */
  #recover(): void {
    const [hadFault, lines] = [this.#fault !== undefined, this.#unreported];
    this.#fault = undefined;
    this.#unreported = 0;
    if (hadFault || lines > 0) this.#options.onChange?.({ event: 'audit_available', lines });
  }

  #retryIn(milliseconds: number): void {
    this.#retry ??= setTimeout(() => this.#tryAgain(), milliseconds).unref();
  }

  #tryAgain(): void {
    clearTimeout(this.#retry);
    this.#retry = undefined;
    if (this.#options.policy === 'drop') this.#start();
    else if (this.#fault !== undefined) this.#writeWaiting();
  }

  #writeNow(line: string, need: 'before_answer' | 'soon'): boolean {
    if (this.#fault !== undefined) this.#writeWaiting();
    if (this.#fault === undefined && this.#append(line)) return true;
    const isKept = need === 'soon' && this.#keep(line);
    if (!isKept) this.#lose();
    if (need === 'before_answer') throw new DependencyUnavailable(this.name, this.#fault);
    return isKept;
  }

  /** Writes, before it returns, what waits and no other thread writes, and then the line about lost ones. */
  #writeWaiting(giveUpAt?: number): void {
    const batches = this.#waiting.splice(this.#isWriting ? 1 : 0);
    // Line by line: if it fails, those that are written are not written again.
    const lines = batches.flatMap<string | Buffer>(({ data }) =>
      typeof data === 'string' ? data.split(/(?<=\n)/) : [data],
    );
    const failed = lines.findIndex((line) => !this.#append(line, giveUpAt));
    this.#bytes -= batches.reduce((sum, { bytes }) => sum + bytes, 0);
    for (const line of failed === -1 ? [] : lines.slice(failed)) this.#add(line, Buffer.byteLength(line));
    if (failed !== -1) return;
    if (this.#unreported > 0 && !this.#append(this.#options.lossLine(this.#unreported), giveUpAt)) return;
    this.#recover();
  }

  /** Returns whether everything was written. The system writes a line in one piece, unless the disk is full. */
  #append(line: string | Buffer, giveUpAt?: number): boolean {
    try {
      writeWhole(this.#descriptor, Buffer.from(this.#isCut ? `\n${line}` : line), giveUpAt);
      this.#isCut = false;
      return true;
    } catch (fault) {
      this.#fail(fault);
      return false;
    }
  }

  /** Writes in another thread, batch by batch, until nothing waits or a write fails. */
  #start(): void {
    const [batch] = this.#waiting;
    if (this.#isWriting || this.#retry !== undefined || batch === undefined) return;
    this.#isWriting = true;
    const begin = this.#isCut ? '\n' : '';
    const ended = (fault: NodeJS.ErrnoException | null, bytesWritten: number) => {
      this.#isWriting = false;
      if (fault === null) {
        this.#written(batch, bytesWritten - begin.length);
        this.#start();
      } else if (isSlow(codeOf(fault))) this.#retryIn(READER_RETRY_MS);
      else this.#fail(fault);
      for (const resolve of this.#afterWrite.splice(0)) resolve();
    };
    if (typeof batch.data === 'string') write(this.#descriptor, begin + batch.data, ended);
    else write(this.#descriptor, batch.data, ended);
  }

  #writeEnded(): Promise<void> {
    return new Promise((resolve) => this.#afterWrite.push(resolve));
  }

  /** @param bytesWritten of this batch; negative if not even the line feed in front of it was written. */
  #written(batch: Batch, bytesWritten: number): void {
    if (bytesWritten < 0) return;
    this.#isCut = false;
    if (bytesWritten < batch.bytes) {
      this.#cut(batch, bytesWritten);
      return;
    }
    this.#waiting.shift();
    this.#bytes -= batch.bytes;
    if (this.#fault !== undefined || this.#unreported > 0) this.#reportLoss();
  }

  /**
   * Keeps what is left of a batch; the next write brings the system's reason. In an audit file, other processes may write before
   * that: a line that is cut is ended there, and written again.
   */
  #cut(batch: Batch, bytesWritten: number): void {
    const bytes = Buffer.from(batch.data);
    const isAudit = this.#options.kind === 'audit';
    const start = isAudit && bytesWritten > 0 ? bytes.lastIndexOf('\n', bytesWritten - 1) + 1 : bytesWritten;
    this.#isCut = start < bytesWritten;
    const left = bytes.subarray(start);
    this.#bytes -= batch.bytes - left.length;
    batch.data = isAudit ? left.toString() : left;
    batch.bytes = left.length;
  }

  /** Not while the buffer is nearly full: each line about loss would cost another line. */
  #reportLoss(): void {
    if (this.#fault === undefined && this.#bytes > this.bufferedBytesMax / 2) return;
    if (this.#unreported > 0) {
      const line = this.#options.lossLine(this.#unreported);
      this.#add(line, Buffer.byteLength(line));
    }
    this.#recover();
  }
}
