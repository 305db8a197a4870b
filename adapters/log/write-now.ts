import { fstat, writeSync } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { promisify, types } from 'node:util';

const fstatInPool = promisify(fstat);

/** When to try again to write to a pipe whose reader is slow, in milliseconds. */
export const READER_RETRY_MS = 10;

/** Writes all of a text before it returns. Throws the system's fault. @param giveUpAt until when it waits for a slow reader, in milliseconds of `performance.now()`. */
export function writeNow(descriptor: number, text: string, giveUpAt: number): void {
  let rest: Buffer = Buffer.from(text);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(descriptor, rest));
    } catch (fault) {
      if (!isSlow(fault) || performance.now() >= giveUpAt) throw fault;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, READER_RETRY_MS);
    }
  }
}

/** Whether an open file ends in the middle of a line, or may do so because it cannot be read; or the file at a path, if there is one. */
export async function endsWithinLine(file: number | string): Promise<boolean> {
  try {
    const path = typeof file === 'number' ? `/proc/self/fd/${file}` : file;
    const stats = typeof file === 'number' ? await fstatInPool(file) : await stat(path);
    if (!stats.isFile() || stats.size === 0) return false;
    await using handle = await open(path, 'r');
    const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, stats.size - 1);
    return buffer.toString() !== '\n';
  } catch (fault) {
    return typeof file === 'number' || codeOf(fault) !== 'ENOENT';
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
