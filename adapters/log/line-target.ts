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

/**
 * An open file, pipe or terminal to which lines are appended. A full disk, or a process that is killed, leaves a fragment of a line in
 * a file: a line feed is written before the next line, and the line again. A pipe, terminal or socket with a slow reader gets the rest.
 */
export class LineTarget {
  readonly descriptor: number;
  readonly isFile: boolean;
  readonly #isShared: boolean;
  /** Undefined: the file has to be read. Other processes write to it too, and may have met the same fault. */
  #endsWithLine: boolean | undefined;
  /** Bytes of a shared file after the last write. */
  #size = -1;
  /** Bytes of the next line that a pipe, terminal or socket has taken already. */
  #ahead = 0;
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
    this.#endsWithLine = endsWithLine ?? (this.isFile && stats.size > 0 ? undefined : true);
  }

  /** The most to append at once. */
  get batchBytes(): number {
    return this.isFile || !this.#isShared ? BATCH_BYTES : PIPE_BUF_BYTES;
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
    const size = this.isFile && this.#isShared ? (await fstatInPool(this.descriptor)).size : -1;
    if (size !== this.#size) this.#endsWithLine = undefined;
    this.#endsWithLine ??= !(await endsWithinLine(`/proc/self/fd/${this.descriptor}`, true));
    const data = this.#dataOf(lines);
    if (this.isFile) this.#endsWithLine = undefined;
    const bytesWritten = await this.#write(data);
    this.#size = size === -1 ? -1 : size + bytesWritten;
    const end = bytesWritten + lines.length - data.length;
    // A line in a file that lacks its line feed is written: the line feed comes before the next line.
    const whole = lines.lastIndexOf(LINE_FEED, this.isFile ? end : end - 1) + 1;
    if (whole === end) this.#endsWithLine = true;
    this.#ahead = this.isFile ? 0 : end - whole;
    return whole;
  }

  async #write(data: Buffer): Promise<number> {
    const { bytesWritten } = await writeInPool(this.descriptor, data);
    // It would not go on either, and must not count as written.
    if (bytesWritten === 0) throw Object.assign(new Error('nothing was written'), { code: 'EIO' });
    return bytesWritten;
  }

  /** Writes all lines before it returns. Throws the system's fault. @param giveUpAt until when it waits for a slow reader, in milliseconds of `performance.now()`. */
  appendNow(lines: Buffer, giveUpAt: number): void {
    let rest = this.#dataOf(lines);
    this.#endsWithLine = false;
    while (rest.length > 0) {
      try {
        rest = rest.subarray(writeSync(this.descriptor, rest));
      } catch (fault) {
        if (!isSlow(fault) || performance.now() >= giveUpAt) throw fault;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, READER_RETRY_MS);
      }
    }
    [this.#endsWithLine, this.#ahead] = [true, 0];
  }

  /** Closes it when nothing is being written to it: another file could get its number. */
  async close(): Promise<void> {
    // Who appends gets the fault.
    await this.#appending.catch(() => {});
    await closeInPool(this.descriptor);
  }

  #dataOf(lines: Buffer): Buffer {
    const begins = this.#endsWithLine && lines.length > 0;
    return begins ? lines.subarray(this.#ahead) : Buffer.concat([LINE_FEED, lines]);
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
