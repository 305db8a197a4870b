import { close, fstat, fstatSync, write, writeSync } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { promisify, types } from 'node:util';

/** What a pipe takes in one piece, so that lines of several processes do not mix (POSIX: PIPE_BUF). */
export const PIPE_BUF_BYTES = 4_096;

/** A file takes any write in one piece, unless its disk is full. What a pipe does not take at once follows in the next write. */
const BATCH_BYTES = 65_536;

/** When to try again to write to a pipe whose reader is slow, in milliseconds. */
export const READER_RETRY_MS = 10;

const LINE_FEED = Buffer.from('\n');
const [writeInPool, closeInPool, fstatInPool] = [promisify(write), promisify(close), promisify(fstat)];

/** `#ahead`: a line feed comes first. */
const WITHIN_LINE = -1;

/**
 * An open file, pipe or terminal to which lines are appended. A line that it takes only in part, such as on a full disk, is continued
 * by the next write, or written again as a whole if another process has written meanwhile. Behind a part of a line that somebody has
 * left in a file, a line feed comes first.
 */
export class LineTarget {
  readonly descriptor: number;
  readonly isFile: boolean;
  /** The most to append at once. */
  readonly batchBytes: number;
  readonly #isShared: boolean;
  /** Bytes of the next line that are written already, or {@link WITHIN_LINE}. Undefined: the file has to be read. */
  #ahead: number | undefined;
  /** Bytes of the file after the last write, if it is shared or has a part of a line: somebody may write to it, or empty it. */
  #size = -1;
  #appending: Promise<unknown> = Promise.resolve();

  /**
   * @param isShared whether other processes append lines to it too.
   * @param endsWithLine whether it ends with a whole line, if that is known.
   */
  constructor(descriptor: number, isShared: boolean, endsWithLine?: boolean) {
    const stats = fstatSync(descriptor);
    this.descriptor = descriptor;
    this.isFile = stats.isFile();
    this.#isShared = isShared;
    this.batchBytes = this.isFile || !isShared ? BATCH_BYTES : PIPE_BUF_BYTES;
    if (endsWithLine ?? !(this.isFile && stats.size > 0)) this.#ahead = 0;
    else if (endsWithLine === false) this.#ahead = WITHIN_LINE;
  }

  /**
   * Writes once, in a thread of the pool; without lines, a line feed. Rejects with the system's fault.
   * @returns bytes of the lines that are written to their end. The next call begins with the others.
   */
  append(lines: Buffer): Promise<number> {
    const appending = this.#append(lines);
    this.#appending = appending;
    return appending;
  }

  async #append(lines: Buffer): Promise<number> {
    const size = await this.#sizeToKeep();
    if (size !== this.#size) this.#ahead = undefined;
    this.#ahead ??= (await endsWithinLine(`/proc/self/fd/${this.descriptor}`, true)) ? WITHIN_LINE : 0;
    const data = this.#dataOf(lines);
    const { bytesWritten } = await writeInPool(this.descriptor, data);
    // It would not go on either, and must not count as written.
    if (bytesWritten === 0) throw Object.assign(new Error('nothing was written'), { code: 'EIO' });
    const end = bytesWritten + lines.length - data.length;
    // A line in a file that lacks its line feed is written: the line feed comes before the next line.
    const whole = lines.lastIndexOf(LINE_FEED, this.isFile ? end : end - 1) + 1;
    this.#ahead = end - whole;
    this.#size = size === -1 ? await this.#sizeToKeep() : size + bytesWritten;
    if (!this.#isShared && this.#ahead === 0) this.#size = -1;
    return whole;
  }

  async #sizeToKeep(): Promise<number> {
    const isKept = this.isFile && (this.#isShared || this.#ahead !== 0);
    return isKept ? (await fstatInPool(this.descriptor)).size : -1;
  }

  /** Writes all lines before it returns. Throws the system's fault. @param giveUpAt until when it waits for a slow reader, in milliseconds of `performance.now()`. */
  appendNow(lines: Buffer, giveUpAt: number): void {
    let rest = this.#dataOf(lines);
    this.#ahead = WITHIN_LINE;
    while (rest.length > 0) {
      try {
        rest = rest.subarray(writeSync(this.descriptor, rest));
      } catch (fault) {
        if (!isSlow(fault) || performance.now() >= giveUpAt) throw fault;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, READER_RETRY_MS);
      }
    }
    this.#ahead = 0;
  }

  /** Closes it when nothing is being written to it: another file could get its number. */
  async close(): Promise<void> {
    // Who appends gets the fault.
    await this.#appending.catch(() => {});
    await closeInPool(this.descriptor);
  }

  #dataOf(lines: Buffer): Buffer {
    const ahead = this.#ahead ?? WITHIN_LINE;
    return ahead === WITHIN_LINE || lines.length === 0 ? Buffer.concat([LINE_FEED, lines]) : lines.subarray(ahead);
  }
}

/** Whether a file ends in the middle of a line, or may do so because it cannot be read. @param isOpen whether it is there in any case. */
export async function endsWithinLine(path: string, isOpen = false): Promise<boolean> {
  try {
    const stats = await stat(path);
    if (!stats.isFile() || stats.size === 0) return false;
    const file = await open(path);
    try {
      const { buffer } = await file.read(Buffer.alloc(1), 0, 1, stats.size - 1);
      return !buffer.equals(LINE_FEED);
    } finally {
      await file.close();
    }
  } catch (fault) {
    return isOpen || codeOf(fault) !== 'ENOENT';
  }
}

/** The system's code of a fault, such as `ENOSPC`. */
export function codeOf(fault: unknown): string {
  return types.isNativeError(fault) && 'code' in fault ? String(fault.code) : 'unknown fault';
}

/** Whether a reader is slow, and nothing is wrong. */
export function isSlow(fault: unknown): boolean {
  return ['EAGAIN', 'EBUSY'].includes(codeOf(fault));
}
