import { closeSync, write } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
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

const NOTHING = Buffer.alloc(0);
const LINE_FEED = Buffer.from('\n');

const writeBytes = promisify(write);

/** A change of state of the audit log, for the operator's log. */
export type AuditChange =
  | { readonly event: 'audit_unavailable'; readonly code: string }
  | { readonly event: 'audit_available'; readonly lines: number };

export interface LineWriterOptions {
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
  #waiting: string[] = [];
  #bytes = 0;
  /** The write in progress in another thread, and the number of its lines. */
  #batch: { readonly lines: number; readonly written: Promise<{ readonly bytesWritten: number }> } | undefined;
  #isWriting = false;
  /** The end of the latest writing. */
  #written = Promise.resolve();
  /** What comes before the next line, since the last write ended in the middle of one. */
  #begin = NOTHING;
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
    await this.#batch?.written.catch(() => {});
    closeSync(old);
  }

  /** Waits a moment until everything is written. */
  async close(): Promise<void> {
    await Promise.race([this.#written, delay(END_MS, undefined, { ref: false })]);
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
    const bytes = this.#bytes + Buffer.byteLength(line);
    if (bytes > this.bufferedBytesMax) return false;
    this.#bytes = bytes;
    this.#waiting.push(line);
    return true;
  }

  #lose(): false {
    this.#linesLost += 1;
    this.#unreported += 1;
    return false;
  }

  #fail(fault: unknown): void {
    // Another process may have cut its line at the same fault.
    if (this.#options.kind === 'audit') this.#begin = LINE_FEED;
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
    if (this.#begin.length > 0 && !this.#append('', giveUpAt)) return;
    const begun = this.#batch?.lines ?? 0;
    for (const line of this.#waiting.slice(begun)) {
      if (!this.#append(line, giveUpAt)) return;
      this.#waiting.splice(begun, 1);
      this.#bytes -= Buffer.byteLength(line);
    }
    if (this.#unreported > 0 && !this.#append(this.#options.lossLine(this.#unreported), giveUpAt)) return;
    this.#recover();
  }

  /** Returns whether everything was written. The system writes a line in one piece, unless the disk is full. */
  #append(line: string, giveUpAt?: number): boolean {
    try {
      writeWhole(this.#descriptor, Buffer.concat([this.#begin, Buffer.from(line)]), giveUpAt);
      this.#begin = NOTHING;
      return true;
    } catch (fault) {
      this.#fail(fault);
      return false;
    }
  }

  #start(): void {
    if (!this.#isWriting && this.#retry === undefined) this.#written = this.#writeInOtherThread();
  }

  async #writeInOtherThread(): Promise<void> {
    this.#isWriting = true;
    try {
      while (this.#waiting.length > 0 || this.#begin.length > 0) await this.#writeBatch();
    } catch (fault) {
      this.#batch = undefined;
      if (isSlow(codeOf(fault))) this.#retryIn(READER_RETRY_MS);
      else this.#fail(fault);
    } finally {
      this.#isWriting = false;
    }
  }

  async #writeBatch(): Promise<void> {
    const begin = this.#begin;
    const lines = this.#nextLines();
    const bytes = Buffer.concat([begin, Buffer.from(lines.join(''))]);
    this.#batch = { lines: lines.length, written: writeBytes(this.#descriptor, bytes) };
    const { bytesWritten } = await this.#batch.written;
    this.#batch = undefined;
    this.#begin = begin.subarray(bytesWritten);
    let [rest, whole] = [bytesWritten - begin.length, 0];
    for (const line of lines) {
      const length = Buffer.byteLength(line);
      if (rest < length) break;
      rest -= length;
      whole += 1;
      this.#bytes -= length;
    }
    this.#waiting.splice(0, whole);
    if (rest > 0) this.#cut(lines[whole] ?? '', rest);
    else if (this.#begin.length === 0 && (this.#fault !== undefined || this.#unreported > 0)) this.#reportLoss();
  }

  /**
   * Only a part of the line that waits longest was written; the next write brings the system's reason. In an audit file, other
   * processes may write before that: the line is ended there, and written again.
   */
  #cut(line: string, bytesWritten: number): void {
    if (this.#options.kind === 'audit') {
      this.#begin = LINE_FEED;
      return;
    }
    const bytes = Buffer.from(line);
    this.#begin = bytes.subarray(bytesWritten);
    this.#waiting.shift();
    this.#bytes -= bytes.length;
  }

  #nextLines(): readonly string[] {
    let bytes = this.#begin.length;
    const end = this.#waiting.findIndex((line, index) => {
      bytes += Buffer.byteLength(line);
      return index > 0 && bytes > PIPE_BUF_BYTES;
    });
    return this.#waiting.slice(0, end === -1 ? undefined : end);
  }

  /** Not while the buffer is nearly full: each line about loss would cost another line. */
  #reportLoss(): void {
    if (this.#fault === undefined && this.#bytes > this.bufferedBytesMax / 2) return;
    if (this.#unreported > 0) {
      const line = this.#options.lossLine(this.#unreported);
      this.#waiting.push(line);
      this.#bytes += Buffer.byteLength(line);
    }
    this.#recover();
  }
}
